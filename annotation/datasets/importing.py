"""Import corpora: a stream of records becomes rows and pictures, all of them or none.

A corpus is validated and written in one pass, in chunks, hidden, and published by one statement at the end.
Until then its pictures are in a folder of the import. The remains of a killed import are removed by the next
one of that name.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

from django.conf import settings

from annotation.common.locks import locked_folder
from annotation.common.readers import stream
from annotation.datasets.intake import STRICT, CorpusIntake, ImportHow, ImportReport, being_imported
from annotation.datasets.source_problems import IntakeError, SourceProblem, SourceProblems
from annotation.formats import FORMATS
from annotation.formats.base import FORMAT_FOLDERS, tell_problem
from annotation.formats.files.archive import unpack_archive, unpacked_source
from annotation.formats.files.folders import apart_from, pictures_below
from annotation.formats.source_records import SourceFault, read_records
from annotation.images import pictures
from annotation.protocol.terms import ImageRecord
from phrasebox.registry import UnknownName
from phrasebox.text_files import FormatError

#: The folder of pictures beside a file of captions.
_PICTURES = "images"
_NAME = re.compile(r"[-a-zA-Z0-9_]{1,100}")

_Progress = Callable[[Iterable[ImageRecord]], Iterable[ImageRecord]]


def import_corpus(
    *,
    name: str,
    path: Path,
    format: str,
    images: Path | None = None,
    progress: _Progress = iter,
    how: ImportHow = STRICT,
) -> ImportReport:
    """Import `path` (a file, a folder, or an archive of either) as the corpus `name`.

    `format` is a key of FORMATS; `images` is the folder of pictures if the format does not define it. If the
    corpus exists with the same content, nothing changes. The whole source is read, in spite of problems;
    `how` says how they are handled. Raises UnknownName for an unknown format, FormatError and PictureError
    for a source with one problem, SourceProblems for one with several, Busy while another process imports the
    same name, else IntakeError; then nothing of the import remains.
    """
    reader = FORMATS.get(format)
    if not reader.reads:
        readable = ", ".join(entry.key for entry in FORMATS if entry.reads)
        raise UnknownName(f"format {format!r} is for export only; for import: {readable}")
    if not path.exists():
        raise IntakeError(f"{path}: no such file or folder; expected a corpus in the format {format}")
    if images is not None and not images.is_dir():
        raise IntakeError(f"{images}: no such folder; expected the folder of pictures")
    _check_name(name)
    with (
        apart_from(settings.DATA_DIR),
        _alone(name) as folder,
        _unpacked(path, folder / "unpacked") as source,
    ):
        taking = CorpusIntake(name, format, how.source or str(path), folder / "pictures", how)
        named, images = images is not None, images or pictures_beside(source)
        try:
            report = taking.take(
                progress(_records(format, source, images)),
                pictures_in=images,
                pictured=named,
                source=source if source.is_dir() else None,
            )
        except SourceProblems as error:
            raise SourceProblems(str(path), _as_known(error.problems, source, path)) from error
        except (FormatError, pictures.PictureError, IntakeError) as error:
            if source == path:
                raise
            # The message must contain the user's archive, not the temporary folder.
            raise IntakeError(str(error).replace(str(source), str(path))) from error
    return replace(report, problems=_as_known(report.problems, source, path))


def _unpacked(path: Path, workdir: Path) -> AbstractContextManager[Path]:
    return unpacked_source(path, workdir=workdir, unpack=partial(stream, unpack_archive))


def _records(format: str, source: Path, images: Path | None) -> Iterator[ImageRecord]:
    """Yield the records of a source, and report its problems."""
    packages, data_dir = tuple(FORMAT_FOLDERS.packages), str(settings.DATA_DIR)
    for part in stream(read_records, format, source, images, packages, data_dir):
        if isinstance(part, SourceFault):
            tell_problem(part.error())
        else:
            yield part


def pictures_beside(source: Path) -> Path | None:
    """Return the folder within a source folder that contains its pictures, or the source if several do;
    beside a file, the folder `images`. None if there are no pictures except thumbnails."""
    where = source if source.is_dir() else source.parent / _PICTURES
    folders = {os.path.dirname(path) for path, cluttered in pictures_below(where) if not cluttered}
    return Path(folders.pop()) if len(folders) == 1 else where if folders else None


def _as_known(problems: Iterable[SourceProblem], source: Path, path: Path) -> tuple[SourceProblem, ...]:
    """Return the problems with paths within the user's archive instead of the temporary folder."""
    if source == path:
        return tuple(problems)
    return tuple(
        replace(
            row,
            file=row.file.replace(f"{source}/", "").replace(str(source), path.name),
            what=row.what.replace(f"{source}/", ""),
            remedy=row.remedy.replace(str(source), path.name),
        )
        for row in problems
    )


def import_records(
    *, name: str, records: Iterable[ImageRecord], format: str, source: str, progress: _Progress = iter
) -> ImportReport:
    """Like `import_corpus`, for existing records; `format` and `source` describe their origin."""
    _check_name(name)
    with _alone(name) as folder:
        return CorpusIntake(name, format, source, folder / "pictures").take(progress(records))


def corpus_name_is_valid(name: str) -> bool:
    """Whether the name is valid for a corpus."""
    return _NAME.fullmatch(name) is not None


def _check_name(name: str) -> None:
    if not corpus_name_is_valid(name):
        raise IntakeError(
            f"corpus name {name!r}: expected letters, digits, hyphens or underscores, at most 100 of them"
        )


def _alone(name: str) -> AbstractContextManager[Path]:
    return locked_folder(f"import.{name}", busy=being_imported(name))
