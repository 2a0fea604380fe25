"""Names of images and files: which are safe, and how an id follows from a file name."""

from os.path import splitext
from pathlib import Path

from annotation.protocol.terms import ImageRecord
from phrasebox.text_files import FormatError

PICTURE_EXTENSIONS = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff")

#: Bytes of a name. File systems stop at 255, and exports add an extension.
_LONGEST_NAME = 240

SAFE_NAME = (
    f"a plain name: printable, without slashes, not beginning with a dot, at most {_LONGEST_NAME} bytes"
)


def is_safe_name(name: str) -> bool:
    """Whether `name` can be a file's name on export without leaving its folder or hiding there."""
    return (
        bool(name)
        and name.isprintable()
        and name == name.strip()
        and not name.startswith(".")
        and "/" not in name
        and "\\" not in name
        and len(name.encode("utf-8")) <= _LONGEST_NAME
    )


def extension(filename: str) -> str:
    """The known picture extension that `filename` ends in, as it is written there, or ""."""
    suffix = splitext(filename)[1]
    return suffix if suffix.lower() in PICTURE_EXTENSIONS else ""


def image_id(filename: str) -> str:
    """The id of the image in `filename`: its name without a known picture extension.

    `2258277193_586949ec62.jpg.1` stays whole: `.1` is no picture's extension.
    """
    return filename.removesuffix(extension(filename))


def printed_name(record: ImageRecord) -> str:
    """The file name by which formats that know no other id print `record`: it reads back to its id."""
    if image_id(record.filename) == record.id:
        return record.filename
    return record.id if image_id(record.id) == record.id else f"{record.id}.jpg"


def find_picture(folder: Path | None, *names: str) -> Path | None:
    """The first of `names` that is a file in `folder`; names that are not plain are passed over."""
    if folder is None:
        return None
    for name in names:
        if is_safe_name(name) and (folder / name).is_file():
            return folder / name
    return None


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
