"""Weakly annotated collections with millions of images: an id for each image, and texts of several kinds.

A collection is the folder DATA_DIR/collections/NAME with `texts.parquet` (the columns `id`, `title`, `tags`
and `description`, as far as the file had them) and `manifest.json`. It is no corpus: it has no campaigns, and
nobody annotates it. The vectors of its images are feature sets under its name. Source: Gong et al. 2014,
section 2.1.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from annotation.common.operations import check_used
from annotation.common.plain_text import with_known
from annotation.selectors.corpora import corpus_named
from evaluation.services.common import InputError, check_file, check_name, work_lock
from models_core.extras import load_extra
from models_core.phase_cache import PhaseProgress, no_progress
from phrasebox.balance import ROWS, current_tally
from phrasebox.registry import UnknownName
from phrasebox.table_files import count_columns
from phrasebox.text_files import FormatError, open_bytes, short_repr

#: The kinds of texts, which are also the names of columns.
TEXT_KINDS = ("title", "tags", "description")
#: Number of rows read and written at a time.
COLLECTION_BLOCK_ROWS = 65_536
_FORMAT, _VERSION = "phrasebox-collection", 1
_TEXTS, _MANIFEST = "texts.parquet", "manifest.json"


@dataclass(frozen=True, slots=True)
class WeakCollection:
    """A stored collection; `kinds` are those of its texts."""

    name: str
    rows: int
    kinds: tuple[str, ...]
    digest: str
    origin: Mapping[str, Any]
    created_at: datetime
    folder: Path

    @property
    def bytes(self) -> int:
        """The size on disk."""
        return sum(file.stat().st_size for file in self.folder.iterdir())

    def ids(self) -> list[str]:
        """Return the ids of its images, in order."""
        pq = load_extra("pyarrow.parquet")  # a third of a second to import, which few callers need

        ids: list[str] = pq.read_table(self.folder / _TEXTS, columns=["id"])["id"].to_pylist()
        return ids

    def check_kinds(self, kinds: Sequence[str]) -> None:
        """Raise UnknownName for a kind of texts that it does not have."""
        unknown = [kind for kind in kinds if kind not in self.kinds]
        if unknown:
            there = ", ".join(self.kinds)
            raise UnknownName(f"collection {self.name!r} has no texts of kind {unknown[0]!r}; it has {there}")

    def texts(self, kinds: Sequence[str] = ()) -> Iterator[str]:
        """Yield each image's texts of `kinds` (default: all), joined as one text.

        Raises UnknownName for a kind that it does not have.
        """
        pq = load_extra("pyarrow.parquet")

        self.check_kinds(kinds)
        chosen = list(kinds or self.kinds)
        for batch in pq.ParquetFile(self.folder / _TEXTS).iter_batches(COLLECTION_BLOCK_ROWS, columns=chosen):
            columns = [batch.column(kind).to_pylist() for kind in chosen]
            for parts in zip(*columns, strict=True):
                yield " ".join(part for part in parts if part)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for reports."""
        return {
            "name": self.name,
            "rows": self.rows,
            "kinds": list(self.kinds),
            "digest": self.digest,
            "origin": dict(self.origin),
            "created_at": self.created_at.isoformat(),
        }


def weak_collections() -> list[WeakCollection]:
    """Return all collections by name; damaged ones are skipped."""
    collections = []
    for file in _root().glob(f"[!.]*/{_MANIFEST}"):
        with suppress(ValueError, KeyError, OSError):
            collections.append(_read(file.parent))
    return sorted(collections, key=lambda collection: collection.name)


def weak_collection(name: str) -> WeakCollection:
    """Return the collection of that name; raises UnknownName listing the existing ones."""
    for collection in weak_collections():
        if collection.name == name:
            return collection
    names = [collection.name for collection in weak_collections()]
    raise with_known(UnknownName(f"unknown weak collection {name!r}"), names)


