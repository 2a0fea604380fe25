"""Small copies of pictures, made on first sight and kept under DATA_DIR/thumbnails.

A page of a corpus shows 48 pictures: at full size some five megabytes of JPEG, as WebP of
400 px less than a fifth of that. Names are content hashes, so a copy never goes stale and
the folder may be deleted at any time.
"""

import os
import tempfile
from pathlib import Path

from PIL import Image

from annotation.images.pictures import small_copy_path

#: Pixels of the longer side: enough for tiles of 200 to 300 px on a dense screen.
LONG_SIDE = 400
_QUALITY = 80


def thumbnail(picture: Path) -> Path:
    """The small copy of `picture` (never larger than it), made now unless it exists."""
    small = small_copy_path(picture)
    if not small.is_file():
        _make(picture, small)
    return small


def _make(picture: Path, small: Path) -> None:
    """Write the copy beside its place and move it there, so that no reader meets half a file."""
    small.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(picture) as image:
        image.thumbnail((LONG_SIDE, LONG_SIDE))
        profile = image.info.get("icc_profile") if image.mode in ("RGB", "RGBA") else None
        copy = image.convert("RGBA" if image.has_transparency_data else "RGB")
        handle, unfinished = tempfile.mkstemp(dir=small.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                copy.save(file, "WEBP", quality=_QUALITY, icc_profile=profile)
            # The proxy serves it as another user.
            os.chmod(unfinished, 0o444)
            os.replace(unfinished, small)
        except BaseException:
            Path(unfinished).unlink(missing_ok=True)
            raise
