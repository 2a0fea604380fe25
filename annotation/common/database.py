"""Database access: the write lock, row locks, several statements in one round trip, deleting many rows in
portions, a consistent snapshot for several queries, and the check that the tables match the code.

The queue's hot path is written in SQL that PostgreSQL and SQLite both understand. The differences are here:
row locks, which SQLite neither has nor needs, and SQLite's lock for writers.

SQLite allows one writing transaction at a time, and a waiting writer polls, so that under load some wait for
seconds while others overtake them. The kernel grants a lock on a file beside the database in order; its
holder finds the database free.
"""

import contextlib
import fcntl
import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from time import monotonic
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.models import Model, QuerySet
from django.db.models.expressions import RawSQL
from django.utils import timezone

Statement = tuple[str, Sequence[Any]]

#: The largest id of a row; databases raise errors for larger ones in queries.
LARGEST_ID = 2**63 - 1


def parameters(values: Sized) -> str:
    """Return as many parameter placeholders as there are values, for `IN (...)`; "NULL", which matches
    nothing, for none."""
    return ", ".join(["%s"] * len(values)) or "NULL"


def id_list(ids: Iterable[int]) -> RawSQL:
    """Return ids for the right side of `pk__in`, however many: SQLite allows 32,766 parameters, and this is
    one."""
    as_numbers = (
        "SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST(%s AS json))"
        if connection.vendor == "postgresql"
        else "SELECT value FROM json_each(%s)"
    )
    return RawSQL(as_numbers, [json.dumps(sorted(ids))])


