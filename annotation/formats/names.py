"""Names of images and files: which are safe, which picture a name means, and how ids follow from names."""

import os
import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from annotation.protocol.terms import ImageRecord
from phrasebox.names import base_name, folded, image_id, same_file
from phrasebox.text_files import FormatError, short_repr

#: Bytes of a name. File systems stop at 255, and exports add an extension.
_LONGEST_NAME = 240
#: The drive of a path of Windows.
_DRIVE = re.compile(r"[A-Za-z]:/")

PLAIN_NAME = (
    f"a plain name: printable, without slashes, not beginning with a dot, at most {_LONGEST_NAME} bytes"
)
PLAIN_PATH = "a plain name, or a path of such names"


def is_plain_name(name: str) -> bool:
    """Whether `name` can be a file's name on export without leaving its folder or hiding there.

    Spaces of any kind may stand within it."""
    return (
        bool(name)
        and all(sign.isprintable() or unicodedata.category(sign) == "Zs" for sign in name)
        and "/" not in name
        and "\\" not in name
        and name == name.strip()
        and not name.startswith(".")
        and len(name.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME
    )


def is_plain_path(name: str) -> bool:
    """Whether `name` is a plain name, or a path of plain names that leads down."""
    return len(name.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME and all(
        map(is_plain_name, name.split("/"))
    )


def picture_path(filename: str) -> str:
    """The file name of a source as a path from the folder of pictures: with slashes, and without what
    leads to that folder on somebody's machine."""
    return _DRIVE.sub("", filename.strip().replace("\\", "/")).removeprefix("./").lstrip("/")


def printed_name(record: ImageRecord) -> str:
    """The file name by which formats that know no other id print `record`: it reads back to its id."""
    if record.id in (image_id(record.filename), record.filename):
        return record.filename
    return record.id if image_id(record.id) == record.id else f"{record.id}.jpg"


class Pictures:
    """The files of a folder of pictures, by the names that a source gives them; none where that is None."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._keys: dict[str, str] = {}

    def find(self, *names: str) -> Path | None:
        """The first of `names` that is a file in the folder: as it is spelled, at its path or without it;
        then what looks alike, also in folders below.

        Raises FormatError where two files may be meant. Names that are not plain are passed over.
        """
        if self.folder is None:
            return None
        paths = [path for name in names if is_plain_path(path := picture_path(name))]
        for path in paths:
            for tail in dict.fromkeys((path, base_name(path))):
                if (self.folder / tail).is_file():
                    return self.folder / tail
        for path in paths:
            files = self._looking_alike(path)
            if len(files) > 1:
                names_of_files = " and ".join(
                    short_repr(str(file.relative_to(self.folder))) for file in files[:2]
                )
                raise FormatError(
                    f"{short_repr(path)} may be {names_of_files}",
                    file=self.folder,
                    expected="one picture of that name, or its folder before the name",
                )
            if files:
                return files[0]
        return None

    def key(self, filename: str) -> str:
        """What two spellings of one image's name have in common: its picture, or how it looks."""
        if filename not in self._keys:
            try:
                found = self.find(filename)
            except FormatError:
                found = None
            self._keys[filename] = str(found) if found else folded(picture_path(filename))
        return self._keys[filename]

    def _looking_alike(self, path: str) -> list[Path]:
        """The files below the folder that `path` may mean: those at its end, then those of its spelling."""
        files = self._tree.get(folded(base_name(path)), [])
        for fits in (
            lambda file: same_file(folded(str(file.relative_to(self.folder))), folded(path)),
            lambda file: file.name == base_name(path),
        ):
            files = [file for file in files if fits(file)] or files
        return files

    @cached_property
    def _tree(self) -> dict[str, list[Path]]:
        """The files below the folder by how their names look, but hidden ones and leftovers of macOS."""
        index: dict[str, list[Path]] = {}
        for folder, folders, files in os.walk(self.folder or ""):
            folders[:] = sorted(name for name in folders if not name.startswith((".", "__MACOSX")))
            for name in sorted(files):
                if not name.startswith("."):
                    index.setdefault(folded(name), []).append(Path(folder) / name)
        return index


class ImageIds:
    """The ids of images that a source names by files: the name without its extension; where an earlier
    image has that, the name with it, then with its folders."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._looks: dict[str, tuple[str, Path | None]] = {}
        self._pictures: dict[Path, str] = {}

    def id_of(self, filename: str, picture: Path | None) -> str:
        """The id of the next image; raises ValueError where it is an earlier one, or looks like one."""
        look = folded(filename)
        earlier, there = self._looks.get(look, (None, None))
        if earlier is not None and (picture is None or there is None):
            raise ValueError(_again(filename, earlier))
        if picture in self._pictures:
            raise ValueError(_again(filename, self._pictures[picture]))
        id = next((name for name in self._candidates(filename) if name not in self._ids), None)
        if id is None:
            raise ValueError(f"image {short_repr(filename)} appears a second time, with the id of another")
        self._ids.add(id)
        self._looks.setdefault(look, (filename, picture))
        if picture is not None:
            self._pictures[picture] = filename
        return id

    @staticmethod
    def _candidates(filename: str) -> Iterator[str]:
        yield image_id(filename)
        yield base_name(filename)
        yield filename.replace("/", "_")


def _again(filename: str, earlier: str) -> str:
    spelled = "" if filename == earlier else f": it is {short_repr(earlier)} too"
    return f"image {short_repr(filename)} appears a second time{spelled}"


#: What lies beside the files of every export, and is no part of a corpus.
DATASHEET_FIGURES = "datasheet.json"


def only_file(path: Path, *patterns: str) -> Path:
    """`path` where it is a file; in a folder, its one file that matches one of `patterns`.

    Hidden files, the folders that macOS puts into archives, and the figures of a datasheet do not count.
    """
    expected = "one file " + " or ".join(patterns)
    if path.is_file():
        return path
    if not path.is_dir():
        raise FormatError("does not exist", file=path, expected=expected)
    files = sorted(
        {
            file
            for pattern in patterns
            for file in path.rglob(pattern)
            if file.is_file()
            and file.name != DATASHEET_FIGURES
            and not any(part.startswith((".", "__MACOSX")) for part in file.parts[len(path.parts) :])
        }
    )
    if len(files) != 1:
        names = ", ".join(file.name for file in files[:4])
        raise FormatError(
            f"holds {len(files)} such files ({names})" if files else "holds no such file",
            file=path,
            expected=f"{expected}; name the file itself",
        )
    return files[0]
