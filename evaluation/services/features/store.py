"""Feature sets: vectors of the images, captions, regions or words of a corpus, under a name and a version.

A set is the folder DATA_DIR/features/CORPUS/NAME/VERSION with `vectors.npy`, which is mapped and never read
whole, `ids.json`, the items of its rows, and `manifest.json`; for regions also `boxes.npy`, and `learned.npy`
where the images that the features were learned from are known (`comparison.provenance`). A set never changes;
other vectors under its name become its next version. A set that is being written is in a folder beside it
whose name begins with a dot; writing the same again continues there.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
from django.conf import settings
from django.utils.translation import gettext as _
from numpy.lib import format as npy
from numpy.typing import NDArray

from evaluation.services.common import InputError, check_name, work_lock
from models_core.phase_cache import PhaseProgress, no_progress
from phrasebox.registry import UnknownName

FeatureKind = Literal["image", "caption", "region", "word"]
FEATURE_KINDS: tuple[FeatureKind, ...] = ("image", "caption", "region", "word")
#: Called with the number of rows that were written before; returns the rows after them, in blocks.
Blocks = Callable[[int], Iterable[NDArray[Any]]]
#: Number types of stored vectors.
NUMBER_TYPES = ("float32", "float16")

_FORMAT, _VERSION = "phrasebox-features", 1
_VECTORS, _IDS, _BOXES, _LEARNED = "vectors.npy", "ids.json", "boxes.npy", "learned.npy"
#: Keys of an origin that the person who added the set declares.
TRAINED_ON, NETWORK = DECLARED = ("trained_on", "network")
_MANIFEST, _WRITTEN = "manifest.json", "written.json"


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """A stored set. `origin` says where it came from; `digest` covers ids and numbers."""

    corpus: str
    name: str
    version: int
    kind: FeatureKind
    rows: int
    dimensions: int
    dtype: str
    digest: str
    origin: Mapping[str, Any]
    created_at: datetime
    folder: Path

    @property
    def label(self) -> str:
        """Name and version, as commands take them."""
        return f"{self.name}:{self.version}"

    @property
    def bytes(self) -> int:
        """The size on disk."""
        return sum(file.stat().st_size for file in self.folder.iterdir())

    def vectors(self) -> NDArray[Any]:
        """Return the vectors, memory-mapped, shape (rows, dimensions)."""
        return np.asanyarray(np.load(self.folder / _VECTORS, mmap_mode="r", allow_pickle=False))

    def ids(self) -> tuple[str, ...]:
        """Return the item of each row: names of images, repeated for each of their regions, or of captions;
        or words."""
        return tuple(json.loads((self.folder / _IDS).read_text(encoding="utf-8")))

    def boxes(self) -> NDArray[np.float32]:
        """Return the boxes of regions: xmin, ymin, xmax and ymax in pixels, counted from 1 and inclusive,
        shape (rows, 4), memory-mapped. Raises FileNotFoundError for other kinds."""
        return np.asanyarray(np.load(self.folder / _BOXES, mmap_mode="r", allow_pickle=False))

    def learned(self) -> NDArray[np.uint64] | None:
        """Return the images that the features were learned from, packed; None if unknown."""
        file = self.folder / _LEARNED
        return np.asanyarray(np.load(file, allow_pickle=False)) if file.is_file() else None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for reports."""
        content = {
            key: getattr(self, key)
            for key in ("corpus", "name", "version", "kind", "rows", "dimensions", "dtype", "digest")
        }
        details = {
            "origin": dict(self.origin),
            "created_at": self.created_at.isoformat(),
            "bytes": self.bytes,
        }
        return {**content, **details}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSet:
    """A set to be written: its corpus, name, and origin. `boxes` are those of regions, shape (rows, 4).
    `pictures` is a digest of the pictures that are described, "" if none are: an interrupted extraction
    continues only with the same ones. `learned` are the images that the features were learned from, packed;
    None if unknown."""

    corpus: str
    name: str
    kind: FeatureKind
    ids: Sequence[str]
    dimensions: int
    dtype: str
    origin: Mapping[str, Any]
    boxes: NDArray[Any] | None = None
    pictures: str = ""
    learned: NDArray[np.uint64] | None = None


def feature_sets(corpus: str | None = None) -> list[FeatureSet]:
    """Return the sets of a corpus, or of all, by corpus, name and version; damaged ones are skipped."""
    sets = []
    for file in _root().glob(f"{corpus or '*'}/*/*/{_MANIFEST}"):
        if not any(part.startswith(".") for part in file.relative_to(_root()).parts):
            with suppress(ValueError, KeyError, OSError):
                sets.append(_read(file.parent))
    return sorted(sets, key=lambda stored: (stored.corpus, stored.name, stored.version))