def now() -> datetime:
    """Return the current time of the queue."""
    return timezone.now()


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Context of a transaction that writes to the queue. Inside another transaction it joins that."""
    if connection.in_atomic_block:
        with transaction.atomic():
            yield
        return
    _check_after_silence()
    with _write_lock(), transaction.atomic():
        yield


def delete_in_steps(rows: QuerySet[Any], step: int = 5_000) -> None:
    """Delete rows in steps, each in a transaction; nobody waits for all of them."""
    count = step
    while count == step:
        with writing():
            keys = list(rows.values_list("pk", flat=True)[:step])
            rows.model._default_manager.filter(pk__in=keys).delete()
        count = len(keys)


@contextlib.contextmanager
def _write_lock() -> Iterator[None]:
    """Hold SQLite's write lock; does nothing for other databases, nor for one in memory."""
    file = str(connection.settings_dict["NAME"])
    if connection.vendor != "sqlite" or ":memory:" in file or "mode=memory" in file:
        yield
        return
    # Opened again each time: a descriptor shared across a fork would be one lock for both processes.
    handle = os.open(f"{file}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


#: Seconds for which a connection that answered counts as alive.
ALIVE = 5.0
#: When this thread last began a request or wrote.
_spoken = threading.local()


def spare_the_check() -> None:
    """At the start of a request: skip the check of a connection that was just in use.

    Django queries PostgreSQL at every request, which is an extra round trip. If the database disappeared
    within those seconds, the request fails as it would a moment later, and the next one reconnects.
    """
    now = monotonic()
    if connection.connection is not None and now - getattr(_spoken, "at", -ALIVE) < ALIVE:
        connection.health_check_done = True  # type: ignore[attr-defined]
    _spoken.at = now


def _check_after_silence() -> None:
    """Outside a transaction: check a connection that was idle.

    Django does so once per request; a job may compute for minutes between two writes, and the database may
    have been restarted meanwhile.
    """
    now = monotonic()
    if connection.connection is not None and now - getattr(_spoken, "at", -ALIVE) >= ALIVE:
        connection.health_check_done = False  # type: ignore[attr-defined]
    _spoken.at = now


#: The number of new rows that may turn a good query plan into a bad one.
MANY_ROWS = 1_000


def analyse_tables(written: int, *models: type[Model]) -> None:
    """Update the database's statistics after `written` rows were added to the tables of `models` at once.

    PostgreSQL does so itself, but a minute later, and until then plans for the previous, perhaps empty,
    tables: joining 8,000 new images with their captions took a minute instead of 0.1 s. Cheap; call it
    outside a transaction if possible, since its locks last as long.
    """
    if connection.vendor != "postgresql" or written < MANY_ROWS:
        return
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE " + ", ".join(model._meta.db_table for model in models))


def split_row(row: Sequence[Any], *records: type[Any]) -> list[Any]:
    """A row with the columns of several NamedTuples, one after the other, as those records.

    Code that selects them together needs to know no positions. Raises TypeError if the row has more values
    than the records have fields, or fewer.

    >>> from typing import NamedTuple
    >>> class Image(NamedTuple):
    ...     id: int
    ...     key: str
    >>> class Task(NamedTuple):
    ...     id: int
    >>> split_row((7, "quay", 12), Image, Task)
    [Image(id=7, key='quay'), Task(id=12)]
    """
    parts = []
    start = 0
    for record in records:
        end = start + len(record._fields)
        parts.append(record._make(row[start:end]))
        start = end
    if start != len(row):
        raise TypeError(f"a row of {len(row)} values: expected {start}")
    return parts


def locking(*tables: str, skip: bool = False, shared: str = "") -> str:
    """Return the clause that locks the rows read from `tables` against writers; with `skip`, locked rows are
    skipped. Rows of the table `shared` get a shared lock: others may lock them so too, but nobody may write
    them."""
    if connection.vendor != "postgresql":
        return ""
    also = f" FOR SHARE OF {shared}" if shared else ""
    return f" FOR NO KEY UPDATE OF {', '.join(tables)}" + (" SKIP LOCKED" if skip else "") + also


#: Seconds after which a connection plans again: soon at first, since a plan made for an empty table scans it
#: when it is full, then doubling up to the second number.
PLANS_GOOD_FOR = 1.0, 20.0


@dataclass
class _Plans:
    """The names of the statements that a PostgreSQL connection has prepared; when it planned, and how long
    the plans are valid."""

    at: float
    good_for: float
    known: set[str]


_prepared: WeakKeyDictionary[Any, _Plans] = WeakKeyDictionary()


def execute(cursor: Any, text: str, values: Sequence[Any]) -> None:
    """Execute a statement of the hot path, planned once per connection if the database can store plans.

    `text` must be one of few (its values are parameters), with unambiguous parameter types. Planning took a
    quarter of PostgreSQL's time in a cycle (studies/queue_service.py).
    """
    if cursor.db.vendor != "postgresql":
        cursor.execute(text, values)
        return
    known = _plans(cursor)
    cursor.execute(_planned(cursor, known, text, len(values)), values)


def in_one_trip() -> bool:
    """Whether `send_statements` sends several statements in one round trip, and writes are allowed inside a
    WITH."""
    return connection.vendor == "postgresql"


def send_statements(cursor: Any, statements: Sequence[Statement]) -> None:
    """Execute statements: in one round trip to PostgreSQL, one by one on SQLite. The last may return rows."""
    if cursor.db.vendor != "postgresql":
        for text, values in statements:
            cursor.execute(text, values)
        return
    known = _plans(cursor)
    planned = [_planned(cursor, known, text, len(values)) for text, values in statements]
    if planned:
        cursor.execute(";\n".join(planned), [value for _, values in statements for value in values])


def _plans(cursor: Any) -> set[str]:
    """Return the names of this connection's prepared statements; drops old plans, so call it before a round
    trip, never between its statements."""
    raw, now = cursor.db.connection, monotonic()
    plans = _prepared.get(raw)
    if plans is None:
        # By default PostgreSQL prefers plans for specific values, and makes them every time.
        cursor.execute("SET plan_cache_mode = force_generic_plan")
        plans = _prepared[raw] = _Plans(now, PLANS_GOOD_FOR[0], set())
    elif now - plans.at > plans.good_for:
        # This also drops the plans of foreign-key checks, which nothing else does.
        cursor.execute("DISCARD PLANS")
        plans.at, plans.good_for = now, min(2 * plans.good_for, PLANS_GOOD_FOR[1])
    return plans.known


def _planned(cursor: Any, known: set[str], text: str, count: int) -> str:
    """Return the EXECUTE of a statement that this connection has prepared, or prepares now."""
    name = _name_of(text)
    if name not in known:
        places = iter(range(1, count + 1))
        numbered = re.sub("%s", lambda _: f"${next(places)}", text).replace("%%", "%")
        cursor.execute(f"PREPARE {name} AS {numbered}")
        known.add(name)
    return _call(name, count)


@lru_cache(maxsize=256)
def _call(name: str, count: int) -> str:
    return f"EXECUTE {name} ({', '.join(['%s'] * count)})" if count else f"EXECUTE {name}"


@lru_cache(maxsize=256)
def _name_of(text: str) -> str:
    return f"queue_{blake2b(text.encode(), digest_size=8).hexdigest()}"


def sql_time(value: datetime) -> Any:
    """Return a time as a parameter of hand-written SQL."""
    return connection.ops.adapt_datetimefield_value(value)


def time_from_sql(value: Any) -> datetime:
    """Convert a time read by hand-written SQL: SQLite returns text."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


#: Number of rows deleted in one transaction.
ROWS_PER_TRANSACTION = 5_000

_T = TypeVar("_T")


def chunks(things: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """Yield `things` in lists of `size`, the last one shorter."""
    iterator = iter(things)
    while chunk := list(islice(iterator, size)):
        yield chunk


def delete_in_pages(rows: QuerySet[Any], *, alive: Callable[[], object] = lambda: None) -> None:
    """Delete `rows` while holding only a page of them in memory; `alive` is called before each page."""
    while page := list(rows.order_by().values_list("pk", flat=True)[:ROWS_PER_TRANSACTION]):
        alive()
        rows.model._default_manager.filter(pk__in=page).delete()


#: Number of unknown migrations that are listed; more are counted.
_NAMED = 3


class NewerSchema(ValueError):
    """The database was migrated by a newer version of the code; one line with the remedy."""


def refuse_newer(database: str = DEFAULT_DB_ALIAS) -> None:
    """Raise NewerSchema if migrations were applied that the code does not have."""
    fault = newer(MigrationLoader(connections[database]))
    if fault:
        raise NewerSchema(fault)


def refuse_to_migrate(using: str, **signal: Any) -> None:
    """Before migrations are applied: reject a database that is newer; raises CommandError."""
    try:
        refuse_newer(using)
    except NewerSchema as error:
        raise CommandError(str(error)) from error


def newer(loader: MigrationLoader) -> str:
    """Return which applied migrations the code does not have, and the remedy; "" if it has them all."""
    unknown = sorted(set(loader.applied_migrations or ()) - set(loader.disk_migrations or ()))
    if not unknown:
        return ""
    names = ", ".join(f"{app}.{name}" for app, name in unknown[:_NAMED])
    more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
    return (
        f"the database is newer than this version of the code, which does not know migration {names}{more}: "
        "run the version that applied it, or restore a backup from before"
    )


@contextlib.contextmanager
def one_moment() -> Iterator[None]:
    """Context in which several queries see the database as of the first of them. For reading only, and
    briefly.

    Inside a transaction they see that transaction's snapshot.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield
    else:
        # `atomic` would take the write lock, and wait for all writers.
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
