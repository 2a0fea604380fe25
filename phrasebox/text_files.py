"""Text files line by line: UTF-8 with or without a byte order mark, LF or CRLF, bounded memory.

What cannot be read is a `FormatError`, as in every reader of files.

A file whose name ends in .gz is unpacked as it is read.
"""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from phrasebox.errors import PhraseboxError

#: What reading a bad .gz raises.
GZIP_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error)
BOM = b"\xef\xbb\xbf"

#: Bytes in a line. The longest real one (an image with its layer as JSON) is far below; without a
#: bound, a file without line breaks would be read whole.
LONGEST_LINE = 16 * 1024 * 1024


class FormatError(PhraseboxError):
    """A source that cannot be read: names the file, the line, what was found and what was expected.

    `str()` is one line, fit to be shown as it is.
    """

    def __init__(
        self, problem: str, *, file: Path | str, line: int | None = None, expected: str = ""
    ) -> None:
        self.problem = problem
        self.file = str(file)
        self.line = line
        self.expected = expected
        #: Whether a source holds no image that is right: that follows from what is wrong with those it has.
        self.no_valid_image = False
        where = self.file if line is None else f"{self.file}, line {line}"
        hint = f"; expected {expected}" if expected else ""
        super().__init__(f"{where}: {problem}{hint}")


def short_repr(value: object, limit: int = 60) -> str:
    """`value` as one short line of a message."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        # Lists nested by the hundred, and numbers of thousands of digits, have no repr.
        return f"a {type(value).__name__} too large to show"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def open_bytes(path: Path | str) -> BinaryIO:
    """`path` opened for reading; a file that cannot be opened is a FormatError."""
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise FormatError(
            f"cannot be opened ({error.strerror})", file=path, expected="a file that can be read"
        ) from error


def open_new(path: Path | str) -> TextIO:
    """A new UTF-8 file with LF line ends; one that stands already is a FormatError."""
    try:
        return Path(path).open("x", encoding="utf-8", newline="\n")
    except FileExistsError as error:
        raise FormatError(
            "already exists", file=path, expected="an empty folder, and each id once"
        ) from error


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write a new file, which takes its place once it is whole; if writing fails, nothing is left.

    Raises FormatError where `path` is there already.
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
    """Number (from 1) and text of each line of `path`, without its end unless `keep_ends`.

    Raises FormatError naming line and byte offset where the file is not UTF-8.
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
    """Bytes that a .gz unpacks to, counted until they are above `most`; 0 where it cannot be unpacked."""
    size = 0
    try:
        with gzip.open(path) as stream:
            while size <= most and (part := stream.read(2**20)):
                size += len(part)
    except (OSError, *GZIP_ERRORS):
        return 0
    return size


def text_size(path: Path, most: int) -> int:
    """Bytes of a file of text; those that a .gz unpacks to, counted until they are above `most`."""
    return unpacked_size(path, most) if path.suffix.lower() == ".gz" else path.stat().st_size


def _lines(stream: BinaryIO, path: Path, *, keep_ends: bool) -> Iterator[tuple[int, str]]:
    offset = 0
    number = 0
    if stream.read(len(BOM)) == BOM:
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
