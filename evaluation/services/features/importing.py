"""Importing a file of features as a feature set; ids are compared with the corpus in both directions."""

import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from annotation.common.operations import check_used
from annotation.common.readers import stream
from annotation.selectors.corpora import corpus_named, note_turned
from evaluation.comparison.provenance import UNDECLARED, Declaration
from evaluation.formats.feature_files import DescribedItems, block_rows
from evaluation.formats.sent_files import SentIds, read_feature_rows, read_features
from evaluation.selectors import image_sizes, names_of, words_of
from evaluation.services.common import InputError, check_file
from evaluation.services.features.store import (
    FEATURE_KINDS,
    NETWORK,
    NUMBER_TYPES,
    TRAINED_ON,
    FeatureKind,
    FeatureSet,
    NewSet,
    write_set,
)
from evaluation.services.weak.collections import weak_collections
from models_core.phase_cache import PhaseProgress, no_progress
from models_core.storage import file_digest
from phrasebox.balance import EXAMPLES, NOT_NEEDED, OUTSIDE, UNKNOWN, VECTORS, current_tally
from phrasebox.names import ANY
from phrasebox.text_files import short_repr

#: How many ids, and columns, a remark lists.
NAMED = 3
_ITEMS: dict[FeatureKind, DescribedItems] = {
    "image": "images",
    "caption": "captions",
    "region": "regions",
    "word": "words",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureImport:
    """A file of vectors for a corpus or a weak collection. `ids` lists the items of its rows, if the file
    does not; `dtype` is the number type of the stored set.

    `named_by` are the name spaces of images in the file. `network` is the network that computed the vectors,
    in the user's words: sets of one network have the same. `declared` says what that network was trained on.
    """

    corpus: str
    name: str
    path: Path
    kind: FeatureKind = "image"
    ids: Path | None = None
    dtype: str = "float32"
    source: str = ""
    network: str = ""
    named_by: tuple[str, ...] = ANY
    leave_unused: bool = True
    declared: Declaration = UNDECLARED


@dataclass(frozen=True, slots=True)
class ImportedFeatures:
    """The set, whether it existed already, and remarks on it, a sentence each."""

    set: FeatureSet
    unchanged: bool
    remarks: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for reports."""
        return {**self.set.as_dict(), "unchanged": self.unchanged, "remarks": self.remarks}


def import_features(request: FeatureImport, *, progress: PhaseProgress = no_progress) -> ImportedFeatures:
    """Write a feature set from a file, a block at a time; an interrupted import continues where it stopped.

    Rows of items that the corpus lacks are skipped if `leave_unused` is set. Boxes of regions are clipped to
    their picture, and regions wholly outside are skipped with their vectors; all of these are counted.

    Raises Invalid, UnknownName, FormatError, InputError for ids that occur twice or belong to none of the
    corpus's items, and for numbers that are not finite, OSError and Busy.
    """
    if request.kind not in FEATURE_KINDS:
        raise InputError(f"kind {request.kind!r}: expected one of {', '.join(FEATURE_KINDS)}")
    if request.dtype not in NUMBER_TYPES:
        raise InputError(f"type {request.dtype!r}: expected {' or '.join(NUMBER_TYPES)}")
    check_file(request.path, "a file of features")
    learned = request.declared.images()
    understood, called = _items(request)
    file = _read(request)
    rows, ids, remarks = _matched(file.ids, understood, called, request)
    boxes = None
    if file.boxes is not None:
        boxes, within, of_boxes = _clipped(file.boxes[rows], ids, request)
        rows, ids = rows[within], [ids[index] for index in within]
        remarks += of_boxes
    tally = current_tally()
    tally.take(VECTORS, len(rows))
    if boxes is not None:
        by_name = names_of(request.corpus).image
        note_turned(corpus_named(request.corpus), {by_name[name] for name in ids})
    check_used(tally.sheet(), leave_unused=request.leave_unused)
    origin = {
        "file": request.source or request.path.name,
        "sha256": file_digest(request.path),
        "excluded": len(file.ids) - len(rows),
        "missing": len(called) - len(set(ids)),
        **({NETWORK: request.network} if request.network else {}),
        **({TRAINED_ON: request.declared.trained_on} if request.declared.trained_on else {}),
    }
    new = NewSet(
        corpus=request.corpus,
        name=request.name,
        kind=request.kind,
        ids=ids,
        dimensions=file.dimensions,
        dtype=request.dtype,
        origin=origin,
        boxes=boxes,
        learned=learned,
    )
    stored, created = write_set(new, lambda done: _chosen(file, rows, done), progress=progress)
    return ImportedFeatures(stored, not created, [*remarks, *_constant_columns(stored.vectors())])


@dataclass(frozen=True, slots=True)
class _FeatureFile:
    """The item of each row of a file, the number of dimensions, and the boxes of regions."""

    request: FeatureImport
    ids: tuple[str, ...]
    dimensions: int
    boxes: NDArray[Any] | None

    def blocks(self, start: int = 0) -> Iterator[NDArray[Any]]:
        """Yield the rows from `start` on, in blocks."""
        request = self.request
        most = block_rows(self.dimensions)
        return stream(read_feature_rows, request.path, _ITEMS[request.kind], request.ids, start, most)


def _read(request: FeatureImport) -> _FeatureFile:
    parts = stream(read_features, request.path, _ITEMS[request.kind], request.ids)
    _, dimensions = cast(tuple[int, int], next(parts))
    ids: list[str] = []
    boxes: list[NDArray[Any]] = []
    for part in parts:
        if isinstance(part, SentIds):
            ids += part.ids
        else:
            boxes.append(cast(NDArray[Any], part))
    no_boxes = np.empty((0, 4)) if request.kind == "region" else None
    return _FeatureFile(request, tuple(ids), dimensions, np.concatenate(boxes) if boxes else no_boxes)


def _items(request: FeatureImport) -> tuple[Mapping[str, int | None], dict[int, str]]:
    """Return a mapping from every accepted name to an item, and the name of each item: of a corpus or a weak
    collection."""
    known = {collection.name: collection for collection in weak_collections()}
    if request.corpus in known:
        if request.kind != "image":
            raise InputError(f"{request.corpus!r} is a weak collection; give features of images")
        ids = known[request.corpus].ids()
        return {name: index for index, name in enumerate(ids)}, dict(enumerate(ids))
    if request.kind == "word":
        words = words_of(request.corpus)
        return {word: index for index, word in enumerate(words)}, dict(enumerate(words))
    names = names_of(request.corpus)
    if request.kind in ("image", "region"):
        return names.images_in(request.path, request.named_by), names.image_name
    return names.captions_in(request.path, request.named_by), names.caption_name


def _matched(
    names: Sequence[str],
    understood: Mapping[str, int | None],
    called: dict[int, str],
    request: FeatureImport,
) -> tuple[NDArray[np.intp], list[str], list[str]]:
    """Return the positions of the rows to store, their names, and remarks on the others."""
    # Many regions belong to one image, and their id is its name.
    item = "images" if request.kind == "region" else _ITEMS[request.kind]
    once = request.kind != "region"
    twice = [file_id for file_id, times in Counter(names).items() if times > 1 and once]
    if twice:
        raise InputError(f"{request.path}: {count_ids(twice)} come more than once; expected each id once")
    keys = [understood.get(file_id) for file_id in names]
    known = [key for key in keys if key is not None]
    again = {key for key, times in Counter(known).items() if times > 1 and once}
    if again:
        same = [file_id for file_id, key in zip(names, keys, strict=True) if key in again]
        raise InputError(
            f"{request.path}: {count_ids(same)} name {item} that other rows name too; expected one row each"
        )
    if not known:
        raise InputError(
            f"{request.path}: none of its {len(names)} ids is of corpus {request.corpus!r}: "
            f"{count_ids(names)}; the corpus has, for example, {short_repr(next(iter(called.values()), ''))}"
        )
    unknown = [file_id for file_id, key in zip(names, keys, strict=True) if key is None]
    present = set(known)
    missing = [name for key, name in called.items() if key not in present]
    remarks = []
    tally = current_tally()
    tally.count(VECTORS, len(names))
    # Files of word vectors have a whole language.
    reason = NOT_NEEDED if request.kind == "word" else UNKNOWN
    tally.leave(VECTORS, reason, len(unknown), *unknown[:EXAMPLES])
    if missing:
        remarks.append(f"{count_ids(missing)} of the corpus have no features")
    included = [index for index, key in enumerate(keys) if key is not None]
    if not once:
        first = {key: index for index, key in reversed(list(enumerate(keys)))}
        included.sort(key=lambda index: first[keys[index]])  # the regions of an image must be consecutive
    ids = [called[key] for index in included if (key := keys[index]) is not None]
    return np.asarray(included, np.intp), ids, remarks


def _clipped(
    file_boxes: NDArray[Any], ids: Sequence[str], request: FeatureImport
) -> tuple[NDArray[np.float32], NDArray[np.intp], list[str]]:
    """Clip boxes of shape (regions, 4) to their pictures, where their sizes are known, and remove those
    wholly outside; return the boxes, their positions among the regions, and remarks. Vectors stay as they
    are.

    Raises InputError if no box is within its picture.
    """
    sizes = image_sizes(request.corpus)
    most = np.asarray([sizes.get(name, (np.inf, np.inf)) for name in ids], np.float64).reshape(-1, 2)
    boxes = np.asarray(file_boxes, np.float64)
    cut = np.concatenate([np.maximum(boxes[:, :2], 1), np.minimum(boxes[:, 2:], most)], axis=1)
    inside: NDArray[np.bool_] = np.all(cut[:, :2] <= cut[:, 2:], axis=1)
    if not inside.any():
        raise InputError(
            f"{request.path}: all {len(boxes)} boxes lie outside their pictures, first "
            f"{boxes[0].tolist()} of "
            f"{ids[0]!r}; pixels are counted from 1, and both edges are within"
        )
    changed = int((cut != boxes)[inside].any(axis=1).sum())
    outside = [name for name, is_inside in zip(ids, inside, strict=True) if not is_inside]
    remarks = [f"{changed} boxes reached out of their picture and were cut"] if changed else []
    current_tally().leave(VECTORS, OUTSIDE, len(outside), *outside[:EXAMPLES])
    return cut[inside].astype(np.float32), np.flatnonzero(inside), remarks


def count_ids(ids: Collection[str]) -> str:
    """Return the number of ids and the first of them, as text."""
    first = ", ".join(short_repr(name) for _, name in zip(range(NAMED), ids, strict=False))
    more = ", ..." if len(ids) > NAMED else ""
    return f"{len(ids)} ids ({first}{more})"


def _chosen(file: _FeatureFile, rows: NDArray[np.intp], done: int) -> Iterator[NDArray[Any]]:
    """Yield the rows to store, from number `done` on."""
    if done >= len(rows):
        return
    if (np.diff(rows) < 0).any():
        yield from _moved(file, rows, done)
        return
    start = int(rows[done])
    for block in file.blocks(start):
        in_block = rows[(rows >= start) & (rows < start + len(block))]
        if len(in_block):
            yield block[in_block - start]
        start += len(block)


def _moved(file: _FeatureFile, rows: NDArray[np.intp], done: int) -> Iterator[NDArray[Any]]:
    """Yield the same for rows in another order than the file's, which formats do not read: through a copy on
    disk."""
    # In the set's folder, since temporary folders may be in memory.
    with tempfile.TemporaryFile(dir=settings.DATA_DIR) as copy:
        for block in file.blocks():
            dtype = block.dtype
            copy.write(np.ascontiguousarray(block).tobytes())
        copy.flush()
        held = np.memmap(copy, dtype, mode="r", shape=(len(file.ids), file.dimensions))
        step = block_rows(file.dimensions)
        for start in range(done, len(rows), step):
            yield np.asarray(held[rows[start : start + step]])


def _constant_columns(vectors: NDArray[Any], rows: int = 8192) -> list[str]:
    """Return a remark on columns with a constant value; reads a block of rows at a time."""
    least, most = vectors[0].copy(), vectors[0].copy()
    for start in range(0, len(vectors), rows):
        block = vectors[start : start + rows]
        least, most = np.minimum(least, block.min(axis=0)), np.maximum(most, block.max(axis=0))
    constant = np.flatnonzero(least == most).tolist()
    if not constant or len(vectors) == 1:
        return []
    named = ", ".join(map(str, constant[:NAMED])) + (", ..." if len(constant) > NAMED else "")
    return [f"{len(constant)} of {len(least)} columns are constant ({named}): they tell nothing apart"]
