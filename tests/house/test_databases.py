"""The two databases: every test runs on one, and tests of only one run on that."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import databases

REPOSITORY = Path(__file__).resolve().parent.parent.parent
FILES = [file.relative_to(REPOSITORY).as_posix() for file in (REPOSITORY / "tests").rglob("test_*.py")]
EVERY = (databases.SQLITE, databases.POSTGRESQL)


def test_every_folder_and_file_that_is_given_a_database_is_there() -> None:
    listed = (*databases.BOTH, *databases.ON_POSTGRESQL, *databases.ONCE)
    assert [path for path in listed if not any(file.startswith(path) for file in FILES)] == []


def test_no_file_is_listed_twice() -> None:
    for places in (databases.BOTH, databases.ON_POSTGRESQL):
        assert [p for p in places if sum(p != q and p.startswith(q) for q in places)] == []


@pytest.mark.parametrize(
    ("pattern", "needed"),
    [
        (r"mark\.only_on\(.sqlite", {databases.SQLITE}),
        (r"mark\.only_on\(.postgresql|CELERY_FIRS[T]|\binstallation: Deliver[y]", {databases.POSTGRESQL}),
        (r"\bdelivery: Deliver[y]", {*EVERY}),
    ],
)
def test_what_means_something_on_one_database_alone_runs_there(pattern: str, needed: set[str]) -> None:
    marked = [file for file in FILES if re.search(pattern, (REPOSITORY / file).read_text())]
    assert marked and [file for file in marked if not needed <= {*databases.databases_of(file)}] == []


def test_a_thorough_run_takes_each_file_on_both_databases_or_once() -> None:
    assert databases.databases_of("tests/queue/test_whole.py", thorough=True) == EVERY
    assert all(
        databases.databases_of(f, thorough=True) == (database,) for f, database in databases.ONCE.items()
    )
