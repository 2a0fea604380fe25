"""Pictures without captions, which people are to write: a folder of them, or a list of their names.

In a folder, all pictures below it are images. The split of one is that of the list which names it
(`train.txt`, a name in each line), or that of a folder on its path (`train`). A file instead of a folder is a
list of all images.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from annotation.formats.base import FORMATS, Format, report_problem
from annotation.formats.checks import LocatedRecord, checked_records
from annotation.formats.files.folders import files_below, is_picture, pictures_below
from annotation.formats.names import Pictures, listed_splits, path_in_source
from annotation.protocol.terms import ImageRecord
from phrasebox.text_files import FormatError, lines, short_repr

#: Names of folders and lists, in lower case, and the splits they mean.
_SPLITS = {"train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val"}
_SPLITS |= {"dev": "val", "test": "test", "testing": "test"}
#: Extensions of files that may contain captions.
_DATA = (".csv", ".tsv", ".txt", ".token", ".json", ".jsonl", ".parquet", ".xml")
_SHAPE = "a folder of pictures, or a list of their names"


class PicturesOnly(Format):
    """Pictures and splits."""

    key = "pictures"
    title = "Pictures without captions (a folder of pictures, or a list of their names)"
    reads = True
    captioned = False

    def read(self, path: Path, *, images: Path | None = None) -> Iterator[ImageRecord]:
        """Yield the images of `path`, by name, or in the order of the list.

        A file that may contain captions is a FormatError: its format should be named.
        """
        located = self._listed(path, images) if path.is_file() else self._below(path)
        return checked_records(located, source=path, expected=_SHAPE)

    def _listed(self, file: Path, images: Path | None) -> Iterator[LocatedRecord]:
        folder = images or file.parent
        pictures = Pictures(folder)
        for number, line in lines(file):
            if not (name := path_in_source(line)):
                continue
            try:
                picture = pictures.find(name) if is_picture(name) else None
                if picture is None:
                    raise FormatError(
                        f"{short_repr(name)} is no picture in {folder}",
                        file=file,
                        line=number,
                        expected="the name of a picture in each line",
                    )
            except FormatError as error:
                report_problem(error)
                continue
            yield ImageRecord(id="", filename=name, captions=(), picture=picture), file, number

    def _below(self, folder: Path) -> Iterator[LocatedRecord]:
        lists: dict[Path, str] = {}
        for path, cluttered in files_below(folder):
            file = Path(path)
            if file.suffix == ".txt" and file.stem.lower() in _SPLITS:
                lists[file] = _SPLITS[file.stem.lower()]
            elif file.suffix.lower() in _DATA and not cluttered:
                expected = "pictures and lists of splits alone; name the format of the captions"
                raise FormatError("may contain captions", file=file, expected=expected)
        files = [Path(path) for path, cluttered in pictures_below(folder) if not cluttered]
        root = os.path.commonpath([file.parent for file in files] or [folder])
        pictures = {str(file.relative_to(root)): file for file in files}
        listed = listed_splits(lists, pictures)
        for name, file in pictures.items():
            parents = (_SPLITS.get(part.lower()) for part in file.relative_to(folder).parent.parts)
            split = listed.get(name) or next(filter(None, parents), "")
            yield ImageRecord(id="", filename=name, captions=(), split=split, picture=file), file, None


FORMATS.register(PicturesOnly.key, PicturesOnly())
