"""What every command has in common."""

from __future__ import annotations

import os
import subprocess
import sys

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
