"""Names of images and files: which are safe, which picture a name refers to, and how ids are derived from
names."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from pathlib import Path

from annotation.formats.base import report_problem
from annotation.formats.files.folders import is_clutter, is_hidden, walk
from annotation.protocol.terms import ImageRecord
from phrasebox.balance import NAMES, UNKNOWN, current_tally
from phrasebox.names import FILE, STEM, ImageNames, ImageNaming, base_name, folded, image_id
from phrasebox.text_files import FormatError, lines, short_repr

#: Maximum bytes of a name. File systems stop at 255, and exports add an extension.
_LONGEST_NAME = 240
#: The drive of a Windows path.
_DRIVE = re.compile(r"[A-Za-z]:/")

SAFE_NAME = (
    f"a plain name: printable, without slashes, not beginning with a dot, at most {_LONGEST_NAME} bytes"
)
SAFE_PATH = "a plain name, or a path of such names"


def is_safe_name(name: str) -> bool:
    """Whether `name` can be a file's name in an export without leaving its folder or being hidden.

    It may contain spaces of any kind.
    """
    return (
        bool(name)
        and (name.isprintable() or all(s.isprintable() or unicodedata.category(s) == "Zs" for s in name))
        and "/" not in name
        and "\\" not in name
        and name == name.strip()
        and not name.startswith(".")
        and len(name.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME
    )


def is_safe_path(name: str) -> bool:
    """Whether `name` is a plain name, or a relative path of plain names."""
    return len(name.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME and all(
        map(is_safe_name, name.split("/"))
    )


@lru_cache(maxsize=1024)  # rows of one image are usually adjacent
def path_in_source(filename: str) -> str:
    """Return the file name of a source as a path within the folder of pictures: with slashes, and without the
    path to that folder on another machine."""
    return _DRIVE.sub("", filename.strip().replace("\\", "/")).removeprefix("./").lstrip("/")


class Pictures:
    """The files of a folder of pictures, by the names in a source; none if the folder is None."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._keys: dict[str, str] = {}
        self._last = ("", "")

    def find(self, *names: str) -> Path | None:
        """Return the first of `names` that is a file in the folder: by exact spelling, then by normalized
        spelling, also in subfolders; then without the folders in the name.

        Raises FormatError if two files match. Names that are not plain are skipped.
        """
        if self.folder is None:
            return None
        paths = [path for name in names if is_safe_path(path := path_in_source(name))]
        bases = [base_name(path) for path in paths if "/" in path]
        for spellings in (paths, bases):
            for find_in in (self._spelled, self._looking_alike):
                for path in spellings:
                    if (file := find_in(path)) is not None:
                        return file
        return None

    def key(self, filename: str) -> str:
        """Return a common key of the spellings of one image's name: its picture, or the normalized name."""
        if self.folder is None:
            if filename != self._last[0]:  # rows of one image are usually adjacent
                self._last = filename, folded(path_in_source(filename))
            return self._last[1]
        path = path_in_source(filename)
        if path not in self._keys:
            try:
                file = (self._spelled(path) or self._looking_alike(path)) if is_safe_path(path) else None
            except FormatError:
                file = None
            self._keys[path] = str(file.relative_to(self.folder)) if file else folded(path)
        return self._keys[path]

    def _spelled(self, path: str) -> Path | None:
        return file if self.folder is not None and (file := self.folder / path).is_file() else None

    def _looking_alike(self, path: str) -> Path | None:
        """Return the file whose path ends in `path`; of several, the one that is there exactly, or has this
        spelling."""
        look = f"/{folded(path)}"
        files = [
            file
            for file in self._tree.get(folded(base_name(path)), ())
            if folded(f"/{file.relative_to(self.folder or '')}").endswith(look)
        ]
        files = [file for file in files if file.parent == (self.folder or file) / Path(path).parent] or files
        files = [file for file in files if file.name == base_name(path)] or files
        files = [file for file in files if not is_clutter(file.parent.name)] or files  # without thumbnails
        if len(files) > 1:
            one, other = (short_repr(str(file.relative_to(self.folder or ""))) for file in files[:2])
            ambiguous = FormatError(
                f"{short_repr(path)} may be {one} and {other}",
                file=self.folder or "",
                expected="one picture of that name, or its folder before the name",
            )
            ambiguous.pictures = tuple(map(str, files))
            raise ambiguous
        return files[0] if files else None

    @cached_property
    def _tree(self) -> dict[str, list[Path]]:
        """Return the files below the folder by normalized name, without hidden ones and those that macOS
        leaves."""
        index: dict[str, list[Path]] = {}
        for folder, folders, files in walk(self.folder) if self.folder is not None else ():
            folders[:] = (name for name in folders if not is_hidden(name))
            for name in files:
                if not is_hidden(name):
                    index.setdefault(folded(name), []).append(Path(folder) / name)
        return index


