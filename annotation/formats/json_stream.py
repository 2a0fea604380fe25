"""Large JSON documents item by item, and errors that say where."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import ijson  # type: ignore[import-untyped]

from annotation.formats.base import FormatError
from annotation.formats.text import BOM, open_bytes, shown

_CHUNK = 64 * 1024
_REQUIRED: Any = object()


class _Source:
    """A file without its byte order mark, handed out in chunks; from `slow_from` on, byte by byte."""

    def __init__(self, stream: BinaryIO, slow_from: int | None = None) -> None:
        self.stream = stream
        self.slow_from = slow_from
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
        return data


def items(path: Path, prefix: str) -> Iterator[Any]:
    """Each value at `prefix` ("images.item") of the JSON in `path`.

    Raises FormatError with line and byte where the text stops being JSON.
    """
    yield from _parsed(path, lambda source: ijson.items(source, prefix, use_float=True, buf_size=_CHUNK))


def members(path: Path) -> Iterator[tuple[str, Any]]:
    """Key and value of each member of the object that `path` holds, repeated keys included."""
    yield from _parsed(path, lambda source: ijson.kvitems(source, "", use_float=True, buf_size=_CHUNK))


def has_list(path: Path, key: str) -> bool:
    """Whether the object in `path` has a list under `key`; reads until it has met it."""
    events = _parsed(path, lambda source: ijson.parse(source, use_float=True, buf_size=_CHUNK))
    return any(prefix == key and event == "start_array" for prefix, event, _ in events)


def _parsed(path: Path, parse: Callable[[_Source], Iterator[Any]]) -> Iterator[Any]:
    with open_bytes(path) as stream:
        source = _Source(stream)
        try:
            yield from parse(source)
        except (ijson.JSONError, UnicodeDecodeError) as error:
            raise _located(path, source.chunk_start, error) from error


def _located(path: Path, chunk: int, error: Exception) -> FormatError:
    """The error with its place.

    The parser knows only in which chunk it stopped, so that chunk is parsed again byte by
    byte. It stops at the end of an offending token.
    """
    if "utf" in str(error).lower():
        stop = _first_bad_byte(path)
        return FormatError(
            f"byte {stop} is not UTF-8", file=path, line=_line_of(path, stop + 1), expected="UTF-8 text"
        )
    with open_bytes(path) as stream:
        source = _Source(stream, slow_from=chunk)
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
    """Offset of the first byte of `path` that is not UTF-8."""
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
    """The line (from 1) in which the byte before `offset` stands."""
    line, left = 1, max(offset - 1, 0)
    with open_bytes(path) as stream:
        while data := stream.read(min(left, _CHUNK)):
            line += data.count(b"\n")
            left -= len(data)
    return line


class Fields:
    """One JSON object, its entries fetched by name and type.

    `what` names the object in messages ("image 12"). A missing entry, or one of another
    type, raises FormatError.
    """

    def __init__(self, value: Any, *, what: str, file: Path, line: int | None = None) -> None:
        self.what = what
        self.file = file
        self.line = line
        if not isinstance(value, dict):
            raise self.refuse(f"is {shown(value)}", "an object")
        self.value = value

    def refuse(self, problem: str, expected: str) -> FormatError:
        return FormatError(f"{self.what}: {problem}", file=self.file, line=self.line, expected=expected)

    def _typed(self, key: str, kind: tuple[type, ...], word: str, default: Any) -> Any:
        if key not in self.value:
            if default is not _REQUIRED:
                return default
            raise self.refuse(f"{key!r} is missing", word)
        # Exact types: to Python, true is a number.
        if type(self.value[key]) not in kind:
            raise self.refuse(f"{key!r} is {shown(self.value[key])}", word)
        return self.value[key]

    def text(self, key: str, default: str = _REQUIRED) -> str:
        return str(self._typed(key, (str,), "a string", default))

    def integer(self, key: str, default: int = _REQUIRED) -> int:
        return int(self._typed(key, (int,), "a whole number", default))

    def flag(self, key: str, default: bool = _REQUIRED) -> bool:
        return bool(self._typed(key, (bool,), "true or false", default))

    def identifier(self, key: str, default: str = _REQUIRED) -> str:
        """A whole number or a string, as a string."""
        return str(self._typed(key, (int, str), "a whole number or a string", default))

    def list(self, key: str, default: list[Any] = _REQUIRED) -> list[Any]:
        found: list[Any] = self._typed(key, (list,), "a list", default)
        return found

    def strings(self, key: str) -> tuple[str, ...]:
        found = self.list(key)
        for entry in found:
            if type(entry) is not str:
                raise self.refuse(f"{key!r} holds {shown(entry)}", "strings only")
        return tuple(found)

    def only(self, *keys: str) -> None:
        """Raise FormatError where the object has an entry of another name."""
        for key in self.value:
            if key not in keys:
                raise self.refuse(f"{shown(key)} is unknown", "only " + ", ".join(keys))
