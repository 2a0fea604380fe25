"""Pagination of lists: `{results, next}`, with a signed cursor that is valid only for its own list.

A cursor contains the mark of the last row that was sent, so that every page has the same cost, and new rows
shift nothing. It is signed together with its list (the address, the filters, and the caller): another list's
cursor, or a forged one, is rejected.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, NamedTuple, TypeVar

from django.core import signing
from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _
from pydantic import Field

from annotation.api.problems import FieldProblem, Problem

#: Default and maximum number of rows on a page.
USUAL_ROWS, MOST_LIST_ROWS = 50, 200
_SALT = "annotation.api.cursor"

M = TypeVar("M", bound=Model)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorRequest:
    """Parameters of every list."""

    limit: Annotated[int, Field(ge=1, le=MOST_LIST_ROWS, description="Rows on a page")] = USUAL_ROWS
    cursor: Annotated[
        str | None,
        Field(max_length=1000, description="`next` of the page before; without it, the first page"),
    ] = None


class CursorPage(NamedTuple):
    """A page of a list: its rows as plain data, and the cursor of the next page, None at the end."""

    results: list[Any]
    next: str | None


class ListRequest(NamedTuple):
    """The request of a list: at most `limit` rows after `mark` (None: from the beginning).

    `name` distinguishes the list from every other.
    """

    name: str
    limit: int
    mark: Any

    def page(self, results: Iterable[Any], mark: Any) -> CursorPage:
        """Return the page of these rows; `mark` is that of the last one, None if it is the last page."""
        return CursorPage(list(results), None if mark is None else _sealed(self.name, mark))

    def of_rows(self, rows: QuerySet[M], by: str, to_dict: Callable[[M], Any]) -> CursorPage:
        """Return the page of `rows` by the unique column `by` ("-pk": descending)."""
        column, side = by.removeprefix("-"), "lt" if by.startswith("-") else "gt"
        if self.mark is not None:
            rows = rows.filter(**{f"{column}__{side}": self.mark})
        rows_and_next = list(rows.order_by(by)[: self.limit + 1])
        page_rows = rows_and_next[: self.limit]
        more = len(rows_and_next) > self.limit
        return self.page(map(to_dict, page_rows), getattr(page_rows[-1], column) if more else None)

    def of_values(
        self, values: Iterable[T], key: Callable[[T], str], to_dict: Callable[[T], Any]
    ) -> CursorPage:
        """Return the page of values in memory, by a unique text."""
        ordered = sorted(values, key=key)
        if self.mark is not None:
            ordered = [value for value in ordered if key(value) > str(self.mark)]
        page_rows = ordered[: self.limit]
        return self.page(map(to_dict, page_rows), key(page_rows[-1]) if len(ordered) > self.limit else None)


def list_request(
    *, path: str, account: int, filters: Mapping[str, Any], cursor: CursorRequest
) -> ListRequest:
    """Return a call's request of the list at `path`. Raises Problem for a cursor of another list."""
    known = json.dumps([path, account, filters], sort_keys=True, default=str)
    name = hashlib.sha256(known.encode()).hexdigest()[:32]
    return ListRequest(name, cursor.limit, _opened(name, cursor.cursor) if cursor.cursor else None)


def _sealed(name: str, mark: Any) -> str:
    return signing.dumps([name, mark], salt=_SALT)


def _opened(name: str, cursor: str) -> Any:
    try:
        of, mark = signing.loads(cursor, salt=_SALT)
    except (signing.BadSignature, ValueError):
        of, mark = "", None
    if of != name:
        detail = _("This cursor is not one of this list: take it from “next” of the page before.")
        raise Problem(
            HTTPStatus.BAD_REQUEST,
            "bad_cursor",
            detail,
            field="cursor",
            errors=[FieldProblem(field="cursor", code="bad_cursor", detail=detail)],
        )
    return mark
