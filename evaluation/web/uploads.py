"""Files that are sent to a page: kept aside while they are read, under the names that they were sent by.

So a message about a file names it as its sender does. Then they are removed, whether the import succeeded or
not; a file that a job is to read stays for a day.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _

from annotation.common.files import file_name, remove_old_uploads
from annotation.common.locks import Busy
from annotation.common.registry import UnknownName
from annotation.formats.base import FormatError
from evaluation.formats.unpacked import bytes_inside
from evaluation.services.common import ImportRefused
from evaluation.web.splits import NotOffered

#: Bytes that are taken by page, as the proxy has it; what is larger is brought by command.
LARGEST_UPLOAD = 64 * 2**20
#: Bytes that an archive of arrays may unpack to.
UNPACKED = 16 * LARGEST_UPLOAD
#: Bytes, unpacked, of files that are read line by line while their sender waits.
READ_AT_ONCE = 16 * 2**20

#: What is wrong with what was sent.
UPLOAD_REFUSALS = (FormatError, ImportRefused, NotOffered, UnknownName, Busy, ValueError)
#: How a remedy is told that is an option of a command: a page has a field for it.
_OPTION = re.compile(r" \(--[a-z-]+(?: [a-z]+)?\)")


@contextmanager
def upload_folder(request: HttpRequest, *, commands: str, most: int | None = None) -> Iterator[Path]:
    """A folder for what was sent; what is wrong with a file is told without the folder's name.

    More than `most` bytes (default: LARGEST) are for `commands`, as the refusal says. Whatever is refused
    meanwhile is raised as ImportRefused.
    """
    sent: list[Any] = [file for name in request.FILES for file in request.FILES.getlist(name)]
    size, most = sum(file.size or 0 for file in sent), most or LARGEST_UPLOAD
    if size > most:
        raise NotOffered(
            _("The files have %(size)s; a page accepts at most %(largest)s. Use the command %(commands)s.")
            % {"size": filesizeformat(size), "largest": filesizeformat(most), "commands": commands}
        )
    parent = Path(settings.DATA_DIR) / "uploads"
    parent.mkdir(parents=True, exist_ok=True)
    remove_old_uploads(parent)
    folder = Path(tempfile.mkdtemp(dir=parent))
    try:
        yield folder
    except UPLOAD_REFUSALS as error:
        raise ImportRefused(_OPTION.sub("", str(error).replace(f"{folder}/", ""))) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def uploaded_file(
    request: HttpRequest, folder: Path, name: str, *, beside: str = "", most: int | None = None
) -> Path | None:
    """The file that was sent as `name`, in `folder`, with those that were sent as `beside`; None for none.

    Raises FormatError for one that unpacks to more than `most` bytes (default: UNPACKED).
    """
    sent = request.FILES.get(name)
    if not isinstance(sent, UploadedFile):
        return None
    folder.mkdir(exist_ok=True)
    return [_write(file, folder, most or UNPACKED) for file in (sent, *request.FILES.getlist(beside))][0]


def _write(file: Any, folder: Path, most: int) -> Path:
    path = folder / file_name(file.name)
    with path.open("wb") as out:
        for chunk in file.chunks():
            out.write(chunk)
    size = bytes_inside(path, most)
    if size > most:
        told = filesizeformat(size) if path.suffix != ".gz" else _("more")
        raise FormatError(f"unpacks to {told}", file=path, expected=f"at most {filesizeformat(most)}")
    return path
