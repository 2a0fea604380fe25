"""What every command has in common."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.core.management import get_commands, load_command_class

from tests.conftest import REPOSITORY


def test_a_database_that_is_not_made_is_one_line_with_the_remedy(tmp_path):
    environment = {**os.environ, "DATA_DIR": str(tmp_path), "DATABASE_URL": ""}
    done = subprocess.run(
        [sys.executable, "manage.py", "dataset_stats", "anything"],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [
        "CommandError: the database does not exist, or is of an older version: run manage.py migrate"
    ]


#: Old name of a command -> the plain one.
OLD_NAMES = {
    "study_cost": "compare_question_orders",
    "work": "run_jobs",
}


@pytest.mark.parametrize(("old", "plain"), OLD_NAMES.items())
def test_an_old_name_takes_what_the_plain_one_takes_and_does_the_same(old, plain):
    assert get_commands()[old] == get_commands()[plain]
    command, successor = (load_command_class(get_commands()[name], name) for name in (old, plain))
    assert command.help == f"Old name of {plain}."
    assert (type(command).handle, type(command).add_arguments) == (
        type(successor).handle,
        type(successor).add_arguments,
    )
    # All that is its own is what its help says.
    assert {name for name in vars(type(command)) if not name.startswith("__")} == {"help"}
    options = [
        [tuple(action.option_strings) or action.dest for action in each.create_parser("x", "y")._actions]
        for each in (command, successor)
    ]
    assert options[0] == options[1]


def test_the_list_of_commands_has_old_and_plain_names():
    done = subprocess.run(
        [sys.executable, "manage.py", "help"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert {*OLD_NAMES, *OLD_NAMES.values()} <= set(done.stdout.split())
