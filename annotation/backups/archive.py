"""The file of a backup: a tar that is written and read as a stream.

Its first member describes it, its last one lists the size and SHA-256 of every other, one per line. So a
truncated file has no last member, and at most one file is in memory, a piece at a time.
"""

import contextlib
import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from typing import IO, Any

from annotation.backups import BackupError, contents

#: Name and version of the layout in the first member.
FORMAT, VERSION = "phrasebox backup", 1
ABOUT_MEMBER, SUMS = "about.json", "checksums.jsonl"
PARTIAL = ".partial"
_PIECE = 1 << 20
#: The first member has a few kilobytes; it is the only one that is read into memory.
_LARGEST_ABOUT = 1 << 20
#: Exceptions that a damaged tar raises.
_DAMAGED = (tarfile.TarError, EOFError, ValueError, OverflowError, IndexError, UnicodeError)


class Writer:
    """Adds members to a new backup."""

    def __init__(self, tar: tarfile.TarFile, sums: IO[bytes]) -> None:
        self._tar = tar
        self._sums = sums
        self.files = 0

    def add(self, name: str, path: Path) -> None:
        """Add the file at `path` as the member `name`; nothing if it was removed meanwhile."""
        try:
            source = path.open("rb")
        except FileNotFoundError:
            return
        except OSError as error:
            raise BackupError(f"{path}: {error.strerror}; a backup must be able to read it") from error
        with source:
            status = os.fstat(source.fileno())
            self.put(name, source, status.st_size, mode=status.st_mode & 0o777, mtime=int(status.st_mtime))

    def put(self, name: str, source: IO[bytes], size: int, *, mode: int = 0o600, mtime: int = 0) -> None:
        """Add `size` bytes of `source` as the member `name`."""
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode, entry.mtime = size, mode, mtime
        hashed = _Hashed(name, source)
        self._tar.addfile(entry, hashed)  # type: ignore[arg-type]
        # Otherwise it stores every entry.
        self._tar.members.clear()  # type: ignore[attr-defined]
        self._sums.write(_line(name, size, hashed.digest()))
        self.files += 1


