"""Pictures on disk: checked by decoding, stripped of metadata, named by their content.

The path of a stored picture is DATA_DIR/pictures/ab/<sha256>.<extension>, where `ab` is the start of the hash
of the stored bytes: the same picture is stored once, and a stored file never changes.
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

#: The name of a stored picture.
_NAME = re.compile(r"[0-9a-f]{64}\.(jpg|png|webp|gif)")


def _store() -> Path:
    """Return the folder of stored pictures."""
    return Path(settings.DATA_DIR) / "pictures"


def picture_path(name: str, *, root: Path | None = None) -> Path:
    """Return the path of the stored picture `name`. Raises PictureError for an invalid name."""
    if not _NAME.fullmatch(name):
        raise PictureError(f"{name!r} names no stored picture; expected a SHA-256 and an extension")
    return (root or _store()) / name[:2] / name


def picture_size(name: str) -> tuple[int, int] | None:
    """Return width and height of the stored picture `name`; None if its file is missing, or cannot be
    read."""
    path = picture_path(name)
    if not path.is_file():
        return None
    try:
        return read(picture_extent, path)
    except (FormatError, PictureError):
        return None


def check_picture(path: Path) -> StoredPicture:
    """Return what would be stored of the picture at `path`, after decoding all of it. Raises PictureError."""
    (stored,) = check_pictures([path])
    if isinstance(stored, PictureError):
        raise stored
    return stored


def store_pictures(
    paths: Sequence[Path], *, into: Path | None = None
) -> Iterator[StoredPicture | PictureError]:
    """Check pictures and store them under `into` (default: the store); yield what was stored of each, or its
    error.

    The EXIF orientation is applied to the pixels; only then, or if the container is damaged but can be
    decoded, is a picture encoded again.
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
    """Yield the same as `store_pictures`; store nothing."""
    return _decoded(paths, None)


def _decoded(paths: Sequence[Path], folder: Path | None) -> Iterator[StoredPicture | PictureError]:
    """Yield the readers' results for pictures; one that makes a reader die is skipped."""
    first, withdrawn = 0, withdrawn_pictures()
    while first < len(paths):
        began = first
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
            # Results come in batches, the first alone: only if it is missing, it is known to be the cause.
            if first == began:
                yield PictureError(f"{paths[first]}: {error.problem}; expected {error.expected}")
                first += 1


def source_digest(path: Path) -> str:
    """Return the SHA-256 of the original file, without decoding it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def publish_pictures(staged: Path) -> None:
    """Move every picture stored under `staged` into the store, except those withdrawn by then. It may be
    repeated."""
    for folder in sorted(staged.iterdir()) if staged.is_dir() else ():
        for file in sorted(folder.iterdir()):
            target = picture_path(file.name)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(file, target)
            # Checked after the move: a picture is first recorded as withdrawn, and then looked for in the
            # store.
            if target.name in withdrawn_pictures():
                discard_picture(target.name)
        folder.rmdir()


def small_copy_path(picture: Path) -> Path:
    """Return the path of the thumbnail of the stored picture at `picture`, whether it exists or not."""
    return Path(settings.DATA_DIR) / "thumbnails" / picture.parent.name / f"{picture.stem}.webp"


def discard_picture(name: str) -> None:
    """Delete the stored picture `name` and its thumbnail, if they exist.

    Their folders stay: somebody may be about to move a picture there, and a proxy may have the store mounted.
    """
    path = picture_path(name)
    for file in (path, small_copy_path(path)):
        file.unlink(missing_ok=True)
