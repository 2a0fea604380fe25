"""Memory-mapped arrays in files: npy, npz, safetensors. Nothing is unpickled.

`open_arrays` returns arrays by name (the one array of a .npy file is named ""), and texts by name
(safetensors metadata). Large arrays stay on disk: those of .npy and .safetensors files, and uncompressed ones
of an .npz file, are mapped in place; compressed ones are unpacked once into an unnamed temporary file and
mapped there.
"""

import json
import math
import os
import shutil
import struct
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from phrasebox.balance import FILE_ARRAYS, current_tally
from phrasebox.text_files import FormatError, open_bytes, short_repr

FileArray = NDArray[Any]

#: The number types of safetensors that NumPy has.
_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
#: The maximum length of a safetensors header in the format's own library.
_LONGEST_HEADER = 100_000_000
_CHUNK = 2**20
#: The maximum number of arrays in a file, and of dimensions.
_MOST_ARRAYS, _MOST_DIMENSIONS = 100, 8

SUFFIXES = (".npy", ".npz", ".safetensors")


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """The content of a file; arrays may be memory-mapped, and must not be written to."""

    file: Path
    arrays: Mapping[str, FileArray]
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor's entry in a safetensors header; offsets are counted from the header's end."""

    kind: str
    shape: tuple[int, ...]
    start: int
    stop: int


def open_arrays(path: Path | str) -> ArrayFile:
    """Open a file by its suffix; raises FormatError for a damaged or pickled file, or one of another kind."""
    held = _opened(Path(path))
    current_tally().find_parts(FILE_ARRAYS, str(path), filter(None, held.arrays))
    return held


def note_arrays(file: Path | str, *names: str, reason: str = "") -> None:
    """Count those of these arrays that a file has as read, or as left for `reason`."""
    current_tally().settle_parts(FILE_ARRAYS, str(file), names, reason)


def _opened(path: Path) -> ArrayFile:
    with open_bytes(path) as file:
        match path.suffix.lower():
            case ".npy":
                return ArrayFile(path, {"": _mapped_npy(file, 0, path.stat().st_size, path, "the array")})
            case ".npz":
                return ArrayFile(path, _npz(file, path))
            case ".safetensors":
                return _safetensors(file, path)
            case suffix:
                raise FormatError(f"ends in {short_repr(suffix)}", file=path, expected=" or ".join(SUFFIXES))


def _mapped_npy(file: IO[bytes], start: int, size: int, path: Path, name: str) -> FileArray:
    """Return the array whose npy header begins at `start` of `file` and which ends `size` bytes later."""
    file.seek(start)
    try:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"npy version {version}")
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, columns_first, kind = read(file)
        if min(shape, default=0) < 0:
            raise ValueError(f"shape {shape}")
    except (ValueError, TypeError, SyntaxError, tokenize.TokenError, EOFError, struct.error) as error:
        raise FormatError(
            f"{name} has no readable npy header ({_short(error)})",
            file=path,
            expected="an array as NumPy saves it",
        ) from error
    if kind.hasobject:
        raise FormatError(
            f"{name} contains pickled objects, which could run code",
            file=path,
            expected="numbers, and ids as an array of text or a text file",
        )
    return _mapped(file, kind, shape, start + size, path, name, columns_first)


def _mapped(
    file: IO[bytes],
    kind: np.dtype[Any],
    shape: tuple[int, ...],
    end: int,
    path: Path,
    name: str,
    columns_first: bool = False,
) -> FileArray:
    """Return the array that begins at the position of `file`, and must end before `end`."""
    if not kind.itemsize:
        raise FormatError(
            f"{name} is of {kind}, whose entries are empty",
            file=path,
            expected="numbers, or texts of a letter or more",
        )
    if len(shape) > _MOST_DIMENSIONS:
        raise FormatError(
            f"{name} has {len(shape)} dimensions", file=path, expected=f"{_MOST_DIMENSIONS} at most"
        )
    begin = file.tell()
    size = math.prod(shape) * kind.itemsize
    if begin + size > end:
        raise FormatError(
            f"{name} has shape {shape} of {kind}, {size} bytes, but {end - begin} are there",
            file=path,
            expected="a complete file",
        )
    order = "F" if columns_first else "C"
    if not size:
        return np.empty(shape, dtype=kind)
    return np.memmap(file, dtype=kind, mode="r", offset=begin, shape=shape, order=order)  # type: ignore[call-overload]


def _npz(file: IO[bytes], path: Path) -> dict[str, FileArray]:
    arrays: dict[str, FileArray] = {}
    try:
        with zipfile.ZipFile(file) as archive:
            _check_number(len(archive.infolist()), path)
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                if name in arrays:
                    raise FormatError(
                        f"contains {short_repr(name)} twice", file=path, expected="each array once"
                    )
                if name == member.filename:
                    raise FormatError(
                        f"contains {short_repr(name)}", file=path, expected="arrays (.npy) only"
                    )
                arrays[name] = _member(archive, member, file, path, short_repr(name))
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        RuntimeError,
        UnicodeError,
        struct.error,
    ) as error:
        raise FormatError(
            f"is damaged ({_short(error)})", file=path, expected="a complete .npz file"
        ) from error
    return arrays


def _member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, file: IO[bytes], path: Path, name: str
) -> FileArray:
    if member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1:
        # The local header is 30 bytes, the name and an extra field whose length only it contains.
        file.seek(member.header_offset + 26)
        name_length, extra_length = struct.unpack("<HH", file.read(4))
        start = member.header_offset + 30 + name_length + extra_length
        return _mapped_npy(file, start, member.file_size, path, name)
    # A mapping stays after the file is closed, and the disk space is freed with it. Beside the file if
    # possible: temporary folders may be in memory.
    beside = path.parent if os.access(path.parent, os.W_OK) else None
    with tempfile.TemporaryFile(dir=beside) as unpacked:
        with archive.open(member) as packed:
            shutil.copyfileobj(packed, unpacked, _CHUNK)
        unpacked.flush()
        return _mapped_npy(unpacked, 0, unpacked.tell(), path, name)


def _safetensors(file: IO[bytes], path: Path) -> ArrayFile:
    """Read a file of a length (8 bytes), a JSON header of that length, and the tensors' bytes."""
    size = path.stat().st_size
    head = file.read(8)
    length = int.from_bytes(head, "little")
    if len(head) < 8 or length > min(_LONGEST_HEADER, size - 8):
        raise FormatError("has no readable header", file=path, expected="a complete safetensors file")
    try:
        header = json.loads(file.read(length))
        texts = {str(k): str(v) for k, v in header.pop("__metadata__", {}).items()}
        _check_number(len(header), path)
        tensors = {str(name): _tensor(described) for name, described in header.items()}
    except FormatError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(
            f"has a header that cannot be read ({_short(error)})", file=path, expected="a safetensors header"
        ) from error
    arrays = {}
    for name, tensor in tensors.items():
        if tensor.kind not in _TYPES:
            raise FormatError(
                f"{short_repr(name)} is of type {tensor.kind}",
                file=path,
                expected="F64, F32, F16 or whole numbers",
            )
        file.seek(8 + length + tensor.start)
        end = min(8 + length + tensor.stop, size)
        arrays[name] = _mapped(file, np.dtype(_TYPES[tensor.kind]), tensor.shape, end, path, short_repr(name))
    return ArrayFile(path, arrays, texts)


def _check_number(arrays: int, path: Path) -> None:
    if arrays > _MOST_ARRAYS:
        raise FormatError(f"contains {arrays} arrays", file=path, expected=f"{_MOST_ARRAYS} at most")


def _tensor(described: Mapping[str, Any]) -> _Tensor:
    (start, stop), shape = described["data_offsets"], tuple(described["shape"])
    if len(shape) > _MOST_DIMENSIONS:
        raise ValueError(f"{len(shape)} dimensions, and {_MOST_DIMENSIONS} at most are read")
    if any(type(number) is not int for number in (start, stop, *shape)):  # in Python, True is an int
        raise ValueError(f"shape {short_repr(shape)} at {short_repr(start)} to {short_repr(stop)}")
    if not 0 <= start <= stop or min(shape, default=0) < 0:
        raise ValueError(f"shape {shape} at {start} to {stop}")
    return _Tensor(str(described["dtype"]), shape, start, stop)


def _short(error: BaseException) -> str:
    """Return the first line of another library's error, shortened."""
    return (str(error).splitlines() or [type(error).__name__])[0][:80]
