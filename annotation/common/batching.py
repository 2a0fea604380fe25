"""Many things in portions: in lists of so many, and rows deleted so many to a transaction."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from django.db.models import QuerySet

#: Rows deleted in one transaction.
ROWS_PER_TRANSACTION = 5_000

_T = TypeVar("_T")


def chunks(things: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """`things` in lists of `size`, the last one shorter."""
    iterator = iter(things)
    while chunk := list(islice(iterator, size)):
        yield chunk


def delete_in_pages(rows: QuerySet[Any], *, alive: Callable[[], object] = lambda: None) -> None:
    """Delete `rows` without ever holding more than a page of them; `alive` is called before each page."""
    while page := list(rows.order_by().values_list("pk", flat=True)[:ROWS_PER_TRANSACTION]):
        alive()
        rows.model._default_manager.filter(pk__in=page).delete()
