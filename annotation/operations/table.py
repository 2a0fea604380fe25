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
    """What can be done here, which role it takes, for what, and in which ways it is offered."""


@dataclass(frozen=True, slots=True)
class OperationRow:
    """An operation: `roles`, any of which is enough; without any, everybody who is signed in may. They are
    granted for `scope`: "anything", "a corpus", "the corpus" or "the campaign" that it is about, or "the
    whole server". Where a surface does not offer it, its name there is empty."""

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
    """The table, in English."""
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
    """The table as Markdown."""
    head = ["operation", "role", "for", "command", "API", "page", "job"]
    rows = [
        [
            row.title,
            ", ".join(row.roles) or "signed in",
            row.scope,
            f"`{row.command}`" if row.command else "",
            f"`{row.call}`" if row.call else "",
            f"`{row.page}`" if row.page else "",
            "yes" if row.job else "",
        ]
        for row in table.operations
    ]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows])


register(
    name="operations",
    title=_("List operations"),
    permission=Has((REVIEWER, RESEARCHER, ADMIN)),
    run=operation_table,
    rest=Rest("GET", "operations", "server"),
    command=CommandLine(text=table_text),
)