class ImageIds:
    """The ids of images that a source names by files: the name without its extension; if an earlier image has
    it, the name with it, then with its folders."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._looks: dict[str, str] = {}
        self._pictures: dict[Path, str] = {}

    def id_of(self, filename: str, picture: Path | None) -> str:
        """Return the id of the next image. Raises ValueError if it equals, or resembles, an earlier one."""
        look = folded(filename)
        earlier = self._looks.get(look)
        if earlier is not None and (picture is None or earlier not in self._pictures.values()):
            raise ValueError(_again(filename, earlier))
        if picture in self._pictures:
            raise ValueError(_again(filename, self._pictures[picture]))
        id = self._free_id(filename)
        if id is None:
            raise ValueError(f"image {short_repr(filename)} appears a second time, with the id of another")
        self._ids.add(id)
        self._looks.setdefault(look, filename)
        if picture is not None:
            self._pictures[picture] = filename
        return id

    def printed(self, record: ImageRecord) -> str:
        """Return the file name of the next image in formats without other ids: its own, or one made from its
        id, which reads back to that."""
        for name in (record.filename, record.id, f"{record.id}.jpg"):
            if folded(name) not in self._looks and self._free_id(name) == record.id:
                self.id_of(name, None)
                return name
        return f"{record.id}.jpg"

    def _free_id(self, filename: str) -> str | None:
        names = (image_id(filename), base_name(filename), filename.replace("/", "_"))
        return next((name for name in names if name not in self._ids), None)


def _again(filename: str, earlier: str) -> str:
    spelled = "" if filename == earlier else f": it is {short_repr(earlier)} too"
    return f"image {short_repr(filename)} appears a second time{spelled}"


def listed_splits(lists: Mapping[Path, str], filenames: Iterable[str]) -> dict[str, str]:
    """Return the split of each file name, from lists of names, a name in each line.

    An image in two lists is a problem, and so is a list without any of the images.
    """
    if not lists:
        return {}
    tally, called = current_tally(), list(filenames)
    names = ImageNames(ImageNaming(number, "", name) for number, name in enumerate(called))
    splits: dict[str, str] = {}
    for file, split in lists.items():
        listed = known = 0
        for number, line in lines(file):
            name = path_in_source(line)
            listed += bool(name)
            try:
                image = names.find(name, (FILE, STEM)) if name else None
                if image is None:
                    tally.pass_over(NAMES, UNKNOWN, bool(name), name)  # subsets exist
                    continue
                known += 1
                if (other := splits.setdefault(called[image], split)) != split:
                    raise ValueError(f"{short_repr(name)} is in the split {other} already")
                tally.count(NAMES)
                tally.take(NAMES)
            except ValueError as error:  # AmbiguousName is one
                report_problem(
                    FormatError(str(error), file=file, line=number, expected="each image in one split"), NAMES
                )
        if listed and not known:
            first = short_repr(next(iter(called), ""))
            expected = f"file names of images, as {first}"
            report_problem(FormatError("names none of the images", file=file, expected=expected), "")
    return splits


#: A file beside every export, which does not belong to a corpus.
DATASHEET_FIGURES = "datasheet.json"


def only_file(path: Path, *patterns: str, expected: str = "") -> Path:
    """Return `path` if it is a file; in a folder, its only file that matches one of `patterns`.

    Hidden files, the folders that macOS puts into archives, and the figures of a datasheet are ignored.
    """
    expected = expected or f"one file {' or '.join(patterns)}; name the file itself"
    if path.is_file():
        return path
    if not path.is_dir():
        raise FormatError("does not exist", file=path, expected=expected)
    files = [
        Path(folder, name)
        for folder, _folders, names in walk(path)
        for name in names
        if any(fnmatchcase(name, pattern) for pattern in patterns)
        and name != DATASHEET_FIGURES
        and not is_hidden(f"{folder}/{name}"[len(f"{path}/") :])
    ]
    if len(files) != 1:
        names = ", ".join(file.name for file in files[:4])
        raise FormatError(
            f"holds {len(files)} such files ({names})" if files else "holds no such file",
            file=path,
            expected=expected,
        )
    return files[0]
