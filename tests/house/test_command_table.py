"""docs/commands.md: every command has its page and its API call, or a reason why it has none."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest
from django.core.management import get_commands
from django.urls import get_resolver

from annotation.api.rest.endpoints import ROUTE_PREFIX, endpoints
from annotation.common.operations import OperationContext, all_operations
from annotation.operations.table import OperationsRequest, operation_table, table_text
from tests.conftest import REPOSITORY
from tests.web.test_roles import routes

APPS = ("annotation", "evaluation", "config")


class Row(NamedTuple):
    """A line of the table."""

    command: str
    page: str
    call: str
    reason: str


def rows() -> list[Row]:
    found = []
    for line in (REPOSITORY / "docs" / "commands.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and re.fullmatch(r"`\w+`", cells[0]):
            command, page, call = (cell.strip("`") for cell in cells[:3])
            found.append(Row(command, page, call, cells[3]))
    return found


def test_every_command_stands_in_the_table_once() -> None:
    declared = {one.name for one in all_operations()}
    ours = {name for name, app in get_commands().items() if str(app).partition(".")[0] in APPS}
    assert [row.command for row in rows()] == sorted(ours - declared)


def test_the_table_of_operations_is_made_from_their_declarations() -> None:
    text = (REPOSITORY / "docs" / "operations.md").read_text(encoding="utf-8")
    made = table_text(operation_table(OperationsRequest(), OperationContext()))
    assert text.partition("| operation |")[2] == made.partition("| operation |")[2] + "\n", (
        "docs/operations.md: put the output of manage.py operations under its first lines"
    )


def test_every_page_and_call_of_the_table_exists() -> None:
    pages = set(routes(get_resolver()))
    calls = {
        f"{'' if one.rest.method == 'GET' else one.rest.method + ' '}{ROUTE_PREFIX}{one.route}"
        for one in endpoints()
    }
    for row in rows():
        assert not row.page or row.page in pages, row
        assert not row.call or row.call in calls, row


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.command)
def test_what_has_no_page_or_no_call_has_a_reason(row: Row) -> None:
    assert bool(row.reason) == (not row.page or not row.call)