@contextlib.contextmanager
def write_backup(target: Path, about: dict[str, Any]) -> Iterator[Writer]:
    """Write the backup `target`, readable only by its owner; it exists once it is complete."""
    target = target.absolute()
    if os.path.lexists(target):
        raise BackupError(f"{target} already exists; choose another name")
    partial = target.with_name(f".{target.name}{PARTIAL}")
    try:
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise BackupError(
            f"{partial} is being written by another backup, or was left by one that was killed; "
            "delete it in that case"
        ) from None
    except OSError as error:
        raise BackupError(f"{target} cannot be written: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            # Independent of this process's umask.
            os.fchmod(handle, 0o600)
            with (
                tarfile.open(fileobj=file, mode="w:", format=tarfile.PAX_FORMAT) as tar,
                tempfile.TemporaryFile(dir=target.parent) as sums,
            ):
                writer = Writer(tar, sums)
                first = json.dumps({"format": FORMAT, "version": VERSION, **about}, indent=1).encode()
                writer.put(ABOUT_MEMBER, io.BytesIO(first), len(first))
                yield writer
                size = sums.tell()
                sums.seek(0)
                writer.put(SUMS, sums, size)
            file.flush()
            os.fsync(handle)
        os.rename(partial, target)
        _sync(target.parent)
    except OSError as error:
        raise BackupError(
            f"{target} cannot be written: {error.strerror or error}; nothing is left of it"
        ) from error
    finally:
        partial.unlink(missing_ok=True)


class Reader:
    """Reads a backup: its description, then all of it, checked."""

    def __init__(self, tar: tarfile.TarFile, about: dict[str, Any], first: bytes) -> None:
        self.about = about
        self._tar = tar
        self._first = first

    def unpack(self, into: Path, *, expected: Callable[[str], bool]) -> int:
        """Write all members below the empty folder `into`, and compare them with the checksums; return their
        number.

        `expected` returns whether a name may occur. Raises BackupError, after which `into` is unusable.
        """
        with tempfile.TemporaryFile(dir=into) as members:
            members.write(_line(ABOUT_MEMBER, len(self._first), hashlib.sha256(self._first).hexdigest()))
            files = 0
            while entry := self._tar.next():
                self._tar.members.clear()  # type: ignore[attr-defined]
                if not _is_regular_file(entry):
                    raise BackupError(f"{entry.name!r} is not a plain file; a backup holds only plain files")
                if entry.name == SUMS:
                    members.seek(0)
                    self._compare(entry, members)
                    return files
                if not _is_inside(entry.name) or not expected(entry.name):
                    raise BackupError(f"{entry.name!r} does not belong in a backup of this version")
                members.write(_line(entry.name, entry.size, self._write(entry, into / entry.name)))
                files += 1
        raise BackupError("its list of checksums is missing: it was cut short, or is damaged")

    def _write(self, entry: tarfile.TarInfo, target: Path) -> str:
        """Write a member to `target`; return its SHA-256."""
        target.parent.mkdir(parents=True, exist_ok=True)
        source = _of(self._tar, entry)
        try:
            handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            raise BackupError(f"{entry.name!r} appears in it twice") from None
        digest = hashlib.sha256()
        with os.fdopen(handle, "wb") as file:
            while piece := source.read(_PIECE):
                digest.update(piece)
                file.write(piece)
            os.fchmod(handle, entry.mode & 0o700)
        os.utime(target, (entry.mtime, entry.mtime))
        return digest.hexdigest()

    def _compare(self, entry: tarfile.TarInfo, listed: IO[bytes]) -> None:
        """Compare the written lines of checksums with the computed ones."""
        for expected, line in zip_longest(_of(self._tar, entry), listed, fillvalue=b""):
            if expected != line:
                name = json.loads(line)["name"] if line else "something"
                raise BackupError(f"{name!r} differs from what was written: the file is damaged")
        if self._tar.next() is not None:
            raise BackupError("it continues after its list of checksums: it is damaged")


@contextlib.contextmanager
def open_backup(path: Path) -> Iterator[Reader]:
    """Read the backup at `path`. Raises BackupError for other files, damaged ones, and other layouts."""
    try:
        with path.open("rb") as file, tarfile.open(fileobj=file, mode="r:") as tar:
            yield _begun(tar)
    except BackupError as error:
        raise BackupError(f"{path}: {error}") from error
    except _DAMAGED as error:
        raise BackupError(f"{path}: it is not a backup, or it is damaged ({error})") from error
    except OSError as error:
        raise BackupError(f"{path}: {error.strerror or error}") from error


def _begun(tar: tarfile.TarFile) -> Reader:
    entry = tar.next()
    if (
        entry is None
        or entry.name != ABOUT_MEMBER
        or not _is_regular_file(entry)
        or entry.size > _LARGEST_ABOUT
    ):
        raise BackupError("it is not a backup")
    first = _of(tar, entry).read()
    about = json.loads(first)
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise BackupError("it is not a backup")
    if about.get("version") != VERSION:
        raise BackupError(f"its layout is {about.get('version')!r}, and this version reads {VERSION}")
    return Reader(tar, about, first)


def in_folders(name: str) -> bool:
    """Whether a member's name is that of a file in a folder of the backup."""
    parts = name.split("/")
    return len(parts) > 1 and parts[0] in contents.FOLDERS_BACKED_UP


def _is_regular_file(entry: tarfile.TarInfo) -> bool:
    """Whether a member is a plain file as `Writer` writes one: no link, no device, not sparse."""
    return entry.type == tarfile.REGTYPE and entry.sparse is None


def _is_inside(name: str) -> bool:
    """Whether a name is a relative path downwards."""
    return (
        bool(name)
        and "\x00" not in name
        and str(PurePosixPath(name)) == name
        and not name.startswith("/")
        and not {".", ".."} & set(name.split("/"))
    )


def _of(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    source = tar.extractfile(entry)
    assert source is not None  # a plain file
    return source


def _line(name: str, size: int, sha256: str) -> bytes:
    return json.dumps({"name": name, "size": size, "sha256": sha256}).encode() + b"\n"


class _Hashed:
    """A file that is hashed while it is read."""

    def __init__(self, name: str, source: IO[bytes]) -> None:
        self._name = name
        self._source = source
        self._digest = hashlib.sha256()

    def read(self, size: int) -> bytes:
        """Return exactly `size` bytes."""
        try:
            piece = self._source.read(size)
        except OSError as error:
            raise BackupError(f"{self._name} cannot be read: {error.strerror}") from error
        if len(piece) < size:
            raise BackupError(f"{self._name} became shorter while it was copied; run the backup again")
        self._digest.update(piece)
        return piece

    def digest(self) -> str:
        return self._digest.hexdigest()


def _sync(folder: Path) -> None:
    """Write renames in `folder` to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
