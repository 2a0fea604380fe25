"""Lists that an address searches, sorts and pages: what stands in the address bar is the whole state.

A list pages by key: `after` names the last row of the page before, by the value that it is sorted by and its
id, so that no page reads the rows before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.utils.http import urlencode


class SortColumn(NamedTuple):
    """A way to sort: its title, the field that is sorted by (also one of what a row leads to, as
    "account__username"), and whether it begins with the most."""

    title: Any
    field: str
    down: bool = False


@dataclass(frozen=True, slots=True)
class ListQuery:
    """What an address asks of a list: names that contain `find`, sorted, after the page before; with
    `archived` what is archived, and nothing else. `prefix` stands before each word in the address where a
    page has several lists."""

    find: str = ""
    sort: str = ""
    down: bool = False
    after: str = ""
    archived: bool = False
    also: tuple[tuple[str, str], ...] = ()
    prefix: str = ""

    def address(self) -> str:
        """`?...`, without what is empty."""
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
    """A way to sort as a link: its title, where it leads, and which way the list is sorted by it now."""

    title: str
    address: str
    way: str


class ListPage(NamedTuple):
    """A page of a list. `first` and `later` lead to the first and to the next page, "" where there is none;
    `total` counts all that match. `archive` leads from what is in use to what is archived, and back; "" where
    nothing is."""

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
    """The page of `number` rows that an address asks for; two queries, three with an `archive`.

    `sorts` are the ways to sort by their names, the usual one first; what an address says that is unknown
    counts as not said. `also` is what else of the address stays in links. `searched` are the fields of which
    one contains what is looked for. With `archive`, archived rows are left out, unless the address asks for
    them. `prefix` as `ListQuery` has it.
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
    """In the order asked for, those behind the mark "VALUE,PK" of the page before."""
    sign, side = ("-", "lt") if query.down else ("", "gt")
    text, comma, key = query.after.rpartition(",")
    value = _value(rows, field, text)
    if comma and value is not None and key.isascii() and key.isdigit() and len(key) < 19:
        beyond = Q(**{f"{field}__{side}": value}) | Q(**{field: value, f"pk__{side}": int(key)})
        rows = rows.filter(beyond)
    return rows.order_by(f"{sign}{field}", f"{sign}pk")


def _value(rows: QuerySet[Any], field: str, text: str) -> Any:
    """The value that an address holds of a field; None where it is none."""
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
    """Sorting by another column begins as suits it; by the same again turns it round."""
    now = query.sort == name
    down = not query.down if now else column.down
    way = ("descending" if query.down else "ascending") if now else ""
    return ListHead(str(column.title), replace(query, sort=name, down=down, after="").address(), way)


def _text_of(query_data: Mapping[str, str], name: str) -> str:
    return query_data.get(name, "").replace("\0", "").strip()
