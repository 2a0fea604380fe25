"""Files of features: a vector for each id, read in blocks of rows.

npy, npz and safetensors as for embeddings (`formats.embeddings`); Parquet with a column `id` and a column
`vector` of lists of equal length; HDF5 with datasets `vectors`, shape (ids, numbers), and `ids`. For regions,
the ids are their images, repeated for each region, and `boxes` (in Parquet a column `box`) has four numbers a
row: xmin, ymin, xmax, ymax. Other arrays, columns and datasets are not read. Words may also be in files of
word vectors (`formats.word_vectors`, `formats.fasttext_models`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from evaluation.formats.fasttext_models import FastTextModel, is_fasttext_model
from evaluation.formats.word_vectors import WORD_VECTOR_SUFFIXES, WordVectors
from models_core.extras import load_extra
from phrasebox.balance import CLUTTER, FILE_ARRAYS, TABLE_COLUMNS, current_tally
from phrasebox.formats.arrays import SUFFIXES, note_arrays, open_arrays
from phrasebox.formats.embeddings import EmbeddedSide, read_embeddings
from phrasebox.formats.scores import named_array, note_ids_file
from phrasebox.table_files import ROW_NUMBERS
from phrasebox.text_files import FormatError, open_bytes, short_repr

#: Kinds of items in a file of features.
DescribedItems = Literal["images", "captions", "regions", "words"]
FEATURE_SUFFIXES = (*SUFFIXES, ".parquet", ".h5", ".hdf5")
#: The largest number of rows per block, and of numbers in it.
FEATURE_BLOCK_ROWS, _BLOCK_NUMBERS = 4096, 2**24
#: The maximum length of an id in bytes.
_BYTES_OF_ID = 256
#: The maximum total length of a file's ids in bytes.
_BYTES_OF_IDS = 2**28
#: Longer vectors are rejected as a mistake.
MOST_DIMENSIONS = 2**17


def unpacked_bytes(path: Path) -> int:
    """Return roughly how many bytes of memory a Parquet or HDF5 file takes when read, whatever its
    compression; 0 for other files, and for one that cannot be read."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        pa = load_extra("pyarrow")
        pq = load_extra("pyarrow.parquet")

        try:
            about = pq.ParquetFile(path).metadata
        except (pa.ArrowException, OSError):
            return 0
        packed = sum(about.row_group(number).total_byte_size for number in range(about.num_row_groups))
        return max(packed, about.num_rows * _BYTES_OF_ID)
    if suffix in (".h5", ".hdf5"):
        h5py = load_extra("h5py")

        try:
            with h5py.File(path, "r") as file:
                held = [dataset for dataset in file.values() if isinstance(dataset, h5py.Dataset)]
                texts = [dataset for dataset in held if dataset.dtype.kind not in "fiu"]
                numbers = sum(
                    dataset.size * dataset.dtype.itemsize for dataset in held if dataset.dtype.kind in "fiu"
                )
                return int(numbers + sum(dataset.size * _BYTES_OF_ID for dataset in texts))
        except (OSError, RuntimeError, KeyError):
            return 0
    return 0


class FeatureFile(Protocol):
    """An open file; its rows are in the order of its ids."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The item of each row."""

    @property
    def shape(self) -> tuple[int, int]:
        """(ids, length of a vector)."""

    @property
    def boxes(self) -> NDArray[Any] | None:
        """The edges of regions, shape (ids, 4)."""

    def blocks(self, start: int = 0) -> Iterator[NDArray[Any]]:
        """Yield the rows from `start` on, at most `FEATURE_BLOCK_ROWS` at a time."""


def open_features(path: Path, kind: DescribedItems, ids_file: Path | None = None) -> FeatureFile:
    """Open a file by its suffix; `ids_file` lists the ids of npy, npz and safetensors. Raises FormatError."""
    features = _opened(path, kind, ids_file)
    if kind == "regions":
        _check_boxes(features, path)
    if features.shape[1] > MOST_DIMENSIONS:
        raise FormatError(
            f"has vectors of {features.shape[1]} numbers", file=path, expected=f"{MOST_DIMENSIONS} at most"
        )
    return features


