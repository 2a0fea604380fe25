"""The table of operations: what can be done, by whom, and where."""

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
    request_fields,
)
from annotation.common.roles import ADMIN, RESEARCHER, REVIEWER


@dataclass(frozen=True, slots=True)
class OperationsRequest:
    """All operations of this server, with roles, scope and surfaces."""


@dataclass(frozen=True, slots=True)
class OperationRow:
    """An operation. `roles`: any one suffices; if empty, every signed-in account may. They are granted for
    `scope`: "anything", "a corpus", "the corpus" or "the campaign" of the operation, or "the whole server".
    Surfaces without the operation have an empty name."""

    name: str
    title: str
    roles: tuple[str, ...]
    scope: str
    command: str
    call: str
    page: str
    job: bool


@dataclass(frozen=True, slots=True)
class OperationTable:
    """Every operation, by name."""

    operations: tuple[OperationRow, ...]


def operation_table(request: OperationsRequest, context: OperationContext) -> OperationTable:
    """Return the table, in English."""
    with translation.override("en"):
        return OperationTable(tuple(map(_row, all_operations())))


def _row(operation: Operation) -> OperationRow:
    rest, page = operation.rest, operation.page
    return OperationRow(
        name=operation.name,
        title=str(operation.title),
        roles=operation.permission.roles,
        scope=_scope(operation),
        command=operation.name if operation.command is not None else "",
        call=f"{rest.method} {rest.path}" if rest is not None else "",
        page=(page.route or "operation") if page is not None else "",
        job=operation.as_job,
    )


def _scope(operation: Operation) -> str:
    permission = operation.permission
    if permission.server:
        return "the whole server"
    if not permission.on:
        return "a corpus" if permission.corpora else "anything"
    named = request_fields(operation.request)[permission.on].named
    assert named is not None and named.kind is not None
    return f"the {named.kind.within}"


def table_text(table: OperationTable) -> str:
    """Return the operations as Markdown: a table for each role and scope."""
    tables: dict[str, list[str]] = {}
    for row in table.operations:
        heading = f"{', '.join(row.roles)}: {row.scope}" if row.roles else "Everybody who is signed in"
        notes = [*(["a job"] if row.job else []), *([] if row.page else ["no page"])]
        title = f"{row.title} ({', '.join(notes)})" if notes else row.title
        cells = [title, *(f"`{name}`" if name else "" for name in (row.command, row.call))]
        tables.setdefault(heading, []).append("| " + " | ".join(cells) + " |")
    head = "| operation | command | API |\n|---|---|---|"
    return "\n\n".join(
        "\n".join((f"## {heading[0].upper()}{heading[1:]}", "", head, *rows))
        for heading, rows in sorted(tables.items())
    )


register(
    name="operations",
    title=_("List operations"),
    permission=Has((REVIEWER, RESEARCHER, ADMIN)),
    run=operation_table,
    rest=Rest("GET", "operations", "server"),
    command=CommandLine(text=table_text),
)
