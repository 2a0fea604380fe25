"""Lists that the query string searches, sorts and paginates: the address bar contains the whole state.

Pagination is by key: `after` is the sort value and the id of the last row of the previous page, so that no
page reads the rows before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.utils.http import urlencode


class SortColumn(NamedTuple):
    """A sort order: its title, its field (also of a related row, as "account__username"), and whether it is
    descending first."""

    title: Any
    field: str
    down: bool = False


@dataclass(frozen=True, slots=True)
class ListQuery:
    """The query string of a list: names that contain `find`, sorted, after the previous page; with
    `archived`, only archived rows. `prefix` precedes each parameter if a page has several lists."""

    find: str = ""
    sort: str = ""
    down: bool = False
    after: str = ""
    archived: bool = False
    also: tuple[tuple[str, str], ...] = ()
    prefix: str = ""

    def address(self) -> str:
        """`?...`, without empty parameters."""
        fields = {
            "find": self.find,
            "sort": self.sort,
            "down": "1" if self.down else "",
            "archived": "1" if self.archived else "",
        }
        prefixed = {f"{self.prefix}{name}": value for name, value in fields.items()}
        held = {**prefixed, **dict(self.also), f"{self.prefix}after": self.after}
        return f"?{urlencode({name: value for name, value in held.items() if value})}"


class ListHead(NamedTuple):
    """A sort order as a link: its title, its address, and the current direction."""

    title: str
    address: str
    way: str


class ListPage(NamedTuple):
    """A page of a list. `first` and `later` are the addresses of the first and of the next page, "" if there
    is none; `total` counts all matches. `archive` switches between active and archived rows; "" if nothing is
    archived."""

    rows: list[Any]
    total: int
    query: ListQuery
    heads: list[ListHead]
    first: str
    later: str
    archive: str = ""


def list_page(
    rows_to_list: QuerySet[Any],
    query_data: Mapping[str, str],
    *,
    sorts: Mapping[str, SortColumn],
    number: int,
    also: Mapping[str, str] | None = None,
    searched: Sequence[str] = ("name",),
    archive: bool = False,
    prefix: str = "",
) -> ListPage:
    """Return the requested page of `number` rows; two queries, three with an `archive`.

    `sorts` are the sort orders by name, the default first; unknown values in the query string are ignored.
    `also` are other parameters that links keep. `searched` are the fields that are searched for `find`. With
    `archive`, archived rows are excluded, unless requested. `prefix` as in `ListQuery`.
    """
    query_data = {
        name.removeprefix(prefix): query_data[name] for name in query_data if name.startswith(prefix)
    }
    usual = next(iter(sorts))
    sort = _text_of(query_data, "sort")
    sort = sort if sort in sorts else usual
    down = (
        _text_of(query_data, "down") == "1"
        if "down" in query_data or "sort" in query_data
        else sorts[sort].down
    )
    query = ListQuery(
        find=_text_of(query_data, "find"),
        sort=sort,
        down=down,
        after=_text_of(query_data, "after"),
        archived=archive and _text_of(query_data, "archived") == "1",
        also=tuple((also or {}).items()),
        prefix=prefix,
    )
    archive_address = ""
    if archive:
        archived = rows_to_list.filter(archived_at__isnull=False)
        if query.archived or archived.exists():
            archive_address = replace(query, archived=not query.archived, find="", after="").address()
        rows_to_list = archived if query.archived else rows_to_list.filter(archived_at__isnull=True)
    if query.find:
        rows_to_list = rows_to_list.filter(
            Q.create([(f"{searched_column}__icontains", query.find) for searched_column in searched], Q.OR)
        )
    rows = list(_after(rows_to_list, query, sorts[sort].field)[: number + 1])
    more, rows = len(rows) > number, rows[:number]
    mark = f"{reduce(getattr, sorts[sort].field.split('__'), rows[-1])},{rows[-1].pk}" if more else ""
    return ListPage(
        rows=rows,
        total=rows_to_list.count(),
        query=query,
        heads=[_head(query, name, column) for name, column in sorts.items()],
        first=replace(query, after="").address() if query.after else "",
        later=replace(query, after=mark).address() if more else "",
        archive=archive_address,
    )


def _after(rows: QuerySet[Any], query: ListQuery, field: str) -> QuerySet[Any]:
    """Return the rows, in the requested order, after the mark "VALUE,PK" of the previous page."""
    sign, side = ("-", "lt") if query.down else ("", "gt")
    text, comma, key = query.after.rpartition(",")
    value = _value(rows, field, text)
    if comma and value is not None and key.isascii() and key.isdigit() and len(key) < 19:
        beyond = Q(**{f"{field}__{side}": value}) | Q(**{field: value, f"pk__{side}": int(key)})
        rows = rows.filter(beyond)
    return rows.order_by(f"{sign}{field}", f"{sign}pk")


def _value(rows: QuerySet[Any], field: str, text: str) -> Any:
    """Return the value of a field in a query string; None if it is invalid."""
    *through, column = field.split("__")
    model: Any = rows.model
    for name in through:
        model = model._meta.get_field(name).related_model
    try:
        value = model._meta.get_field(column).to_python(text)
    except ValidationError:
        return None
    whole = isinstance(value, int) and not -(2**63) <= value < 2**63
    return None if whole else value


def _head(query: ListQuery, name: str, column: SortColumn) -> ListHead:
    """Return a column's link: another column begins in its own direction; the same one reverses it."""
    now = query.sort == name
    down = not query.down if now else column.down
    way = ("descending" if query.down else "ascending") if now else ""
    return ListHead(str(column.title), replace(query, sort=name, down=down, after="").address(), way)


def _text_of(query_data: Mapping[str, str], name: str) -> str:
    return query_data.get(name, "").replace("\0", "").strip()