def _opened(path: Path, kind: DescribedItems, ids_file: Path | None) -> FeatureFile:
    suffix, regions = path.suffix.lower(), kind == "regions"
    if ids_file is not None:
        note_ids_file(ids_file)
    if kind == "words" and suffix in WORD_VECTOR_SUFFIXES:
        return FastTextModel(path) if is_fasttext_model(path) else WordVectors(path)
    if suffix in SUFFIXES:
        # The side in a file that has images and captions; regions and words have their own files.
        side: EmbeddedSide = "captions" if kind == "captions" else "images"
        embeddings = read_embeddings(path, side, ids_file, finite=False, once=not regions)
        return _Mapped(embeddings.ids, embeddings.vectors, _boxes_of(path) if regions else None)
    if suffix == ".parquet":
        return _Parquet(path, with_boxes=regions)
    if suffix in (".h5", ".hdf5"):
        return _HDF5(path, with_boxes=regions)
    expected = (*FEATURE_SUFFIXES, *(WORD_VECTOR_SUFFIXES if kind == "words" else ()))
    raise FormatError(f"ends in {short_repr(path.suffix)}", file=path, expected=" or ".join(expected))


def _boxes_of(path: Path) -> NDArray[Any] | None:
    held = open_arrays(path)
    return named_array(held, "boxes") if "boxes" in held.arrays else None


def _check_boxes(file: FeatureFile, path: Path) -> None:
    """Raise FormatError for regions without one box each, with numeric, ordered edges."""
    boxes = file.boxes
    if boxes is None:
        raise FormatError("has no boxes", file=path, expected="boxes, shape (regions, 4)")
    if boxes.shape != (len(file.ids), 4) or boxes.dtype.kind not in "fiu":
        raise FormatError(
            f"boxes have shape {boxes.shape} of {boxes.dtype}, and there are {len(file.ids)} ids",
            file=path,
            expected="numbers of shape (regions, 4)",
        )
    held = np.asarray(boxes, np.float64)
    bad = ~np.isfinite(held).all(axis=1) | (held[:, 2] < held[:, 0]) | (held[:, 3] < held[:, 1])
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise FormatError(
            f"box {row} (counted from 0), of {short_repr(file.ids[row])}, is {held[row].tolist()}",
            file=path,
            expected="xmin, ymin, xmax, ymax with xmin <= xmax and ymin <= ymax",
        )