def sets_in_words(corpus: str) -> str:
    """Return, in words, what depends on a corpus here, for a person who is about to delete it; "" for
    nothing."""
    labels = ", ".join(stored.label for stored in feature_sets(corpus))
    return _("feature sets %(names)s") % {"names": labels} if labels else ""


def feature_set(corpus: str, label: str) -> FeatureSet:
    """Return the set `NAME` (its newest version) or `NAME:VERSION`; raises UnknownName listing the existing
    ones."""
    sets = feature_sets(corpus)
    matches = [stored for stored in sets if label in (stored.name, stored.label)]
    if not matches:
        known = ", ".join(stored.label for stored in sets) or "none"
        raise UnknownName(f"unknown feature set {label!r} of corpus {corpus!r}; known: {known}")
    return matches[-1]


def is_label(text: str) -> bool:
    """Whether the text can name a set, and is not the path of a file."""
    return bool(text) and "/" not in text and "." not in text


def write_set(
    new: NewSet, blocks: Blocks, *, progress: PhaseProgress = no_progress
) -> tuple[FeatureSet, bool]:
    """Write a set; return it and whether it is new. If the same exists already under that name, nothing
    changes.

    `blocks` is called with the number of rows that were written before, and returns the rows after them, of
    shape (rows, dimensions). Raises InputError for an invalid name and for a number that does not fit
    `dtype`, OSError if the disk is full, and Busy.
    """
    check_name(new.name, "feature set")
    home = _root() / new.corpus / new.name
    with work_lock(f"features.{new.corpus}.{new.name}", "feature set", new.name):
        part = home.parent / f".{new.name}.part"
        specification = {
            "kind": new.kind,
            "dtype": new.dtype,
            "dimensions": new.dimensions,
            "ids": hashlib.sha256(json.dumps(list(new.ids)).encode()).hexdigest(),
            "boxes": "" if new.boxes is None else _digest_of_boxes(new.boxes),
            "origin": json.loads(json.dumps(dict(new.origin))),
            "pictures": new.pictures,
        }
        _fill(part, specification, new, blocks, progress)
        digest = _digest(part, new)
        newest = [existing for existing in feature_sets(new.corpus) if existing.name == new.name][-1:]
        if newest and newest[0].digest == digest and _declared_alike(newest[0].origin, new.origin):
            shutil.rmtree(part)
            return newest[0], False
        manifest = {
            "format": _FORMAT,
            "version": _VERSION,
            "corpus": new.corpus,
            "name": new.name,
            "number": max(_last_number(home), newest[0].version if newest else 0) + 1,
            "kind": new.kind,
            "rows": len(new.ids),
            "dimensions": new.dimensions,
            "dtype": new.dtype,
            "digest": digest,
            "origin": specification["origin"],
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        (part / _WRITTEN).unlink()
        if new.learned is not None:
            np.save(part / _LEARNED, new.learned)
        _write(part / _MANIFEST, manifest)
        home.mkdir(parents=True, exist_ok=True)
        part.rename(home / str(manifest["number"]))
        return _read(home / str(manifest["number"])), True


def _declared_alike(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    return all(first.get(key, "") == second.get(key, "") for key in DECLARED)


def digest_of_pictures(pictures: Iterable[Path]) -> str:
    """Return the SHA-256 of the names of stored pictures, which are digests of their content."""
    return hashlib.sha256("\n".join(picture.name for picture in pictures).encode()).hexdigest()


def remove_set(stored: FeatureSet) -> None:
    """Remove a set; processes that have mapped it can still read it. Its version number is never reused,
    since what was made from it refers to it by that. Raises UnknownName if somebody else has removed it,
    and Busy."""
    with work_lock(f"features.{stored.corpus}.{stored.name}", "feature set", stored.name):
        if not stored.folder.is_dir():
            raise UnknownName(f"feature set {stored.label!r} of corpus {stored.corpus!r} is removed already")
        home = stored.folder.parent
        _write(_last(home), max(_last_number(home), stored.version))
        gone = stored.folder.with_name(f".{stored.version}.gone")
        stored.folder.rename(gone)
        shutil.rmtree(gone)
        with suppress(OSError):
            stored.folder.parent.rmdir()


def remove_unfinished_sets(corpus: str) -> None:
    """Remove the half written and half removed folders of a corpus's sets; raises Busy while one of them is
    being written."""
    for part in unfinished_sets(corpus):
        with work_lock(f"features.{corpus}.{name_of_unfinished(part)}", "feature set", part.name):
            shutil.rmtree(part, ignore_errors=True)


def unfinished_sets(corpus: str | None = None) -> list[Path]:
    """Return the folders of sets, of a corpus or of all, whose writing or removal is running or was
    interrupted."""
    of = corpus or "*"
    return sorted([*_root().glob(f"{of}/.*.part"), *_root().glob(f"{of}/*/.*.gone")])


def name_of_unfinished(folder: Path) -> str:
    """Return the name of the set to which such a folder belongs."""
    return folder.parent.name if folder.suffix == ".gone" else folder.name[1:].removesuffix(".part")


def _last(home: Path) -> Path:
    return home.with_name(f".{home.name}.last")


def _last_number(home: Path) -> int:
    """Return the highest version number of a removed set of this name; 0 for none."""
    return int(json.loads(_last(home).read_text())) if _last(home).is_file() else 0


def _fill(
    part: Path, specification: Mapping[str, Any], new: NewSet, blocks: Blocks, progress: PhaseProgress
) -> None:
    """Write the rows, continuing an earlier attempt with the same specification."""
    before = json.loads((part / _WRITTEN).read_text()) if (part / _WRITTEN).is_file() else {}
    if before.get("specification") != specification:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        before = {"rows": 0}
        try:
            _reserve(part / _VECTORS, new)
            _write(part / _IDS, list(new.ids))
            if new.boxes is not None:
                np.save(part / _BOXES, np.asarray(new.boxes, np.float32))
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
    total, done = len(new.ids), int(before["rows"])
    vectors = np.load(part / _VECTORS, mmap_mode="r+", allow_pickle=False)
    for block in blocks(done):
        progress("writing features", done, total)
        with np.errstate(over="ignore"):
            rows = np.asarray(block).astype(new.dtype)
        if not np.isfinite(rows).all():
            row, column = (int(n) for n in np.argwhere(~np.isfinite(rows))[0])
            known = "is not finite" if not np.isfinite(block[row, column]) else f"does not fit {new.dtype}"
            shutil.rmtree(part, ignore_errors=True)
            raise InputError(
                f"feature {column} of {new.ids[done + row]!r} {known}; correct it, or leave the item out"
            )
        vectors[done : done + len(rows)] = rows
        vectors.flush()
        done += len(rows)
        _write(part / _WRITTEN, {"specification": specification, "rows": done})
    if done != total:
        shutil.rmtree(part, ignore_errors=True)
        raise InputError(f"feature set {new.name!r} has {total} ids and {done} rows; expected as many")
    progress("writing features", total, total)


def _reserve(file: Path, new: NewSet) -> None:
    """Create the file of all rows and allocate its blocks on disk: a memory-mapped file cannot report a full
    disk."""
    with file.open("wb") as out:
        kind = npy.dtype_to_descr(np.dtype(new.dtype))
        shape = (len(new.ids), new.dimensions)
        npy.write_array_header_1_0(out, {"descr": kind, "fortran_order": False, "shape": shape})
        out.flush()
        size = out.tell() + shape[0] * shape[1] * np.dtype(new.dtype).itemsize
        os.posix_fallocate(out.fileno(), 0, size)


def _digest(part: Path, new: NewSet) -> str:
    """Return the SHA-256 of kind, type, ids, numbers and boxes."""
    digest = hashlib.sha256(json.dumps([new.kind, new.dtype, new.dimensions, list(new.ids)]).encode())
    with (part / _VECTORS).open("rb") as stream:
        while chunk := stream.read(2**22):
            digest.update(chunk)
    if new.boxes is not None:
        digest.update(_digest_of_boxes(new.boxes).encode())
    return digest.hexdigest()


def _digest_of_boxes(boxes: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(boxes, np.float32).data).hexdigest()


def _write(file: Path, value: Any) -> None:
    """Write the file atomically."""
    scratch = file.with_name(f".{file.name}")
    with scratch.open("w", encoding="utf-8") as out:
        json.dump(value, out, ensure_ascii=False)
        out.flush()
        os.fsync(out.fileno())
    scratch.rename(file)


def _read(folder: Path) -> FeatureSet:
    manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    if manifest.get("format") != _FORMAT or manifest["version"] != _VERSION:
        raise ValueError(f"{folder} contains no feature set that this version reads")
    return FeatureSet(
        corpus=manifest["corpus"],
        name=manifest["name"],
        version=manifest["number"],
        kind=manifest["kind"],
        rows=manifest["rows"],
        dimensions=manifest["dimensions"],
        dtype=manifest["dtype"],
        digest=manifest["digest"],
        origin=manifest["origin"],
        created_at=datetime.fromisoformat(manifest["created_at"]),
        folder=folder,
    )


def _root() -> Path:
    return Path(settings.DATA_DIR) / "features"
