"""How much a file holds that was sent, before it is read."""

import zipfile
from pathlib import Path

from evaluation.formats.feature_files import FEATURE_SUFFIXES, unpacked_bytes
from phrasebox.formats.arrays import SUFFIXES
from phrasebox.text_files import unpacked_size


def bytes_inside(path: Path, most: int) -> int:
    """Bytes that a packed file unpacks to, at least where above `most`; 0 of what cannot be unpacked."""
    if path.suffix.lower() == ".gz":
        return unpacked_size(path, most)
    if path.suffix.lower() in FEATURE_SUFFIXES and path.suffix.lower() not in SUFFIXES:
        return unpacked_bytes(path)
    try:
        with zipfile.ZipFile(path) as archive:
            # No more is unpacked of a member than it says.
            return sum(member.file_size for member in archive.infolist())
    except zipfile.BadZipFile:
        return 0
