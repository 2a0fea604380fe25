"""Read text files line by line in bounded memory, and parse the numbers in them.

Files are UTF-8 with or without a byte order mark, or UTF-16 with one; lines end in LF or CRLF. A file whose
name ends in .gz is decompressed while it is read. Unreadable input raises `FormatError`, as in every reader
of files.
"""

import codecs
import gzip
import io
import math
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from phrasebox.balance import current_tally
from phrasebox.errors import PhraseboxError

#: Exceptions that a corrupt .gz raises.
GZIP_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error)
BOM = b"\xef\xbb\xbf"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

#: Maximum number of bytes in a line. The longest real line (an image with its layer as JSON) is far shorter;
#: without a limit, a file without line breaks would be read at once.
LONGEST_LINE = 16 * 1024 * 1024


class FormatError(PhraseboxError):
    """A source that cannot be read: names the file, the line, its content, and what was expected.

    `str()` is one line for display.
    """

    def __init__(
        self, problem: str, *, file: Path | str, line: int | None = None, expected: str = ""
    ) -> None:
        self.problem = problem
        self.file = str(file)
        self.line = line
        self.expected = expected
        #: Whether a source has no valid image: a consequence of the errors of its images.
        self.no_valid_image = False
        #: The picture files of a skipped image.
        self.pictures: tuple[str, ...] = ()
        where = self.file if line is None else f"{self.file}, line {line}"
        hint = f"; expected {expected}" if expected else ""
        super().__init__(f"{where}: {problem}{hint}")


def short_repr(value: object, limit: int = 60) -> str:
    """Return `value` as one short line of a message."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        # Deeply nested lists and numbers of thousands of digits have no repr.
        return f"a {type(value).__name__} too large to show"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def open_bytes(path: Path | str) -> BinaryIO:
    """Open `path` for reading. Raises FormatError if it cannot be opened."""
    current_tally().opened.add(str(path))
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise FormatError(
            f"cannot be opened ({error.strerror})", file=path, expected="a file that can be read"
        ) from error


def open_new(path: Path | str) -> TextIO:
    """Open a new UTF-8 file with LF line ends. Raises FormatError if it exists already."""
    try:
        return Path(path).open("x", encoding="utf-8", newline="\n")
    except FileExistsError as error:
        raise FormatError(
            "already exists", file=path, expected="an empty folder, and each id once"
        ) from error


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path for a new file, which is renamed to `path` when it is complete, and removed on
    failure.

    Raises FormatError if `path` exists.
    """
    if path.exists():
        raise FormatError("already exists", file=path, expected="a new file")
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    try:
        yield part
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)


def lines(path: Path | str, *, keep_ends: bool = False) -> Iterator[tuple[int, str]]:
    """Yield number (from 1) and text of each line of `path`, without its line end unless `keep_ends`.

    Raises FormatError naming line and byte offset if the file is not UTF-8.
    """
    path = Path(path)
    try:
        with open_bytes(path) as stream:
            text = cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if path.suffix.lower() == ".gz" else stream
            yield from _lines(text, path, keep_ends=keep_ends)
    except GZIP_ERRORS as error:
        raise FormatError(
            f"cannot be unpacked ({error})", file=path, expected="a whole file packed by gzip"
        ) from error


def unpacked_size(path: Path, most: int) -> int:
    """Return the decompressed size of a .gz in bytes, counted until it exceeds `most`; 0 if it is corrupt."""
    size = 0
    try:
        with gzip.open(path) as stream:
            while size <= most and (part := stream.read(2**20)):
                size += len(part)
    except (OSError, *GZIP_ERRORS):
        return 0
    return size


def text_size(path: Path, most: int) -> int:
    """Return the size of a text file in bytes; of a .gz the decompressed size, counted until it exceeds
    `most`."""
    return unpacked_size(path, most) if path.suffix.lower() == ".gz" else path.stat().st_size


_WHOLE = re.compile(r"([+-]?[0-9]+)(?:\.0*)?")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LONGEST_NUMBER = 400


def whole_number(text: str) -> int | None:
    """Return the whole number that a text is, `7` or `7.0`; None for any other, including `1_000` and digits
    of other scripts."""
    match = _WHOLE.fullmatch(text.strip()) if len(text) <= _LONGEST_NUMBER else None
    return int(match[1]) if match else None


def decimal_number(text: str) -> float | None:
    """Return the finite number that a text is, `7`, `-0.5` or `1e-3`; None for any other, including `1_000`
    and digits of other scripts."""
    match = _DECIMAL.fullmatch(text.strip()) if len(text) <= _LONGEST_NUMBER else None
    number = float(match[0]) if match else math.nan
    return number if math.isfinite(number) else None


def finite_number(value: object, *, typed: bool = False) -> float | None:
    """Return a number of JSON, or where it is `typed` the one that a text is, as a float; None for anything
    else, and for numbers that are not finite."""
    if typed:
        return decimal_number(value) if isinstance(value, str) else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _lines(stream: BinaryIO, path: Path, *, keep_ends: bool) -> Iterator[tuple[int, str]]:
    offset = 0
    number = 0
    head = stream.read(len(BOM))
    if head.startswith(_UTF_16):
        stream.seek(0)
        yield from _wide_lines(stream, path, keep_ends=keep_ends)
        return
    if head == BOM:
        offset = len(BOM)
    else:
        stream.seek(0)
    while raw := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(raw) > LONGEST_LINE:
            raise FormatError(
                f"is longer than {LONGEST_LINE} bytes", file=path, line=number, expected="shorter lines"
            )
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(
                f"byte {offset + error.start} (0x{raw[error.start]:02x}) is not UTF-8",
                file=path,
                line=number,
                expected="UTF-8 text",
            ) from error
        offset += len(raw)
        if number == 1 and not keep_ends and not raw.endswith(b"\n") and b"\r" in raw.rstrip(b"\r"):
            raise FormatError(
                "ends in CR alone, as all lines of the file do",
                file=path,
                line=1,
                expected="lines that end in LF or CRLF",
            )
        if not keep_ends:
            line = line.removesuffix("\n").removesuffix("\r")
        yield number, line


def _wide_lines(stream: BinaryIO, path: Path, *, keep_ends: bool) -> Iterator[tuple[int, str]]:
    """Like `_lines`, for UTF-16."""
    number = 0
    text = io.TextIOWrapper(stream, "utf-16", newline="")
    try:
        while line := text.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise FormatError(
                    f"is longer than {LONGEST_LINE} characters",
                    file=path,
                    line=number,
                    expected="shorter lines",
                )
            yield number, line if keep_ends else line.removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise FormatError(
            "is not UTF-16, as its byte order mark says",
            file=path,
            line=number + 1,
            expected="UTF-16 or UTF-8",
        ) from error
    finally:
        text.detach()
