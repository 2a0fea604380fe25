"""The embedded database: readers beside one writer, and transactions that wait instead of failing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import launcher
from tests.house.product import PATIENCE, REPOSITORY, environment, manage, migrated

#: Reads before it writes: with SQLite's default, two of these at once end in "database is locked".
READ_THEN_WRITE = """
import time
from django.db import transaction
from annotation.models import Job
for _ in range(15):
    with transaction.atomic():
        seen = Job.objects.count()
        time.sleep(0.01)
        Job.objects.create(kind=str(seen))
"""


def test_it_writes_ahead_and_syncs_when_it_must(tmp_path: Path) -> None:
    ask = "PRAGMA journal_mode", "PRAGMA synchronous", "PRAGMA busy_timeout", "PRAGMA foreign_keys"
    code = f"""
from django.db import connection
with connection.cursor() as cursor:
    print([cursor.execute(question).fetchone()[0] for question in {ask!r}])
"""
    done = manage(tmp_path, "shell", "--no-imports", "-c", code)
    assert done.stdout == "['wal', 1, 20000, 1]\n", done.stderr


@pytest.mark.slow  # the default run has eight processes, in `rehearsal/test_chaos`
def test_processes_that_read_and_then_write_wait_for_each_other(tmp_path: Path) -> None:
    migrated(tmp_path)
    command = [sys.executable, str(REPOSITORY / "manage.py"), "shell", "--no-imports", "-c", READ_THEN_WRITE]
    writers = [
        launcher.start(command, env=environment(tmp_path, {}), stderr=subprocess.PIPE) for _ in range(3)
    ]
    assert [writer.communicate(timeout=PATIENCE)[1] for writer in writers] == ["", "", ""]
    count = "from annotation.models import Job; print(sorted(int(j.kind) for j in Job.objects.all()))"
    done = manage(tmp_path, "shell", "--no-imports", "-c", count)
    assert done.stdout == f"{list(range(45))}\n"
