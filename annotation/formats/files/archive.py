"""Unpack archives for a reader, and reject hostile ones.

Only plain files and folders are extracted; every byte is counted as it is written, whatever sizes the
archive's directory claims.
"""

import bz2
import gzip
import lzma
import shutil
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any

from phrasebox.text_files import FormatError, open_bytes, short_repr

_CHUNK = 256 * 1024

_COMPRESSED: dict[str, Callable[..., Any]] = {
    ".tar.gz": gzip.open,
    ".tgz": gzip.open,
    ".tar.bz2": bz2.open,
    ".tbz2": bz2.open,
    ".tar.xz": lzma.open,
    ".txz": lzma.open,
}

_DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    gzip.BadGzipFile,
    lzma.LZMAError,
    zlib.error,
    struct.error,
    EOFError,
    UnicodeError,
)


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Limits of an archive: bytes in all, entries, and bytes per byte of archive.

    The ratio applies only beyond `ratio_from` bytes, since small texts may compress well. Flickr30k's
    pictures are 4.4 GB in 31,783 files and do not compress; its captions compress fivefold.
    """

    size: int = 64 * 1024**3
    entries: int = 1_000_000
    ratio: int = 200
    ratio_from: int = 64 * 1024**2


DEFAULT_LIMITS = ArchiveLimits()

#: Maximum size of a tar header, long names included; tarfile reads headers into memory.
_LONGEST_HEADER = 1024 * 1024


def is_archive(path: Path) -> bool:
    """Whether the name ends in .zip, .tar, .tar.gz, .tgz, .tar.bz2, .tbz2, .tar.xz or .txz."""
    return path.name.lower().endswith((".zip", ".tar", *_COMPRESSED))


@contextmanager
def unpacked_source(
    path: Path,
    *,
    workdir: Path | None = None,
    limits: ArchiveLimits = DEFAULT_LIMITS,
    unpack: Callable[[Path, Path, ArchiveLimits], Iterable[ArchiveLimits]] | None = None,
) -> Iterator[Path]:
    """Yield `path` itself, or for an archive a folder with its content, removed when the context ends.

    `unpack` works like `unpack_archive`. The folder is created in `workdir`, by default in the folder of
    temporary files. Raises FormatError, leaving nothing behind, for an entry that leads outside, a link, a
    device, a damaged or encrypted archive, and one that exceeds `limits`.
    """
    if path.is_dir() or not is_archive(path):
        yield path
        return
    if workdir is not None:
        workdir.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="archive-", dir=workdir))
    try:
        for _ in (unpack or unpack_archive)(path, folder, limits):
            pass
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unpack_archive(path: Path, folder: Path, limits: ArchiveLimits) -> Iterator[ArchiveLimits]:
    """Unpack the archive `path` into `folder`, created if missing; yield, entry by entry, the rest of the
    limits for further archives.

    Raises FormatError as `unpacked_source` does; what was unpacked until then stays there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    unpacker = _Unpacker(path, folder, limits)
    try:
        if path.name.lower().endswith(".zip"):
            yield from _unpack_zip(path, unpacker)
        else:
            yield from _unpack_tar(path, unpacker)
    except _DAMAGED as error:
        raise unpacker.refuse(f"is damaged ({error or type(error).__name__})", "a whole archive") from error
    except (NotImplementedError, RuntimeError) as error:
        raise unpacker.refuse(f"cannot be unpacked ({error})", "plain deflate, bzip2 or xz") from error
    except OSError as error:
        # bz2 reports damage as an OSError without a number; others come from the disk.
        why = error.strerror or str(error)
        raise unpacker.refuse(f"cannot be unpacked ({why})", "a whole archive and room for it") from error


