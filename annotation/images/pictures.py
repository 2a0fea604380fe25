"""Pictures on disk: checked by decoding, stripped of metadata, named by their content.

A kept picture lies under DATA_DIR/pictures/ab/<sha256>.<extension>, where `ab` opens the hash
of the stored bytes: the same picture is kept once, and a stored file never changes.
"""

import hashlib
import io
import os
import re
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from PIL import Image, ImageOps

from annotation.images.metadata import Malformed, without_metadata
from annotation.images.withdrawn import withdrawn_pictures
from phrasebox.errors import PhraseboxError

#: Pictures beyond these are refused before a pixel is decoded.
MAX_BYTES = 64 * 2**20
MAX_PIXELS = 50_000_000

#: Pillow's name of a type -> the extension it is kept under.
_TYPES = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp", "GIF": "gif"}
_EXPECTED = "a JPEG, PNG, WebP or still GIF"
_NAME = re.compile(r"[0-9a-f]{64}\.(jpg|png|webp|gif)")
#: How a picture is encoded again: without loss, or in JPEG so that none is seen.
_HOW: dict[str, dict[str, Any]] = {"JPEG": {"quality": 95, "subsampling": 0}, "WEBP": {"lossless": True}}
_ORIENTATION = 0x0112
_UPRIGHT = 1

# Pillow warns at a size of its own; ours is lower and refuses.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


class PictureError(PhraseboxError):
    """A file that is no picture we keep; names the file, what is wrong and what was expected."""


@dataclass(frozen=True, slots=True)
class StoredPicture:
    """A stored picture: its name, its size in pixels, and the SHA-256 of the file as it came."""

    name: str
    width: int
    height: int
    source: str


def _store() -> Path:
    """The folder of kept pictures."""
    return Path(settings.DATA_DIR) / "pictures"


def picture_path(name: str, *, root: Path | None = None) -> Path:
    """Where the kept picture `name` lies; raises PictureError where that is no such name."""
    if not _NAME.fullmatch(name):
        raise PictureError(f"{name!r} names no stored picture; expected a SHA-256 and an extension")
    return (root or _store()) / name[:2] / name


def picture_size(name: str) -> tuple[int, int] | None:
    """Width and height of the kept picture `name`; None where its file is missing."""
    path = picture_path(name)
    if not path.is_file():
        return None
    with Image.open(path) as picture:
        return picture.size


def store_picture(path: Path, *, into: Path | None = None) -> StoredPicture:
    """Check the picture at `path` and store it under `into` (default: the store).

    Orientation is applied to the pixels; only then, or where the container is damaged but
    decodes, is a picture encoded again. Raises PictureError.
    """
    stored, clean = _read_picture(path)
    _write(picture_path(stored.name, root=into), clean)
    return stored


def check_picture(path: Path) -> StoredPicture:
    """What `store_picture` would store of the picture at `path`; decodes all of it. Raises PictureError."""
    return _read_picture(path)[0]


def _read_picture(path: Path) -> tuple[StoredPicture, bytes]:
    """The picture at `path`, checked, and the bytes to store of it."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise PictureError(f"{path}: {size / 2**20:.0f} MiB; expected at most {MAX_BYTES // 2**20}")
        data = path.read_bytes()
    except OSError as error:
        raise PictureError(f"{path}: cannot be read ({error.strerror}); expected {_EXPECTED}") from error
    try:
        clean, kind, width, height = _cleaned(data)
    except PictureError as error:
        raise PictureError(f"{path}: {error}") from error
    name = f"{hashlib.sha256(clean).hexdigest()}.{_TYPES[kind]}"
    if name in withdrawn_pictures():
        raise PictureError(f"{path}: this picture was withdrawn; leave the image out")
    return StoredPicture(name, width, height, hashlib.sha256(data).hexdigest()), clean


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


def _cleaned(data: bytes) -> tuple[bytes, str, int, int]:
    """The bytes to store, their type, width and height. Every pixel has been decoded once."""
    try:
        with Image.open(io.BytesIO(data), formats=tuple(_TYPES)) as image:
            # A phone's JPEG with a second picture behind it calls itself MPO.
            kind = "JPEG" if image.format == "MPO" else str(image.format)
            _check_extent(image, kind)
            if image.getexif().get(_ORIENTATION, _UPRIGHT) == _UPRIGHT:
                try:
                    clean = without_metadata(data, kind)
                except Malformed:
                    clean = _encoded(image, kind)
            else:
                clean = _encoded(image, kind)
        with Image.open(io.BytesIO(clean), formats=(kind,)) as image:
            image.load()
            return clean, kind, image.width, image.height
    except PictureError:
        raise
    except Image.UnidentifiedImageError:
        raise PictureError(f"is not a picture; expected {_EXPECTED}") from None
    except Image.DecompressionBombError:
        raise PictureError(f"has too many pixels; expected at most {_megapixels(MAX_PIXELS)}") from None
    except Exception as error:
        # Damaged files make the decoders raise almost anything; all of it means the same.
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise PictureError(f"cannot be decoded ({reason}); expected {_EXPECTED}") from error


def _check_extent(image: Image.Image, kind: str) -> None:
    pixels = image.width * image.height
    if pixels > MAX_PIXELS:
        raise PictureError(
            f"has {_megapixels(pixels)} ({image.width} x {image.height}); "
            f"expected at most {_megapixels(MAX_PIXELS)}"
        )
    if kind != "JPEG" and getattr(image, "n_frames", 1) > 1:
        raise PictureError(f"is an animation; expected {_EXPECTED}")


def _megapixels(pixels: int) -> str:
    return f"{pixels / 1e6:.1f} megapixels"


def _encoded(image: Image.Image, kind: str) -> bytes:
    """`image` turned upright and encoded again."""
    turned = ImageOps.exif_transpose(image)
    turned.info = {key: turned.info[key] for key in ("icc_profile", "transparency") if key in turned.info}
    out = io.BytesIO()
    turned.save(out, kind, **_HOW.get(kind, {}))
    return out.getvalue()


def _write(target: Path, data: bytes) -> None:
    """Write `target` at once or not at all, read-only: exports may share the file by a hard link."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, 0o444)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
