"""Common properties of all commands."""

from __future__ import annotations

from pathlib import Path

from tests.house.product import manage


def test_a_database_that_is_not_made_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    done = manage(tmp_path, "dataset_stats", "anything")
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [
        "CommandError: the database does not exist, or is of an older version: run manage.py migrate"
    ]
