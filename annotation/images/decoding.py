"""Decoders of pictures, which run in readers (`annotation.common.readers`): for uploads, and for stored
pictures."""

import hashlib
import io
import os
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, ImageOps
from PIL import WebPImagePlugin as _webp  # noqa: F401

from annotation.images.metadata import Malformed, without_metadata
from phrasebox.errors import PhraseboxError

#: Larger pictures are rejected before a pixel is decoded.
MAX_BYTES = 64 * 2**20
MAX_PIXELS = 50_000_000

#: File extension of a stored picture by Pillow's name of its type.
_TYPES = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp", "GIF": "gif"}
_EXPECTED = "a JPEG, PNG, WebP or still GIF"
#: How a picture is encoded again: losslessly, or in JPEG without visible loss.
_HOW: dict[str, dict[str, Any]] = {"JPEG": {"quality": 95, "subsampling": 0}, "WEBP": {"lossless": True}}
_ORIENTATION = 0x0112
#: The EXIF orientations that are not upright.
_TURNED = range(2, 9)
_QUALITY = 80

# Decoders are imported once, before readers are forked: each would take longer for that than for pictures.
Image.preinit()

# Pillow warns at its own size; ours is lower and raises an error.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


class PictureError(PhraseboxError):
    """A file that is no valid picture; names the file, the error and what was expected."""


@dataclass(frozen=True, slots=True)
class StoredPicture:
    """A stored picture: its name, its size in pixels, the SHA-256 of the original file, and the EXIF
    orientation by which it was rotated upright, 1 if it was not."""

    name: str
    width: int
    height: int
    source: str
    orientation: int = 1

    @property
    def turned(self) -> bool:
        """Whether it was rotated upright."""
        return self.orientation != 1


def decode_pictures(
    paths: tuple[Path, ...], folder: Path | None, first: int = 0
) -> Iterator[tuple[StoredPicture | None, str]]:
    """Yield what is to be stored of each picture from number `first` on, or None and its error; if there is a
    `folder`, its clean bytes are written there (`clean_copy`)."""
    for number in range(first, len(paths)):
        try:
            stored, clean = _read_picture(paths[number])
        except PictureError as error:
            yield None, str(error)
            continue
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            clean_copy(folder, number).write_bytes(clean)
        yield stored, ""


def clean_copy(folder: Path, number: int) -> Path:
    """Return the path of a picture's clean bytes."""
    return folder / f"{number}.part"


def picture_extent(path: Path) -> tuple[int, int]:
    """Return width and height of a picture. Raises PictureError."""
    try:
        with Image.open(path, formats=tuple(_TYPES)) as picture:
            return picture.size
    except Exception as error:
        raise _not_decoded(error) from error


def write_small_copy(picture: Path, small: Path, side: int) -> None:
    """Write a copy of `picture`, as WebP or as JPEG by the name `small`, whose longer side is at most `side`.

    It is written to a temporary file and renamed, so that no reader sees an incomplete file. Raises
    PictureError.
    """
    try:
        with Image.open(picture, formats=tuple(_TYPES)) as image:
            _check_extent(image, "JPEG")
            upright = ImageOps.exif_transpose(image)
            upright.thumbnail((side, side))
            profile = upright.info.get("icc_profile") if upright.mode in ("RGB", "RGBA") else None
            webp = small.suffix == ".webp"
            copy = upright.convert("RGBA" if upright.has_transparency_data and webp else "RGB")
            out = io.BytesIO()
            copy.save(out, "WEBP" if webp else "JPEG", quality=_QUALITY, icc_profile=profile)
    except PictureError:
        raise
    except Exception as error:
        raise _not_decoded(error) from error
    handle, unfinished = tempfile.mkstemp(dir=small.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(out.getvalue())
        os.replace(unfinished, small)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def _read_picture(path: Path) -> tuple[StoredPicture, bytes]:
    """Return the picture at `path`, checked, and the bytes to store of it."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise PictureError(f"{size / 2**20:.0f} MiB; expected at most {MAX_BYTES // 2**20}")
        data = path.read_bytes()
    except OSError as error:
        raise PictureError(f"cannot be read ({error.strerror}); expected {_EXPECTED}") from error
    clean, kind, size_in_pixels, orientation = _cleaned(data)
    name = f"{hashlib.sha256(clean).hexdigest()}.{_TYPES[kind]}"
    return StoredPicture(name, *size_in_pixels, hashlib.sha256(data).hexdigest(), orientation), clean


def _cleaned(data: bytes) -> tuple[bytes, str, tuple[int, int], int]:
    """Return the bytes to store, their type, width and height, and the orientation by which it was rotated.
    Every pixel has been decoded once."""
    try:
        with Image.open(io.BytesIO(data), formats=tuple(_TYPES)) as image:
            # A phone's JPEG with a second picture has the type MPO.
            kind = "JPEG" if image.format == "MPO" else str(image.format)
            _check_extent(image, kind)
            stated: Any = image.getexif().get(_ORIENTATION)
            orientation = int(stated) if stated in _TURNED else 1
            if orientation == 1:
                try:
                    clean = without_metadata(data, kind)
                except Malformed:
                    clean = _encoded(image, kind)
            else:
                clean = _encoded(image, kind)
        with Image.open(io.BytesIO(clean), formats=(kind,)) as image:
            image.load()
            return clean, kind, image.size, orientation
    except PictureError:
        raise
    except Image.UnidentifiedImageError:
        raise PictureError(f"is not a picture; expected {_EXPECTED}") from None
    except Image.DecompressionBombError:
        raise PictureError(f"has too many pixels; expected at most {_megapixels(MAX_PIXELS)}") from None
    except Exception as error:
        raise _not_decoded(error) from error


def _not_decoded(error: Exception) -> PictureError:
    """Damaged files make the decoders raise almost anything, with the same meaning."""
    reason = next(iter(str(error).splitlines()), type(error).__name__)
    return PictureError(f"cannot be decoded ({reason}); expected {_EXPECTED}")


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
    """Return `image` rotated upright and encoded again."""
    turned = ImageOps.exif_transpose(image)
    turned.info = {key: turned.info[key] for key in ("icc_profile", "transparency") if key in turned.info}
    out = io.BytesIO()
    turned.save(out, kind, **_HOW.get(kind, {}))
    return out.getvalue()
