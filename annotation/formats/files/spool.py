"""Captions on disk until their image is complete: for formats with scattered captions of one image.

A private temporary SQLite database (SQLite deletes it when the connection closes) contains what exceeds the
bounded page cache, so that memory is constant for any order of the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from annotation.protocol.terms import MOST_PER_IMAGE
from phrasebox.text_files import FormatError, short_repr

#: KiB of pages in SQLite's cache.
CACHE = 8 * 1024

_TABLES = """
CREATE TABLE image (position INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, line INTEGER, data TEXT NOT NULL);
CREATE TABLE caption (
    image TEXT NOT NULL, number INTEGER NOT NULL, text TEXT NOT NULL, id TEXT, ids_of TEXT NOT NULL,
    line INTEGER, unrelated INTEGER NOT NULL, PRIMARY KEY (image, number), UNIQUE (ids_of, id)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class SpooledCaption:
    """A stored caption: `number` is the source's, `id` None if it has none."""

    number: int
    text: str
    id: str | None
    line: int | None
    unrelated: bool


class Spool:
    """Images in order of first occurrence, each with its captions by ascending number."""

    def __init__(self, file: Path) -> None:
        """`file` is the source, for messages."""
        self.file = file
        # With an empty name, SQLite keeps the database in an anonymous temporary file.
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._base.execute(f"PRAGMA cache_size = -{CACHE}")
        self._base.execute("PRAGMA journal_mode = OFF")
        self._base.executescript(_TABLES)
        self._base.execute("BEGIN")
        self._latest: tuple[str | None, str] = None, ""

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._base.close()

    def add_image(self, key: str, data: str, line: int | None = None) -> str | None:
        """Add an image; if `key` exists already, return its data."""
        if key == self._latest[0]:  # rows of one image are usually adjacent
            return self._latest[1]
        try:
            self._base.execute("INSERT INTO image (key, line, data) VALUES (?, ?, ?)", (key, line, data))
        except sqlite3.IntegrityError:
            row = self._base.execute("SELECT data FROM image WHERE key = ?", (key,)).fetchone()
            self._latest = key, str(row[0])
            return self._latest[1]
        self._latest = key, data
        return None

    def add_caption(
        self,
        image: str,
        number: int,
        text: str,
        *,
        id: str | None = None,
        ids_of: str = "",
        line: int | None = None,
        unrelated: bool = False,
    ) -> None:
        """Add a caption. Raises FormatError if its number in its image, or its id, is taken.

        An id is taken if another caption of the same `ids_of` has it: an image, or "" for all of them.
        """
        try:
            self._base.execute(
                "INSERT INTO caption VALUES (?, ?, ?, ?, ?, ?, ?)",
                (image, number, text, id, ids_of, line, unrelated),
            )
        except sqlite3.IntegrityError as error:
            first = self._base.execute(
                "SELECT line FROM caption WHERE (image = ? AND number = ?) OR (ids_of = ? AND id = ?)",
                (image, number, ids_of, id),
            ).fetchone()[0]
            name = (
                f"caption {number} of image {short_repr(image)}"
                if id is None
                else f"caption id {short_repr(id)}"
            )
            raise FormatError(
                f"{name} appears a second time" + (f" (first in line {first})" if first else ""),
                file=self.file,
                line=line,
                expected="each caption once",
            ) from error

    def images(self) -> Iterator[str]:
        """Yield the data of each image, in order."""
        for (data,) in self._base.execute("SELECT data FROM image ORDER BY position"):
            yield data

    def orphans(self) -> Iterator[tuple[str, str]]:
        """Yield image key and caption id of each caption whose image was never added."""
        rows = self._base.execute("SELECT image, id FROM caption WHERE image NOT IN (SELECT key FROM image)")
        for image, id in rows:
            yield image, id or ""

    def __iter__(self) -> Iterator[tuple[str, str, int | None, list[SpooledCaption]]]:
        """Yield key, data, line and captions of each image."""
        cursor = self._base.execute("SELECT key, data, line FROM image ORDER BY position")
        for key, data, line in cursor:
            rows = self._base.execute(
                "SELECT number, text, id, line, unrelated FROM caption"
                " WHERE image = ? ORDER BY number LIMIT ?",
                (key, MOST_PER_IMAGE + 1),  # one too many is enough to be rejected
            )
            yield key, data, line, [SpooledCaption(n, t, i, at, bool(u)) for n, t, i, at, u in rows]
