"""Pictures on disk: checked by decoding, stripped of metadata, named by their content.

A kept picture lies under DATA_DIR/pictures/ab/<sha256>.<extension>, where `ab` opens the hash
of the stored bytes: the same picture is kept once, and a stored file never changes.
"""

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from django.conf import settings

from annotation.common.readers import read, stream
from annotation.images.decoding import (
    PictureError,
    StoredPicture,
    clean_copy,
    decode_pictures,
    picture_extent,
)
from annotation.images.withdrawn import withdrawn_pictures
from phrasebox.text_files import FormatError

#: What a stored picture is called.
_NAME = re.compile(r"[0-9a-f]{64}\.(jpg|png|webp|gif)")


def _store() -> Path:
    """The folder of kept pictures."""
    return Path(settings.DATA_DIR) / "pictures"


def picture_path(name: str, *, root: Path | None = None) -> Path:
    """Where the kept picture `name` lies; raises PictureError where that is no such name."""
    if not _NAME.fullmatch(name):
        raise PictureError(f"{name!r} names no stored picture; expected a SHA-256 and an extension")
    return (root or _store()) / name[:2] / name


def picture_size(name: str) -> tuple[int, int] | None:
    """Width and height of the kept picture `name`; None where its file is missing, or cannot be read."""
    path = picture_path(name)
    if not path.is_file():
        return None
    try:
        return read(picture_extent, path)
    except (FormatError, PictureError):
        return None


def check_picture(path: Path) -> StoredPicture:
    """What would be stored of the picture at `path`; decodes all of it. Raises PictureError."""
    (stored,) = check_pictures([path])
    if isinstance(stored, PictureError):
        raise stored
    return stored


def store_pictures(
    paths: Sequence[Path], *, into: Path | None = None
) -> Iterator[StoredPicture | PictureError]:
    """Check pictures and store them under `into` (default: the store): what was stored of each, or what is
    wrong with it.

    Orientation is applied to the pixels; only then, or where the container is damaged but
    decodes, is a picture encoded again.
    """
    root = into or _store()
    folder = root / f".{secrets.token_hex(8)}"
    try:
        for number, stored in enumerate(_decoded(paths, folder)):
            if isinstance(stored, StoredPicture):
                target, part = picture_path(stored.name, root=root), clean_copy(folder, number)
                if not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    # Read-only: exports may share the file by a hard link.
                    part.chmod(0o400)
                    part.replace(target)
            yield stored
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_pictures(paths: Sequence[Path]) -> Iterator[StoredPicture | PictureError]:
    """What `store_pictures` would yield; stores nothing."""
    return _decoded(paths, None)


def _decoded(paths: Sequence[Path], folder: Path | None) -> Iterator[StoredPicture | PictureError]:
    """What readers make of pictures; one that a reader dies of is passed over."""
    first, withdrawn = 0, withdrawn_pictures()
    while first < len(paths):
        try:
            for stored, problem in stream(decode_pictures, tuple(paths), folder, first):
                path, first = paths[first], first + 1
                if stored is None:
                    yield PictureError(f"{path}: {problem}")
                elif stored.name in withdrawn:
                    yield PictureError(f"{path}: this picture was withdrawn; leave the image out")
                else:
                    yield stored
        except FormatError as error:
            yield PictureError(f"{paths[first]}: {error.problem}; expected {error.expected}")
            first += 1


def source_digest(path: Path) -> str:
    """SHA-256 of the file as it came, without looking into it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def publish_pictures(staged: Path) -> None:
    """Move every picture kept under `staged` into the store, but for those withdrawn by then. Running it
    again is harmless."""
    for folder in sorted(staged.iterdir()) if staged.is_dir() else ():
        for file in sorted(folder.iterdir()):
            target = picture_path(file.name)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(file, target)
            # Asked behind the move: a picture is first noted as withdrawn, and then looked for in the store.
            if target.name in withdrawn_pictures():
                discard_picture(target.name)
        folder.rmdir()


def small_copy_path(picture: Path) -> Path:
    """Where the small copy of the kept picture at `picture` lies, whether or not it was made."""
    return Path(settings.DATA_DIR) / "thumbnails" / picture.parent.name / f"{picture.stem}.webp"


def discard_picture(name: str) -> None:
    """Remove the kept picture `name` and its small copy, if they are there.

    Their folders stay: somebody may be about to move a picture there, and a proxy may have the store mounted.
    """
    path = picture_path(name)
    for file in (path, small_copy_path(path)):
        file.unlink(missing_ok=True)
