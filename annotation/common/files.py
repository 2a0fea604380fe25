"""Files uploaded to an operation, and files that it creates.

Uploads are stored under their original names, so that messages use the sender's names. They are removed after
the operation, whether it succeeded or not; files for a job stay for a day.
"""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import FileResponse, HttpResponse, HttpResponseBase
from django.template.defaultfilters import filesizeformat
from django.utils.datastructures import MultiValueDict
from django.utils.text import get_valid_filename

from annotation.common.operations import File, NewFile, Operation, RequestField, invalid, request_fields
from annotation.common.readers import read

#: Maximum size in bytes of an upload, as for the proxy; larger files are imported by command.
LARGEST_FORM = 64 * 2**20
#: Maximum lengths in bytes of a file's name, and of its suffix; file systems allow 255.
LONGEST_NAME, LONGEST_END = 200, 40
#: Seconds after which uploaded files are no longer used.
LONGEST_STORED = 24 * 3600


def upload_fields(operation: Operation) -> list[RequestField]:
    """Return the fields of an operation's request that hold files."""
    return [field for field in request_fields(operation.request).values() if field.upload is not None]


@contextmanager
def received_files(
    operation: Operation, uploads: MultiValueDict[str, UploadedFile]
) -> Iterator[Mapping[str, Any]]:
    """Context with field -> the path of the uploaded file (paths, for several), for the duration of the
    operation; if a job runs it, for a day. Raises Invalid for files that are too large."""
    fields = [field for field in upload_fields(operation) if field.name in uploads]
    if not fields:
        yield {}
        return
    size = sum(file.size or 0 for field in fields for file in uploads.getlist(field.name))
    if size > LARGEST_FORM:
        raise invalid(fields[0].name, "too_large", size=filesizeformat(size), most=_size(LARGEST_FORM))
    parent = Path(settings.DATA_DIR) / "uploads"
    parent.mkdir(parents=True, exist_ok=True)
    remove_old_uploads(parent)
    folder = Path(tempfile.mkdtemp(dir=parent))
    stays = False
    try:
        names = {
            field.name: [_write(field, file, folder) for file in uploads.getlist(field.name)]
            for field in fields
        }
        if operation.as_job:
            folder, stays = _by_content(folder), True
        paths = {name: [str(folder / file) for file in files] for name, files in names.items()}
        yield {field.name: paths[field.name] if field.many else paths[field.name][-1] for field in fields}
    except Exception as error:
        _leave_out_folder(error, folder)
        raise
    finally:
        if not stays:
            shutil.rmtree(folder, ignore_errors=True)


def stored_file(path: Path) -> NewFile:
    """Return a file that exists at `path`, under its name there."""
    return NewFile(path.name, partial(shutil.copyfile, path), path)


def file_download(operation: Operation, download: NewFile) -> HttpResponseBase:
    """Return the download of a file that an operation creates; for a stored one behind a proxy that serves
    files, the header that makes the proxy send it. Raises what writing the file raises."""
    assert isinstance(operation.result, File)
    about: Any = {
        "as_attachment": True,
        "filename": download.name,
        "content_type": operation.result.media_type,
    }
    if download.stored is not None:
        if not settings.PICTURE_PROXY_PREFIX:
            return FileResponse(download.stored.open("rb"), **about)
        path = download.stored.relative_to(settings.DATA_DIR).as_posix()
        response = HttpResponse(content_type=operation.result.media_type)
        response["X-Accel-Redirect"] = f"{settings.PICTURE_PROXY_PREFIX.rstrip('/')}/{path}"
        response["Content-Disposition"] = f'attachment; filename="{download.name}"'
        return response
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / download.name
        download.write(file)
        # The open file outlives its name.
        return FileResponse(file.open("rb"), **about)


def remove_old_uploads(parent: Path) -> None:
    """Remove the files of killed processes, and those that jobs have read."""
    for left in parent.iterdir():
        with suppress(FileNotFoundError):  # another process removes it
            if left.stat().st_mtime < time.time() - LONGEST_STORED:
                shutil.rmtree(left, ignore_errors=True)


def file_name(name: str) -> str:
    """Return a file name that a file system accepts, keeping its suffix, which determines the format."""
    name = get_valid_filename(name)
    if len(name.encode()) <= LONGEST_NAME:
        return name
    ends = "".join(PurePosixPath(name).suffixes[-2:])
    tail = ends if len(ends.encode()) <= LONGEST_END else ""
    # A file of ids has the name of its file plus a suffix, so both are cut at the same letter.
    stem = name.removesuffix(tail).encode()[: LONGEST_NAME - LONGEST_END]
    return stem.decode(errors="ignore") + tail


def _write(field: RequestField, file: Any, folder: Path) -> str:
    upload, path = field.upload, folder / file_name(file.name)
    assert upload is not None
    if path.exists():  # another file of the request
        raise invalid(field.name, "repeated", value=path.name)
    with path.open("wb") as out:
        for chunk in file.chunks():
            out.write(chunk)
    size = read(upload.unpacked, path, upload.most) if upload.unpacked is not None else path.stat().st_size
    if size > upload.most:
        raise invalid(field.name, "unpacks_to_more", size=_size(size), most=_size(upload.most))
    return path.name


def _by_content(folder: Path) -> Path:
    """Return the folder of files for a job: identical files are stored once, for a day from now."""
    digest = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        digest.update(file.name.encode() + b"\0")
        with file.open("rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    stored = folder.with_name(digest.hexdigest())
    stored.mkdir(exist_ok=True)
    for file in folder.iterdir():
        file.replace(stored / file.name)
    folder.rmdir()
    os.utime(stored)
    return stored


def _leave_out_folder(error: Exception, folder: Path) -> None:
    """Remove the temporary folder from an error's file names."""
    error.args = tuple(
        text.replace(f"{folder}/", "") if isinstance(text, str) else text for text in error.args
    )


def _size(number: int) -> str:
    return str(filesizeformat(number))