class _Unpacker:
    """Writes entries below one folder and counts them."""

    def __init__(self, archive: Path, folder: Path, limits: ArchiveLimits) -> None:
        self.archive = archive
        self.folder = folder
        self.limits = limits
        self.packed = archive.stat().st_size if archive.is_file() else 0
        self.size = 0
        self.entries = 0

    @property
    def left(self) -> ArchiveLimits:
        """Return the rest of the limits."""
        size, entries = self.limits.size - self.size, self.limits.entries - self.entries
        return replace(self.limits, size=size, entries=entries)

    def refuse(self, problem: str, expected: str) -> FormatError:
        return FormatError(problem, file=self.archive, expected=expected)

    def target_of(self, name: str) -> Path:
        """Return the target of the entry `name`. Raises FormatError if it is not inside the folder."""
        self.entries += 1
        if self.entries > self.limits.entries:
            raise self.refuse("holds too many entries", f"at most {self.limits.entries}")
        # Windows tools write backslashes.
        posix = PurePosixPath(name.replace("\\", "/"))
        drive = posix.parts[0].endswith(":") if posix.parts else False
        if posix.is_absolute() or drive or ".." in posix.parts or "\x00" in name:
            raise self.refuse(
                f"the entry {short_repr(name)} leads outside its folder", "entries below one folder"
            )
        return self.folder.joinpath(*posix.parts)

    def make_folder(self, name: str) -> None:
        self.target_of(name).mkdir(parents=True, exist_ok=True)

    def copy(self, name: str, source: IO[bytes]) -> None:
        """Write one entry, stopping at the first byte too many."""
        target = self.target_of(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = target.open("xb")
        except FileExistsError as error:
            raise self.refuse(f"the entry {short_repr(name)} appears twice", "each entry once") from error
        with file:
            while data := source.read(_CHUNK):
                self.size += len(data)
                self.check_growth(self.size)
                file.write(data)

    def check_growth(self, size: int) -> None:
        """Raise FormatError if `size` unpacked bytes exceed the limits."""
        if size > self.limits.size:
            raise self.refuse(f"holds more than {self.limits.size} bytes", "a smaller archive, or a folder")
        if size > self.limits.ratio_from and size > self.limits.ratio * self.packed:
            raise self.refuse(
                f"grows more than {self.limits.ratio}-fold, as decompression bombs do",
                "an ordinary archive, or a folder",
            )


def _unpack_zip(path: Path, unpacker: _Unpacker) -> Iterator[ArchiveLimits]:
    with open_bytes(path) as stream, zipfile.ZipFile(stream) as archive:
        for entry in archive.infolist():
            mode = entry.external_attr >> 16
            if entry.flag_bits & 0x1:
                raise unpacker.refuse(
                    f"the entry {short_repr(entry.filename)} is encrypted", "an archive without password"
                )
            if entry.filename.endswith(("/", "\\")):
                unpacker.make_folder(entry.filename)
            elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                raise _special(unpacker, entry.filename, stat.S_ISLNK(mode))
            else:
                with archive.open(entry) as source:
                    unpacker.copy(entry.filename, source)
            yield unpacker.left


def _unpack_tar(path: Path, unpacker: _Unpacker) -> Iterator[ArchiveLimits]:
    with open_bytes(path) as packed, _decompressed(path, packed) as unpacked:
        with tarfile.open(fileobj=_Guarded(unpacked, unpacker), mode="r:") as archive:  # type: ignore[call-overload]
            while entry := archive.next():
                if entry.isdir():
                    unpacker.make_folder(entry.name)
                elif not entry.isreg():
                    raise _special(unpacker, entry.name, entry.islnk() or entry.issym())
                elif source := archive.extractfile(entry):
                    unpacker.copy(entry.name, source)
                # Otherwise it stores every entry.
                archive.members.clear()
                yield unpacker.left


def _decompressed(path: Path, packed: IO[bytes]) -> IO[bytes]:
    for ending, decompress in _COMPRESSED.items():
        if path.name.lower().endswith(ending):
            unpacked: IO[bytes] = decompress(packed)
            return unpacked
    return packed


def _special(unpacker: _Unpacker, name: str, link: bool) -> FormatError:
    what = "a link" if link else "a device or another special file"
    return unpacker.refuse(f"the entry {short_repr(name)} is {what}", "plain files and folders only")


class _Guarded:
    """A decompressed tar whose reads are bounded: a forged header length cannot fill the memory."""

    def __init__(self, stream: IO[bytes], unpacker: _Unpacker) -> None:
        self._stream = stream
        self._unpacker = unpacker
        self.tell = stream.tell
        self.close = stream.close

    def read(self, size: int) -> bytes:
        if size > _LONGEST_HEADER:
            raise self._unpacker.refuse(f"has a header of {size} bytes", f"at most {_LONGEST_HEADER}")
        data = self._stream.read(size)
        self._unpacker.check_growth(self._stream.tell())
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)