def block_rows(width: int) -> int:
    """Return how many rows of that length are read at a time."""
    return max(1, min(FEATURE_BLOCK_ROWS, _BLOCK_NUMBERS // max(1, width)))


@dataclass(frozen=True)
class _Mapped:
    ids: tuple[str, ...]
    vectors: NDArray[Any]
    boxes: NDArray[Any] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.vectors.shape[0], self.vectors.shape[1]

    def blocks(self, start: int = 0) -> Iterator[NDArray[Any]]:
        step = block_rows(self.shape[1])
        for first in range(start, len(self.vectors), step):
            yield self.vectors[first : first + step]


class _Parquet:
    def __init__(self, path: Path, *, with_boxes: bool) -> None:
        pa = load_extra("pyarrow")  # a third of a second to import, which few callers need
        pq = load_extra("pyarrow.parquet")

        self.path, self._pa = path, pa
        with open_bytes(path):  # a path that is no file fails as for every other format
            pass
        try:
            self._file = pq.ParquetFile(path)
            names = self._file.schema_arrow.names
            if not {"id", "vector"} <= set(names):
                raise FormatError(
                    f"has the columns {short_repr(', '.join(names))}", file=path, expected="id and vector"
                )
            self._check_types()
            self.ids = _texts(self._id_batches(), path)
        except pa.ArrowException as error:
            raise FormatError(
                f"is damaged ({_line(error)})", file=path, expected="a complete Parquet file"
            ) from error
        first = next(iter(self.blocks()), np.empty((0, 0), np.float32))
        self.shape = (len(self.ids), first.shape[1])
        with_boxes = with_boxes and "box" in names
        self.boxes = self._boxes() if with_boxes else None
        tally, columns = current_tally(), (TABLE_COLUMNS, str(path))
        tally.find_parts(*columns, names)
        tally.settle_parts(*columns, ROW_NUMBERS, CLUTTER)
        tally.settle_parts(*columns, ("id", "vector", *(["box"] if with_boxes else ())))

    def _check_types(self) -> None:
        """Raise FormatError for columns of other types, before anything is read."""
        schema, types = self._file.schema_arrow, self._pa.types
        ids, vectors = (schema.field(name).type for name in ("id", "vector"))
        if types.is_dictionary(ids):
            ids = ids.value_type
        if not (types.is_string(ids) or types.is_large_string(ids) or types.is_integer(ids)):
            raise FormatError(f"has ids of type {ids}", file=self.path, expected="texts or whole numbers")
        if not (
            types.is_list(vectors) or types.is_large_list(vectors) or types.is_fixed_size_list(vectors)
        ) or not (types.is_floating(vectors.value_type) or types.is_integer(vectors.value_type)):
            raise FormatError(f"has vectors of type {vectors}", file=self.path, expected="lists of numbers")

    def _id_batches(self) -> Iterator[list[Any]]:
        for batch in self._file.iter_batches(FEATURE_BLOCK_ROWS, columns=["id"]):
            yield batch.column(0).to_pylist()

    def _boxes(self) -> NDArray[Any]:
        boxes = self._file.read(["box"])["box"].to_pylist()
        if any(
            not isinstance(box, list) or len(box) != 4 or not all(type(edge) in (int, float) for edge in box)
            for box in boxes
        ):
            raise FormatError("has boxes of other than four numbers", file=self.path, expected="four each")
        return np.asarray(boxes, np.float64).reshape(-1, 4)

    def blocks(self, start: int = 0) -> Iterator[NDArray[Any]]:
        row, width = 0, -1
        try:
            for batch in self._file.iter_batches(FEATURE_BLOCK_ROWS, columns=["vector"]):
                column = batch.column(0)
                if column.null_count:
                    empty = int(np.flatnonzero(np.asarray(column.is_null(), bool))[0])
                    raise FormatError(
                        f"has no vector in row {row + empty} (counted from 0)",
                        file=self.path,
                        expected="a vector in each row",
                    )
                lengths = np.diff(np.asarray(column.offsets)) if hasattr(column, "offsets") else None
                values = np.asarray(column.flatten())
                row_width = len(values) // max(1, len(column))
                width = row_width if width < 0 else width
                uneven = lengths is not None and len(lengths) and (lengths != width).any()
                if uneven or row_width != width or len(values) != width * len(column) or not width:
                    raise FormatError(
                        f"has vectors of other lengths than {width} from row {row} on",
                        file=self.path,
                        expected="vectors of one length",
                    )
                rows = values.reshape(len(column), width)
                if row + len(rows) > start:
                    yield rows[max(0, start - row) :]
                row += len(rows)
        except self._pa.ArrowException as error:
            raise FormatError(
                f"is damaged ({_line(error)})", file=self.path, expected="a complete Parquet file"
            ) from error


def _texts(batches: Iterator[list[Any]], path: Path) -> tuple[str, ...]:
    """Return ids as strings; raises FormatError for other values, and for too many bytes to hold in
    memory."""
    ids: list[str] = []
    size = 0
    for batch in batches:
        for value in batch:
            if type(value) not in (str, int):
                raise FormatError(
                    f"has the id {short_repr(value)} in row {len(ids)} (counted from 0)",
                    file=path,
                    expected="a text or a whole number in each row of id",
                )
            ids.append(str(value))
            size += len(ids[-1])
        if size > _BYTES_OF_IDS:
            raise FormatError(
                f"has ids of more than {_BYTES_OF_IDS // 2**20} MiB", file=path, expected="shorter ids"
            )
    return tuple(ids)


class _HDF5:
    def __init__(self, path: Path, *, with_boxes: bool) -> None:
        h5py = load_extra("h5py")  # few callers need it

        self._path = path
        with open_bytes(path):
            pass
        try:
            self._file = h5py.File(path, "r")
        except OSError as error:
            raise FormatError(
                f"is damaged ({_line(error)})", file=path, expected="a complete HDF5 file"
            ) from error
        names = sorted(self._file)
        if not {"ids", "vectors"} <= set(names):
            raise FormatError(
                f"has the datasets {short_repr(', '.join(names))}", file=path, expected="ids and vectors"
            )
        with_boxes = with_boxes and "boxes" in names
        used = ("ids", "vectors", *(["boxes"] if with_boxes else ()))
        for name in used:
            self._check_own(name)
        current_tally().find_parts(FILE_ARRAYS, str(path), names)
        note_arrays(path, *used)
        # Check shapes and types before anything is read.
        self._vectors, ids = self._file["vectors"], self._file["ids"]
        self._check_ids()
        if self._vectors.dtype.kind not in "fiu":
            raise FormatError(f"has vectors of {self._vectors.dtype}", file=path, expected="numbers")
        if self._vectors.ndim != 2 or len(self._vectors) != len(ids):
            raise FormatError(
                f"vectors have shape {self._vectors.shape}, and there are {len(ids)} ids",
                file=path,
                expected="shape (ids, numbers)",
            )
        boxes = self._file["boxes"] if with_boxes else None
        if boxes is not None and (boxes.shape != (len(ids), 4) or boxes.dtype.kind not in "fiu"):
            raise FormatError(
                f"boxes have shape {boxes.shape} of {boxes.dtype}, and there are {len(ids)} ids",
                file=path,
                expected="numbers of shape (regions, 4)",
            )
        self.shape = (len(ids), self._vectors.shape[1])
        try:
            self.ids = _texts(self._id_batches(), path)
        except UnicodeDecodeError as error:
            raise FormatError(f"has ids that are no text ({error})", file=path, expected="UTF-8") from error
        self.boxes = None if boxes is None else np.asarray(boxes)

    def _check_ids(self) -> None:
        h5py = load_extra("h5py")

        ids = self._file["ids"]
        texts = h5py.check_string_dtype(ids.dtype) is not None
        if ids.ndim != 1 or not (texts or ids.dtype.kind in "iu"):
            raise FormatError(
                f"has ids of shape {ids.shape} of {ids.dtype}",
                file=self._path,
                expected="a text or a whole number for each vector",
            )

    def _id_batches(self) -> Iterator[list[Any]]:
        ids = self._file["ids"]
        texts = ids if ids.dtype.kind in "iu" else ids.asstr("utf-8")
        for first in range(0, len(ids), FEATURE_BLOCK_ROWS):
            yield texts[first : first + FEATURE_BLOCK_ROWS].tolist()

    def _check_own(self, name: str) -> None:
        """Raise FormatError for a dataset whose numbers are stored in other files: it could name any file of
        the server."""
        h5py = load_extra("h5py")

        link = self._file.get(name, getlink=True)
        target = self._file[name] if isinstance(link, h5py.HardLink) else None
        if not isinstance(target, h5py.Dataset) or target.is_virtual or target.external:
            raise FormatError(
                f"{name} is no dataset of this file", file=self._path, expected="numbers within the file"
            )

    def blocks(self, start: int = 0) -> Iterator[NDArray[Any]]:
        step = block_rows(self.shape[1])
        for first in range(start, len(self.ids), step):
            yield self._vectors[first : first + step]


def _line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]
