"""The files of a source folder: pictures, clutter, and files that no reader opened."""

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fnmatch import fnmatch
from pathlib import Path

from annotation.formats.files.archive import is_archive
from phrasebox.balance import BOXES, CLUTTER, COMPANION, NOT_READ, PACKED_INSIDE, SOURCE_FILES, current_tally
from phrasebox.names import PICTURE_EXTENSIONS

#: Names of files and folders that operating systems, tools, publishers and our exports put beside data.
_CLUTTER = re.compile(
    r"\..*|__MACOSX|Thumbs\.db|desktop\.ini|thumb(nail)?s?|.*\.(md|pdf)|datasheet\..*"
    r"|(README|LICEN[CS]E|COPYING|CITATION|NOTICE|CHANGELOG)(\..*)?"
    r"|(SHA256|MD5)SUMS|(sha256|md5)(sums?)?\.txt",
    re.IGNORECASE,
)
_HIDDEN = re.compile(r"(^|/)(\.|__MACOSX)")

#: Text that occurs in a file once for each of its boxes.
_BOX_SIGNS = {".json": b'"bbox"', ".jsonl": b'"bbox"', ".xml": b"<bndbox>"}
_CHUNK = 2**20


_apart: ContextVar[str] = ContextVar("folder that is no part of a source", default="")


@contextmanager
def apart_from(folder: Path | str) -> Iterator[None]:
    """Skip a folder until the context ends: DATA_DIR may be within a source, and does not belong to it."""
    token = _apart.set(os.path.realpath(folder))
    try:
        yield
    finally:
        _apart.reset(token)


def is_clutter(name: str) -> bool:
    """Whether it is the name of a file or folder that tools put beside data."""
    return _CLUTTER.fullmatch(name) is not None


def is_hidden(path: str) -> bool:
    """Whether a file or folder, or one of its parents, is hidden, or left in archives by macOS."""
    return _HIDDEN.search(path) is not None


def is_picture(name: str) -> bool:
    """Whether a file of that name is a picture."""
    return name.lower().endswith(PICTURE_EXTENSIONS)


def walk(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Like `os.walk`, by name, without the folder that does not belong to a source (`apart_from`)."""
    apart = f"{folder}/{os.path.relpath(_apart.get() or '/', os.path.realpath(folder))}"
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if f"{parent}/{name}" != apart)
        yield parent, folders, sorted(files)


def files_below(folder: Path) -> Iterator[tuple[str, bool]]:
    """Yield the path of each file below a folder, by name, and whether it is clutter."""
    for parent, _folders, files in walk(folder):
        cluttered = any(map(is_clutter, Path(parent).relative_to(folder).parts))
        for name in files:
            yield f"{parent}/{name}", cluttered or is_clutter(name)


def pictures_below(folder: Path) -> Iterator[tuple[str, bool]]:
    """Like `files_below`, for pictures that are not hidden."""
    files = ((path, clutter) for path, clutter in files_below(folder) if is_picture(path))
    return ((path, clutter) for path, clutter in files if not clutter or not is_hidden(_below(path, folder)))


def count_files(source: Path, companions: Collection[str] = ()) -> None:
    """Count the files of a folder except its pictures; those that were opened count as taken. `companions`
    are patterns of names of files that other imports read."""
    tally = current_tally()
    opened = tally.opened
    for path, cluttered in files_below(source) if source.is_dir() else ():
        if path in opened:
            tally.count(SOURCE_FILES)
            tally.take(SOURCE_FILES)
        elif cluttered and (not is_picture(path) or is_hidden(_below(path, source))):
            tally.pass_over(SOURCE_FILES, CLUTTER, 1, _below(path, source))
        elif any(fnmatch(os.path.basename(path), pattern) for pattern in companions):
            tally.pass_over(SOURCE_FILES, COMPANION, 1, _below(path, source))
        elif not is_picture(path):
            # A reader that opens files differently has read what it needs.
            reason = PACKED_INSIDE if is_archive(Path(path)) else NOT_READ
            if reason == PACKED_INSIDE or opened:
                tally.pass_over(SOURCE_FILES, reason, 1, _below(path, source))
                tally.pass_over(BOXES, NOT_READ, _boxes_in(path), _below(path, source))


def _boxes_in(path: str) -> int:
    """Return how many boxes an unread file has, by the signs of COCO, VOC and others."""
    sign = _BOX_SIGNS.get(os.path.splitext(path)[1].lower())
    if sign is None:
        return 0
    number, end = 0, b""
    with open(path, "rb") as file:
        while part := file.read(_CHUNK):
            number += (end + part).count(sign) - end.count(sign)
            end = part[-len(sign) + 1 :]
    return number


def _below(path: str, folder: Path) -> str:
    return path[len(f"{folder}/") :]
