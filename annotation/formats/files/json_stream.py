"""Read large JSON documents item by item, with the positions of errors."""

import codecs
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import ijson  # type: ignore[import-untyped]

from phrasebox.text_files import BOM, FormatError, open_bytes

_CHUNK = 64 * 1024
#: Maximum nesting of lists and objects; a corpus needs five levels.
_DEEPEST = 100

_PARSING: dict[str, Any] = {"use_float": True, "buf_size": _CHUNK}
#: The fast parser's error for a number beyond 64 bits.
_OVERFLOW = "integer overflow"

_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_NEITHER = bytes(byte for byte in range(256) if byte not in b'[]{}"')


class _Nesting:
    """Counts open brackets in passing JSON, except those in strings.

    The parser stores the path to every open list: deep nesting would fill the memory.
    """

    def __init__(self) -> None:
        self.depth = 0
        self._in_string = False
        self._escaped = False

    def too_deep(self, data: bytes) -> bool:
        """Whether a bracket in `data`, which follows the earlier data, is nested too deeply."""
        if self._escaped:
            data = b"." + data[1:]
        stripped = _ESCAPE.sub(b"", data)
        self._escaped = stripped.endswith(b"\\")
        parts = stripped.translate(None, delete=_NEITHER).split(b'"')
        brackets = b"".join(parts[self._in_string :: 2])
        self._in_string ^= len(parts) % 2 == 0
        opening = brackets.count(b"[") + brackets.count(b"{")
        if self.depth + opening > _DEEPEST:
            depth = self.depth
            for bracket in brackets:
                depth += 1 if bracket in b"[{" else -1
                if depth > _DEEPEST:
                    return True
        self.depth += 2 * opening - len(brackets)
        return False


class _Source:
    """A file without its byte order mark, read in chunks; from `slow_from` on, byte by byte."""

    def __init__(self, path: Path, stream: BinaryIO, slow_from: int | None = None) -> None:
        self.path = path
        self.stream = stream
        self.slow_from = slow_from
        self._nesting = _Nesting()
        if stream.read(len(BOM)) != BOM:
            stream.seek(0)
        self.chunk_start = self.offset = stream.tell()

    def read(self, size: int = _CHUNK) -> bytes:
        if self.slow_from is not None:
            size = min(size, max(self.slow_from - self.offset, 1)) if size else 0
        data = self.stream.read(size)
        if data:
            self.chunk_start = self.offset
            self.offset += len(data)
            if self._nesting.too_deep(data):
                raise FormatError(
                    f"is nested more than {_DEEPEST} deep",
                    file=self.path,
                    line=_line_of(self.path, self.chunk_start),
                    expected="a corpus",
                )
        return data


def items(path: Path, prefix: str) -> Iterator[Any]:
    """Yield each value at `prefix` ("images.item") of the JSON in `path`.

    Raises FormatError with line and byte of invalid JSON.
    """
    yield from _of_any_size(path, lambda backend, source: backend.items(source, prefix, **_PARSING))


def members(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield key and value of each member of the object in `path`, including repeated keys."""
    yield from _of_any_size(path, lambda backend, source: backend.kvitems(source, "", **_PARSING))


def has_list(path: Path, key: str) -> bool:
    """Whether the object in `path` has a list under `key`; reads only up to it."""
    events = _parsed(path, lambda source: ijson.parse(source, use_float=True, buf_size=_CHUNK))
    return any(prefix == key and event == "start_array" for prefix, event, _ in events)


def _of_any_size(path: Path, parse: Callable[[Any, _Source], Iterator[Any]]) -> Iterator[Any]:
    """Yield the values; numbers beyond 64 bits, at which the fast parser stops, are read by the slow one."""
    number = 0
    try:
        for value in _parsed(path, lambda source: parse(ijson, source)):
            yield value
            number += 1
    except FormatError as error:
        if _OVERFLOW not in str(error.__cause__):
            raise
        slow = ijson.get_backend("python")
        yield from islice(_parsed(path, lambda source: parse(slow, source)), number, None)


def _parsed(path: Path, parse: Callable[[_Source], Iterator[Any]]) -> Iterator[Any]:
    with open_bytes(path) as stream:
        source = _Source(path, stream)
        try:
            yield from parse(source)
        except (ijson.JSONError, UnicodeDecodeError) as error:
            raise _located(path, source.chunk_start, error) from error
        except ValueError as error:
            if isinstance(error, FormatError):
                raise
            line = _line_of(path, source.chunk_start + 1)
            raise FormatError(
                "has a number of too many digits", file=path, line=line, expected="numbers of 64 bits"
            ) from error


def _located(path: Path, chunk: int, error: Exception) -> FormatError:
    """Return the error with its position.

    The parser only knows the chunk in which it stopped, so that chunk is parsed again byte by byte. It stops
    at the end of an invalid token.
    """
    if "utf" in str(error).lower():
        stop = _first_bad_byte(path)
        return FormatError(
            f"byte {stop} is not UTF-8", file=path, line=_line_of(path, stop + 1), expected="UTF-8 text"
        )
    with open_bytes(path) as stream:
        source = _Source(path, stream, slow_from=chunk)
        try:
            for _ in ijson.basic_parse(source, use_float=True, buf_size=_CHUNK):
                pass
        except (ijson.JSONError, UnicodeDecodeError):
            pass
        stop = source.offset
    reason = str(error).split("\n")[0].split(": ", 1)[-1]
    line = _line_of(path, stop)
    if "premature" in reason or "incomplete" in reason.lower():
        return FormatError(
            f"the JSON ends in the middle, after byte {stop}", file=path, line=line, expected="the whole file"
        )
    return FormatError(
        f"is not JSON at byte {stop - 1} ({reason})", file=path, line=line, expected="valid JSON"
    )


def _first_bad_byte(path: Path) -> int:
    """Return the offset of the first byte of `path` that is not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    done = 0
    with open_bytes(path) as stream:
        while data := stream.read(_CHUNK):
            waiting = len(decoder.getstate()[0])
            try:
                decoder.decode(data)
            except UnicodeDecodeError as error:
                return done - waiting + error.start
            done += len(data)
    return done - len(decoder.getstate()[0])


def _line_of(path: Path, offset: int) -> int:
    """Return the line (from 1) of the byte before `offset`."""
    line, left = 1, max(offset - 1, 0)
    with open_bytes(path) as stream:
        while data := stream.read(min(left, _CHUNK)):
            line += data.count(b"\n")
            left -= len(data)
    return line
