"""Worlds that are built once: their rows are stored, and inserted again for each further test that uses them.

Building a campaign takes many times as long as inserting its rows. The rows are in the test's own
transaction, or committed if the test commits: only the ids are shared, and they are outside the range of a
test's own rows. Each test gets new objects. Picture files stay where the product stored them.

    @pytest.fixture
    def world(db):
        return worlds.again("two images, all answered", build)
"""

from __future__ import annotations

import functools
import hashlib
import io
import itertools
import pickle
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from django.apps import apps
from django.db import connection, transaction
from django.db.models import AutoField

from annotation.common import database
from annotation.images.pictures import picture_path
from annotation.models import Image
from annotation.protocol.terms import ImageRecord
from config.sample import sample_record

T = TypeVar("T")

#: First id of the first world's rows, and the distance between the first ids of two worlds.
APART = 1_000_000
#: Seconds after which a world is built again: its times are those of its building, and tests of recent events
#: need recent ones.
FRESH = 300.0


@dataclass(frozen=True)
class _Table:
    """A table's columns as SQL, its name as text, and its key if the database numbers the rows."""

    columns: str
    places: str
    name: str
    numbered: str


@dataclass(frozen=True)
class _StoredWorld:
    """Rows by table, as the database returns them, pictures, other files, and the builder's result."""

    rows: Mapping[str, Any]
    pictures: Mapping[str, bytes]
    files: Mapping[Path, bytes]
    returned: bytes
    at: float


_now = database.now
_stored: dict[str, _StoredWorld] = {}
_requested: set[str] = set()
_firsts = itertools.count(APART, APART)
_building = False


def again(name: str, build: Callable[[], T], *, at_once: bool = True, folder: Path | None = None) -> T:
    """Return the result of `build`, with its rows: built the first time, inserted again afterwards.

    `name` identifies the world in the whole run: the same name means the same rows. `build` may only add
    rows, and must not depend on the test's other data. Files that it adds to a `folder` of the test are
    written again too. Storing a world takes some time, so worlds that may be
    used only once are stored from the second use on: set `at_once` to False.
    """
    global _building

    # A part of a larger world is stored with that; and a test that changes the clock has its own rows.
    if _building or database.now is not _now:
        return build()
    if name in _stored and time.monotonic() - _stored[name].at < FRESH:
        _put_back(_stored[name], folder)
    elif not at_once and name not in _requested and name not in _stored:
        _requested.add(name)
        return build()
    else:
        with transaction.atomic():
            first = next(_firsts)
            _count_from(first)
            before, lay_there = _rows(first), set(_files(folder))
            _building = True
            try:
                created = build()
            finally:
                _building = False
            rows = {table: _without(before.get(table), row) for table, row in _rows(first).items()}
            rows = {table: row for table, row in rows.items() if row}
            named = set(
                Image.objects.filter(pk__gt=first).exclude(picture="").values_list("picture", flat=True)
            )
        seen = {picture: picture_path(picture).read_bytes() for picture in named}
        files = {file: data for file, data in _files(folder).items() if file not in lay_there}
        _stored[name] = _StoredWorld(rows, seen, files, pickle.dumps(created), time.monotonic())
    return cast(T, pickle.loads(_stored[name].returned))


def digest(*message: object) -> str:
    """Return a short name of a world's ingredients."""
    return hashlib.sha256(repr(message).encode()).hexdigest()[:16]


@functools.cache
def _tables() -> Mapping[str, _Table]:
    """Return every table of the product by its name in SQL."""
    quote = connection.ops.quote_name
    tables = {}
    for model in apps.get_models(include_auto_created=True):
        about = model._meta
        if about.managed and not about.proxy:
            columns = [quote(str(field.column)) for field in about.local_concrete_fields]
            key = quote(cast(Any, about.pk).column) if isinstance(about.pk, AutoField) else ""
            tables[quote(about.db_table)] = _Table(
                ", ".join(columns), ", ".join(["%s"] * len(columns)), about.db_table, key
            )
    return tables


def _count_from(first: int) -> None:
    """Make the ids of new rows begin after `first`."""
    numbered = {quoted: table for quoted, table in _tables().items() if table.numbered}
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            names = [table.name for table in numbered.values()]
            cursor.execute(
                f"DELETE FROM sqlite_sequence WHERE name IN ({', '.join(['%s'] * len(names))})", names
            )
            cursor.executemany(
                "INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [(name, first) for name in names]
            )
        else:
            keys = [table.numbered.strip('"') for table in numbered.values()]
            cursor.execute(
                "SELECT setval(pg_get_serial_sequence(name, key), %s) FROM unnest(%s, %s) AS t (name, key)",
                [first, list(numbered), keys],
            )


def _rows(first: int) -> dict[str, list[Any]]:
    """Return the rows numbered from `first`, and every row of tables without numbers: tuples, or lines of
    COPY."""
    rows: dict[str, list[Any]] = {}
    with connection.cursor() as cursor:
        for quoted, table in _tables().items():
            chosen = f"SELECT {table.columns} FROM {quoted}"
            if table.numbered:
                chosen += f" WHERE {table.numbered} > {first}"
            if connection.vendor == "sqlite":
                rows[quoted] = cursor.execute(chosen).fetchall()
            else:
                text = io.StringIO()
                cursor.copy_expert(f"COPY ({chosen}) TO STDOUT", text)
                rows[quoted] = text.getvalue().splitlines(keepends=True)
    return rows


def _without(before: list[Any] | None, after: list[Any]) -> Any:
    """Return the added rows; on PostgreSQL as one text."""
    stood = set(before or ())
    came = [row for row in after if row not in stood]
    return came if connection.vendor == "sqlite" else "".join(came)


def _files(folder: Path | None) -> dict[Path, bytes]:
    """Return the files of a folder, by their paths in it."""
    if folder is None:
        return {}
    return {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def _put_back(stored: _StoredWorld, folder: Path | None) -> None:
    for file, content in stored.files.items():
        assert folder is not None
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)
    for name, content in stored.pictures.items():
        if not picture_path(name).is_file():  # a test has its own folder, or emptied it
            picture_path(name).parent.mkdir(parents=True, exist_ok=True)
            picture_path(name).write_bytes(content)
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            # References are checked when the test ends, as for any row.
            for quoted, rows in stored.rows.items():
                table = _tables()[quoted]
                cursor.executemany(f"INSERT INTO {quoted} ({table.columns}) VALUES ({table.places})", rows)
        else:
            # They were checked when the world was built.
            cursor.execute("SET LOCAL session_replication_role = replica")
            for quoted, text in stored.rows.items():
                cursor.copy_expert(
                    f"COPY {quoted} ({_tables()[quoted].columns}) FROM STDIN", io.StringIO(text)
                )
            cursor.execute("SET LOCAL session_replication_role = DEFAULT")


_painted: dict[int, list[ImageRecord]] = {}


def painted(images: int, *, seed: int = 1) -> list[ImageRecord]:
    """Return the first `images` scenes of the sample corpus without their pictures, each painted once per
    run."""
    known = _painted.setdefault(seed, [])
    while len(known) < images:
        known.append(sample_record(len(known), seed=seed))
    return known[:images]
