"""The unpacked size of an uploaded file, before it is read."""

import zipfile
from pathlib import Path

from evaluation.formats.feature_files import FEATURE_SUFFIXES, unpacked_bytes
from phrasebox.formats.arrays import SUFFIXES
from phrasebox.text_files import unpacked_size


def bytes_inside(path: Path, most: int) -> int:
    """Return the bytes that a packed file unpacks to, or any larger number above `most`; 0 for a file that
    cannot be unpacked."""
    if path.suffix.lower() == ".gz":
        return unpacked_size(path, most)
    if path.suffix.lower() in FEATURE_SUFFIXES and path.suffix.lower() not in SUFFIXES:
        return unpacked_bytes(path)
    try:
        with zipfile.ZipFile(path) as archive:
            # No member is unpacked beyond its declared size.
            return sum(member.file_size for member in archive.infolist())
    except zipfile.BadZipFile:
        return 0
