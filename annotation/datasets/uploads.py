"""Files that somebody uploads for a corpus: in parts that can be repeated, for a day, on their account.

An upload is a folder DATA_DIR/corpus_uploads/KEY: `upload.json` contains its account and its files, and
`files` contains their data. The size there is the received amount, so that a killed server or a lost
connection loses at most the current part. Each part has its SHA-256 and is written only if that is right.
"""

import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from django.conf import settings
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _

from annotation.common.locks import held_lock
from annotation.datasets.corpus_uses import why_images_fixed
from annotation.datasets.importing import corpus_name_is_valid
from annotation.formats.names import is_safe_name
from annotation.models import Account, Corpus, Job
from phrasebox.errors import PhraseboxError
from phrasebox.registry import UnknownName
from phrasebox.text_files import short_repr

#: Maximum bytes of a part, files of an upload, uploads of an account at a time, levels of folders.
PART_BYTES = 8 * 2**20
MOST_FILES = 50_000
MOST_UPLOADS = 10
_DEEPEST = 10
#: Seconds for which an upload is stored.
UPLOAD_LIFETIME = 24 * 3600
#: Additional disk space of an upload, as a multiple of its size: it is unpacked, and its pictures are stored.
_ROOM = 2
_KEY = re.compile(r"[0-9a-f]{32}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MANIFEST = "upload.json"
FOLDER = "corpus_uploads"


class UploadError(PhraseboxError):
    """A rejected upload or part; one line with the remedy."""


class NoSuchUpload(UnknownName):
    """An upload that does not exist, has expired, or is another account's."""


class InvalidOffset(UploadError):
    """A part that does not begin at the end of the received data: at `received` bytes."""

    def __init__(self, received: int) -> None:
        self.received = received
        super().__init__(_("%(bytes)d bytes of this file are here: resume from there.") % {"bytes": received})


@dataclass(frozen=True, slots=True)
class UploadFile:
    """A file of an upload: its number, its path at its sender, its size and the received bytes."""

    number: int
    path: str
    size: int
    received: int


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload for the corpus `name`, a new one or, with `add`, one that exists; `files` are paths and sizes
    in bytes, `begun` seconds since 1970."""

    key: str
    account: int
    name: str
    begun: float
    files: tuple[tuple[str, int], ...]
    add: bool = False

    @property
    def folder(self) -> Path:
        """Its folder."""
        return _root() / self.key

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(size for _, size in self.files)

    @property
    def expired(self) -> bool:
        """Whether its day is over."""
        return self.begun + UPLOAD_LIFETIME < time.time()

    def file_path(self, number: int) -> Path:
        """Return the path of the file of that number."""
        return self.folder / "files" / f"{number:05}-{PurePosixPath(self.files[number][0]).name}"

    def progress(self) -> Iterator[UploadFile]:
        """Yield its files with the received bytes of each."""
        there = {}
        # It may be removed meanwhile: then it has nothing.
        with suppress(FileNotFoundError), os.scandir(self.folder / "files") as entries:
            there = {entry.name: entry.stat().st_size for entry in entries}
        for number, (path, size) in enumerate(self.files):
            yield UploadFile(number, path, size, there.get(self.file_path(number).name, 0))

    @property
    def promised(self) -> int:
        """Number of missing bytes."""
        return sum(file.size - file.received for file in self.progress())

    @property
    def complete(self) -> bool:
        """Whether all of it was received."""
        return all(file.received == file.size for file in self.progress())


def begin_upload(
    *, account: Account, name: str, files: Sequence[tuple[str, int]], add: bool = False
) -> Upload:
    """Return a new upload for the corpus `name`, or the account's unfinished one of the same files.

    Raises UploadError for an invalid or existing name, with `add` for a corpus that does not exist or takes
    no further images, for invalid files, and if the account's quota (UPLOAD_QUOTA) or the disk has no room.
    """
    if not corpus_name_is_valid(name):
        raise UploadError(
            _("“%(name)s” is no name of a corpus: use at most 100 letters, digits, hyphens or underscores.")
            % {"name": name[:100]}
        )
    corpus = Corpus.objects.filter(name=name, published=True).first()
    if corpus is not None and not add:
        raise UploadError(_("Corpus “%(name)s” already exists: choose another name.") % {"name": name})
    if corpus is None and add:
        raise UploadError(_("There is no corpus “%(name)s” to which images could be added.") % {"name": name})
    if corpus is not None and (why := why_images_fixed(corpus)):
        raise UploadError(why)
    _check_files(files)
    # One at a time, so that the free space of each check stays free.
    with held_lock(_root()):
        uploads = uploads_of(account)
        for upload in uploads:
            if (upload.name, upload.files, upload.add) == (name, tuple(files), add):
                return upload
        _check_room(uploads, sum(size for _, size in files))
        return _begun(Upload(secrets.token_hex(16), account.pk, name, time.time(), tuple(files), add))


def _check_room(uploads: Sequence[Upload], size: int) -> None:
    """Raise UploadError if the account's quota, or the disk, has no room for this number of bytes."""
    if len(uploads) >= MOST_UPLOADS:
        raise UploadError(
            _("You have %(count)d uploads already: finish one, or remove it.") % {"count": len(uploads)}
        )
    taken = sum(upload.size for upload in uploads)
    if taken + size > settings.UPLOAD_QUOTA:
        raise UploadError(
            _("The files have %(size)s; your uploads may take %(most)s, of which %(taken)s are in use.")
            % {
                "size": filesizeformat(size),
                "most": filesizeformat(settings.UPLOAD_QUOTA),
                "taken": filesizeformat(taken),
            }
        )
    room = max(0, free_bytes() - sum(upload.promised for upload in _all() if not upload.expired))
    if (1 + _ROOM) * size > room:
        raise UploadError(
            _("The files have %(size)s and take three times that for a while; the server has %(room)s left.")
            % {"size": filesizeformat(size), "room": filesizeformat(room)}
        )


def _begun(upload: Upload) -> Upload:
    """Return a new upload, with its folders and its manifest."""
    upload.folder.mkdir(parents=True)
    (upload.folder / "files").mkdir()
    manifest = asdict(upload)
    del manifest["key"]
    part = upload.folder / f".{_MANIFEST}"
    part.write_text(json.dumps(manifest), encoding="utf-8")
    part.rename(upload.folder / _MANIFEST)
    return upload


def upload_of(account: Account, key: str) -> Upload:
    """Return the account's upload of that key. Raises NoSuchUpload, also for another account's."""
    upload = _stored(key)
    if upload is None or upload.account != account.pk or upload.expired:
        raise NoSuchUpload(key)
    return upload


def stored_upload(key: str) -> Upload:
    """Return the upload of that key of any account. Raises NoSuchUpload. For jobs, which their account
    requested."""
    upload = _stored(key)
    if upload is None:
        raise NoSuchUpload(key)
    return upload


def uploads_of(account: Account) -> list[Upload]:
    """Return the account's uploads whose day is not over, the newest first."""
    uploads = [upload for upload in _all() if upload.account == account.pk and not upload.expired]
    return sorted(uploads, key=lambda upload: -upload.begun)


def receive_part(*, upload: Upload, number: int, offset: int, data: bytes, sha256: str) -> int:
    """Append a part of a file; return the number of bytes received.

    Raises UploadError for a part beyond the file's size, a part that is too large, one with another SHA-256,
    and if the disk is full up to its reserve; InvalidOffset if it does not begin at the end of the received
    data, so that sending a part twice does no harm; NoSuchUpload if the upload was removed meanwhile.
    """
    if not 0 <= number < len(upload.files):
        raise UploadError(_("This upload has no file %(number)d.") % {"number": number})
    size = upload.files[number][1]
    if len(data) > PART_BYTES:
        raise UploadError(
            _("A part has at most %(most)s: send this one in several.") % {"most": filesizeformat(PART_BYTES)}
        )
    if offset + len(data) > size:
        raise UploadError(_("The file is longer than was said: choose the files again."))
    if not _SHA256.fullmatch(sha256) or hashlib.sha256(data).hexdigest() != sha256:
        raise UploadError(_("The part does not have the SHA-256 that was sent with it: send it again."))
    if len(data) > free_bytes():
        raise UploadError(_part_not_stored(os.strerror(errno.ENOSPC)))
    try:
        handle = os.open(upload.file_path(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        raise NoSuchUpload(upload.key) from None
    except OSError as error:
        raise UploadError(_part_not_stored(error.strerror)) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        received = os.fstat(handle).st_size
        if offset != received:
            raise InvalidOffset(received)
        try:
            with os.fdopen(os.dup(handle), "r+b", buffering=0) as file:
                file.seek(offset)
                view = memoryview(data)
                while view:
                    view = view[file.write(view) :]
        except OSError as error:
            os.ftruncate(handle, offset)
            raise UploadError(_part_not_stored(error.strerror)) from error
        return received + len(data)
    finally:
        os.close(handle)


def _part_not_stored(why: str | None) -> str:
    return _("The part could not be stored (%(why)s): try again later.") % {"why": why}


def remove_upload(upload: Upload) -> None:
    """Remove an upload with all its files."""
    shutil.rmtree(upload.folder, ignore_errors=True)


def remove_expired_uploads() -> int:
    """Remove uploads whose day is over and that have no running job, and unreadable ones; return their
    number."""
    removed = 0
    live = Job.objects.filter(state__in=Job.LIVE, arguments__has_key="upload")
    worked_on = {str(arguments["upload"]) for arguments in live.values_list("arguments", flat=True)}
    for folder in _root().iterdir() if _root().is_dir() else ():
        upload = _stored(folder.name)
        old = folder.stat().st_mtime + UPLOAD_LIFETIME < time.time()
        if folder.name in worked_on:
            continue
        if (upload is not None and upload.expired) or (upload is None and old):
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    return removed


def free_bytes() -> int:
    """Return the bytes that may be written to the disk of DATA_DIR, minus DISK_RESERVE."""
    Path(settings.DATA_DIR).mkdir(parents=True, exist_ok=True)
    return max(0, shutil.disk_usage(settings.DATA_DIR).free - settings.DISK_RESERVE)


def _check_files(files: Sequence[tuple[str, int]]) -> None:
    if not files:
        raise UploadError(_("No file was chosen: choose captions and pictures, or an archive of both."))
    if len(files) > MOST_FILES:
        raise UploadError(
            _("These are %(count)d files, and at most %(most)d are taken: pack them into an archive.")
            % {"count": len(files), "most": MOST_FILES}
        )
    for path, size in files:
        parts = path.split("/")
        if not all(map(is_safe_name, parts)) or len(parts) > _DEEPEST or len(path) > 1000 or size < 0:
            raise UploadError(
                _("The file name %(name)s is refused: rename the file.") % {"name": short_repr(path)}
            )
    if len({path for path, _ in files}) < len(files):
        raise UploadError(_("Two files have the same name: choose each once."))


def _root() -> Path:
    return Path(settings.DATA_DIR) / FOLDER


def _all() -> Iterator[Upload]:
    for folder in _root().iterdir() if _root().is_dir() else ():
        if (upload := _stored(folder.name)) is not None:
            yield upload


def _stored(key: str) -> Upload | None:
    if not _KEY.fullmatch(key):
        return None
    manifest = _root() / key / _MANIFEST
    try:
        # Read its time at each call, so that a removed upload is not returned.
        return _read_manifest(manifest, manifest.stat().st_mtime_ns)
    except (OSError, ValueError, KeyError, TypeError):
        return None


@lru_cache(maxsize=8)  # each has up to MOST_FILES files
def _read_manifest(manifest: Path, changed: int) -> Upload:
    """Return the upload of a manifest, which is read once, and not for every part."""
    content = json.loads(manifest.read_text(encoding="utf-8"))
    content["files"] = tuple((str(path), int(size)) for path, size in content["files"])
    return Upload(key=manifest.parent.name, **content)