def import_collection(
    name: str, path: Path, *, leave_unused: bool = True, progress: PhaseProgress = no_progress
) -> tuple[WeakCollection, bool]:
    """Import a collection from CSV or Parquet; return it and whether it is new. Repeating it changes nothing.

    The file has a column `id` and one or more of `title`, `tags`, `description`; other columns are skipped if
    `leave_unused` is set. Memory grows with the number of rows only by one number per id. Raises InputError
    for a name that is taken and an id that is empty or occurs twice, FormatError for a bad file, Invalid,
    OSError and Busy.
    """
    check_name(name, "collection")
    with suppress(UnknownName):
        corpus_named(name)
        raise InputError(f"{name!r} is the name of a corpus; choose another name for the collection")
    check_file(path, "a CSV or Parquet file")
    folder = _root() / name
    with work_lock(f"collection.{name}", "collection", name):
        part = folder.with_name(f".{name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        try:
            rows, kinds, digest = _write(part, path, progress)
            check_used(current_tally().sheet(), leave_unused=leave_unused)
            if folder.exists():
                existing = _read(folder)
                if existing.digest != digest:
                    raise InputError(
                        f"collection {name!r} already exists with other rows; choose another name"
                    )
                shutil.rmtree(part)
                return existing, False
            manifest = {
                "format": _FORMAT,
                "version": _VERSION,
                "name": name,
                "rows": rows,
                "kinds": kinds,
                "digest": digest,
                "origin": {"file": path.name},
                "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            }
            (part / _MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
            part.rename(folder)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        return _read(folder), True


def remove_collection(name: str) -> None:
    """Remove a collection; systems that were trained with it stay as they are."""
    collection = weak_collection(name)
    with work_lock(f"collection.{name}", "collection", name):
        gone = collection.folder.with_name(f".{name}.gone")
        collection.folder.rename(gone)
        shutil.rmtree(gone)


def _write(part: Path, path: Path, progress: PhaseProgress) -> tuple[int, list[str], str]:
    """Write the rows; return their number, the kinds of texts, and a digest of all."""
    pa = load_extra("pyarrow")
    pq = load_extra("pyarrow.parquet")

    seen: set[int] = set()
    rows, digest, writer = 0, hashlib.sha256(), None
    kinds: list[str] = []
    try:
        for batch in _batches(path):
            names = [column for column in ("id", *TEXT_KINDS) if column in batch.schema.names]
            if "id" not in names or len(names) < 2:
                raise FormatError(
                    f"has the columns {short_repr(', '.join(batch.schema.names))}",
                    file=path,
                    expected=f"id, and one or more of {', '.join(TEXT_KINDS)}",
                )
            columns = [[_text(value) for value in batch.column(name).to_pylist()] for name in names]
            for index, identifier in enumerate(columns[0]):
                key = int.from_bytes(hashlib.blake2b(identifier.encode(), digest_size=8).digest())
                if not identifier or key in seen:
                    problem = "is empty" if not identifier else f"{short_repr(identifier)} comes twice"
                    raise InputError(
                        f"{path}, row {rows + index + 1}: the id {problem}; expected each id once"
                    )
                seen.add(key)
            if not kinds:
                count_columns(batch.schema.names, names)
            kinds = names[1:]
            table = pa.table(dict(zip(names, columns, strict=True)))
            writer = writer or pq.ParquetWriter(part / _TEXTS, table.schema, compression="zstd")
            writer.write_table(table)
            for row in zip(*columns, strict=True):
                digest.update(json.dumps(row).encode())
            rows += len(columns[0])
            progress("importing texts", rows, rows)
    except pa.ArrowException as error:
        line = (str(error).splitlines() or ["damaged"])[0][:160]
        raise FormatError(
            f"cannot be read ({line})", file=path, expected="a complete CSV or Parquet file"
        ) from error
    finally:
        if writer is not None:
            writer.close()
    tally = current_tally()
    tally.take_others(ROWS, rows)
    if not rows:
        raise FormatError("has no rows", file=path, expected="a row for each image")
    return rows, kinds, digest.hexdigest()


def _text(value: Any) -> str:
    """Return a cell as text; for a list, as in Parquet, its elements joined by spaces."""
    if isinstance(value, list):
        return " ".join(_text(item) for item in value)
    return "" if value is None else str(value)


def _batches(path: Path) -> Iterator[Any]:
    """Yield the rows in blocks of the same size for every format."""
    pa = load_extra("pyarrow")
    pq = load_extra("pyarrow.parquet")
    csv = load_extra("pyarrow.csv")

    with open_bytes(path):  # a path that is no file fails as for every other format
        pass
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        yield from pq.ParquetFile(path).iter_batches(COLLECTION_BLOCK_ROWS)
    elif suffix == ".csv":
        texts = {name: pa.string() for name in ("id", *TEXT_KINDS)}
        reader = csv.open_csv(
            path,
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(column_types=texts, strings_can_be_null=False),
        )
        yield from reader
    else:
        raise FormatError(f"ends in {short_repr(path.suffix)}", file=path, expected=".csv or .parquet")


def _read(folder: Path) -> WeakCollection:
    manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    if manifest.get("format") != _FORMAT or manifest["version"] != _VERSION:
        raise ValueError(f"{folder} contains no collection that this version reads")
    return WeakCollection(
        manifest["name"],
        manifest["rows"],
        tuple(manifest["kinds"]),
        manifest["digest"],
        manifest["origin"],
        datetime.fromisoformat(manifest["created_at"]),
        folder,
    )


def _root() -> Path:
    return Path(settings.DATA_DIR) / "collections"
