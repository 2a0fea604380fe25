"""docs/commands.md: the commands that are not operations, and why; docs/operations.md: all operations."""

from __future__ import annotations

import re

from django.core.management import get_commands

from annotation.common.operations import OperationContext, all_operations
from annotation.operations.table import OperationsRequest, operation_table, table_text
from tests.conftest import REPOSITORY

APPS = ("annotation", "evaluation", "config")


def listed() -> list[str]:
    """Return the commands of the table."""
    text = (REPOSITORY / "docs" / "commands.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| \w", text, re.M)
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def test_every_command_stands_in_the_table_once() -> None:
    declared = {operation.name for operation in all_operations()}
    ours = {name for name, app in get_commands().items() if str(app).partition(".")[0] in APPS}
    assert sorted(listed()) == sorted(ours - declared)


def test_the_table_of_operations_is_made_from_their_declarations() -> None:
    text = (REPOSITORY / "docs" / "operations.md").read_text(encoding="utf-8")
    created = table_text(operation_table(OperationsRequest(), OperationContext()))
    assert text.partition("\n## ")[2] == created.partition("## ")[2] + "\n", (
        "docs/operations.md: put the output of manage.py operations under its first lines"
    )
