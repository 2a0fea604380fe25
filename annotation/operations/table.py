"""The table of operations: what can be done, by whom, and where."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import translation
from django.utils.translation import gettext_lazy as _

from annotation.common.operations import (
    CommandLine,
    Has,
    Operation,
    OperationContext,
    Rest,
    all_operations,
    register,
)
from annotation.common.roles import ADMIN, RESEARCHER, REVIEWER


@dataclass(frozen=True, slots=True)
class OperationsRequest:
    """What can be done here, which role it takes, and for what; as a command, by the API, on a page, as a
    job."""


@dataclass(frozen=True, slots=True)
class OperationRow:
    """An operation: `roles`, any of which is enough, `on` what its field of this name says ("": anything).
    Where a surface does not offer it, its name there is empty."""

    name: str
    title: str
    roles: tuple[str, ...]
    on: str
    command: str
    call: str
    page: str
    job: bool


@dataclass(frozen=True, slots=True)
class OperationTable:
    """Every operation, by name."""

    operations: tuple[OperationRow, ...]


def operation_table(request: OperationsRequest, context: OperationContext) -> OperationTable:
    """The table, in English."""
    with translation.override("en"):
        return OperationTable(tuple(map(_row, all_operations())))


def _row(operation: Operation) -> OperationRow:
    rest, page = operation.rest, operation.page
    return OperationRow(
        name=operation.name,
        title=str(operation.title),
        roles=operation.permission.roles,
        on=operation.permission.on,
        command=operation.name if operation.command is not None else "",
        call=f"{rest.method} {rest.path}" if rest is not None else "",
        page=(page.route or "operation") if page is not None else "",
        job=operation.as_job,
    )


def table_text(table: OperationTable) -> str:
    """The table as Markdown."""
    head = ["operation", "role", "for", "command", "API", "page", "job"]
    rows = [
        [
            one.title,
            ", ".join(one.roles),
            f"the {one.on}" if one.on else "anything",
            f"`{one.command}`" if one.command else "",
            f"`{one.call}`" if one.call else "",
            f"`{one.page}`" if one.page else "",
            "yes" if one.job else "",
        ]
        for one in table.operations
    ]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows])


register(
    Operation(
        name="operations",
        title=_("List operations"),
        request=OperationsRequest,
        result=OperationTable,
        permission=Has((REVIEWER, RESEARCHER, ADMIN)),
        run=operation_table,
        rest=Rest("GET", "operations", "server"),
        command=CommandLine(text=table_text),
    )
)
