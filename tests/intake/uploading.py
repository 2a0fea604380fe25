"""Uploads for tests: a zip of generated pictures with captions, sent in parts."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping

from PIL import Image as Picture

from annotation.datasets import uploads
from annotation.datasets.uploads import Upload
from annotation.models import Account

#: Number of valid pictures in `forty`.
SOUND = 37


def a_picture(number: int, size: tuple[int, int] = (60, 40)) -> bytes:
    """Return a picture of one colour, as a JPEG."""
    buffer = io.BytesIO()
    Picture.new("RGB", size, (number * 6 % 256, 90, 120)).save(buffer, "JPEG")
    return buffer.getvalue()


def forty() -> dict[str, bytes]:
    """Return forty pictures with two captions each; two pictures are corrupt, and one has no caption."""
    files: dict[str, bytes] = {}
    lines = []
    for n in range(40):
        files[f"photos/p{n:02}.jpg"] = a_picture(n)[: 200 if n in (7, 21) else None]
        if n != 39:
            lines += [
                f"p{n:02}.jpg#{k}\tA man with hat {k} is in the street of picture {n} ." for k in range(2)
            ]
    files["captions.token.txt"] = ("\n".join(lines) + "\n").encode()
    return files


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return an archive of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def uploaded(account: Account, files: Mapping[str, bytes], name: str = "mine", part: int = 10_000) -> Upload:
    """Upload these files, in parts of a fixed number of bytes."""
    upload = uploads.begin_upload(
        account=account, name=name, files=[(path, len(content)) for path, content in files.items()]
    )
    for number, content in enumerate(files.values()):
        for at in range(0, max(len(content), 1), part):
            data = content[at : at + part]
            uploads.receive_part(
                upload=upload, number=number, offset=at, data=data, sha256=hashlib.sha256(data).hexdigest()
            )
    return upload
