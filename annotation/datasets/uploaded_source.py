"""Turn an upload into a source that can be imported: unpacked, with its format guessed.

Checking it and importing it are one path, `import_corpus`, as for the command: so both list the same
problems.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath

from annotation.common.readers import read, stream
from annotation.datasets.english import EnglishShare
from annotation.datasets.importing import import_corpus
from annotation.datasets.intake import ImportHow, ImportReport
from annotation.datasets.source_problems import IntakeError, SourceProblem, SourceProblems
from annotation.datasets.uploads import Upload, free_bytes
from annotation.formats import FORMATS
from annotation.formats.base import FORMAT_FOLDERS
from annotation.formats.files.archive import DEFAULT_LIMITS, is_archive, unpack_archive
from annotation.formats.source_records import readable_format
from annotation.images import pictures
from annotation.images.decoding import write_small_copy
from annotation.models import Account
from annotation.protocol.terms import ImageRecord
from phrasebox.balance import BalanceSheet
from phrasebox.text_files import FormatError

#: Number of rows of the preview, captions of each, and the longer side of its pictures in pixels.
PREVIEW_ROWS, _PREVIEW_CAPTIONS, _PREVIEW_SIDE = 20, 5, 240
_TREE, _PREVIEW, PROBLEMS_FILE = "source", "preview", "problems.jsonl"
#: File of the SHA-256 of all files of an upload, in the format of `sha256sum`.
SHA256_FILE = "sha256.txt"
_CHUNK = 2**20

_ReportProgress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """An image of the preview: its file name and captions, and whether there is a small picture of it."""

    filename: str
    captions: list[str]
    picture: bool


@dataclass(frozen=True, slots=True)
class CheckedUpload:
    """The content of an upload: its files' SHA-256 by path, its format, valid records, problems, balance
    sheet, first rows, and the share of captions that count as English."""

    sha256: dict[str, str]
    format: str
    images: int
    captions: int
    pictures: int
    mentions: int
    problems: list[SourceProblem]
    sheet: BalanceSheet
    rows: list[PreviewRow]
    english: float


def check_upload(upload: Upload, *, format: str = "", report_progress: _ReportProgress) -> CheckedUpload:
    """Check an upload like `import_upload` would import it; `format` if it is not to be guessed.

    `report_progress` gets the current step and the share of the whole. Raises IntakeError and FormatError if
    nothing of it can be read, with the sender's file names. An earlier tree of the upload is replaced.
    """
    if not upload.complete:
        raise IntakeError("some of the files have not come yet; send them to the end, then check them")
    sha256 = {}
    for file in upload.progress():
        report_progress("reading", 0.15 * file.number / len(upload.files))
        with upload.file_path(file.number).open("rb") as stream:
            sha256[file.path] = hashlib.file_digest(stream, "sha256").hexdigest()
    with (upload.folder / SHA256_FILE).open("w", encoding="utf-8") as listed:
        listed.writelines(f"{digest}  {path}\n" for path, digest in sha256.items())
    report_progress("unpacking", 0.15)
    looking = _Looking(upload, report_progress)
    shutil.rmtree(upload.folder / _PREVIEW, ignore_errors=True)
    with _names_of_sender(upload):
        _build_tree(upload)
        format = format or guess_format(upload.folder / _TREE)
        try:
            report = _imported(upload, format, looking.at, ImportHow(dry_run=True))
        except SourceProblems as error:
            report, problems_read = None, error.problems
    problems = [
        _known(problem, upload) for problem in (report.problems if report is not None else problems_read)
    ]
    with (upload.folder / PROBLEMS_FILE).open("w", encoding="utf-8") as listed:
        listed.writelines(f"{json.dumps(problem.as_dict())}\n" for problem in problems)
    return CheckedUpload(
        sha256=sha256,
        format=format,
        images=report.images if report else 0,
        captions=report.captions if report else 0,
        pictures=report.pictures if report else 0,
        mentions=report.mentions if report else 0,
        problems=problems,
        sheet=report.sheet if report else BalanceSheet(),
        rows=looking.rows,
        english=looking.english.share,
    )


def import_upload(
    upload: Upload,
    *,
    format: str,
    skip_problems: bool,
    leave_unused: bool,
    actor: Account | None = None,
    progress: Callable[[Iterable[ImageRecord]], Iterable[ImageRecord]] = iter,
) -> ImportReport:
    """Import an upload after `check_upload`, or add it to its corpus; its files stay. Raises as that does,
    with the sender's names."""
    with _names_of_sender(upload):
        _build_tree(upload)
        how = ImportHow(skip_problems=skip_problems, leave_unused=leave_unused, actor=actor)
        return _imported(upload, format, progress, how)


def preview_picture(upload: Upload, number: int) -> Path:
    """Return the path of the small picture of a row of the preview, from 0."""
    return upload.folder / _PREVIEW / f"{number}.jpg"


def guess_format(source: Path) -> str:
    """Return the key of the first format that reads an image from the files of a folder.

    Raises FormatError with the requirements of each format if there is none.
    """
    if format := read(readable_format, source, tuple(FORMAT_FOLDERS.packages)):
        return format
    known = ", ".join(reader.key for reader in FORMATS if reader.reads)
    raise FormatError(
        "holds no images in a format that is known",
        file="upload",
        expected=f"pictures, or captions as one of: {known}; see docs/formats.md",
    )


def _imported(
    upload: Upload,
    format: str,
    progress: Callable[[Iterable[ImageRecord]], Iterable[ImageRecord]],
    how: ImportHow,
) -> ImportReport:
    names = ", ".join(PurePosixPath(path).name for path, _ in islice(upload.files, 3))
    more = len(upload.files) - 3
    return import_corpus(
        name=upload.name,
        path=upload.folder / _TREE,
        format=format,
        progress=progress,
        how=replace(
            how,
            add=upload.add,
            source=f"upload of {names}" + (f" and {more} more files" if more > 0 else ""),
        ),
    )


def _known(problem: SourceProblem, upload: Upload) -> SourceProblem:
    """Return the problem with the sender's names."""
    file, what, remedy = (_named(text, upload) for text in (problem.file, problem.what, problem.remedy))
    return replace(problem, file=file, what=what, remedy=remedy)


def _named(text: str, upload: Upload) -> str:
    """Return a text with the sender's file names, and the upload's name instead of its folder."""
    tree = str(upload.folder / _TREE)
    text = text.replace(f"{tree}/", "").replace(tree, upload.name)
    return text.replace(str(upload.folder), upload.name)


@contextmanager
def _names_of_sender(upload: Upload) -> Iterator[None]:
    """Within, errors of an upload have the sender's names."""
    try:
        yield
    except SourceProblems as error:
        raise SourceProblems(
            upload.name, (_known(problem_named, upload) for problem_named in error.problems)
        ) from error
    except FormatError as error:
        problem, file, expected = (
            _named(text, upload) for text in (error.problem, error.file, error.expected)
        )
        raise FormatError(problem, file=file, line=error.line, expected=expected) from error
    except (IntakeError, pictures.PictureError) as error:
        raise IntakeError(_named(str(error), upload)) from error
    except OSError as error:
        raise IntakeError(
            f"the files could not be read: {error.strerror or type(error).__name__}; try again later"
        ) from error


def _build_tree(upload: Upload) -> None:
    """Put the files where a format finds them, with archives unpacked.

    Raises FormatError for rejected archives, IntakeError if the disk is full.
    """
    tree = upload.folder / _TREE
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()
    limits = DEFAULT_LIMITS  # for all archives together
    try:
        for file in upload.progress():
            target, source = tree / file.path, upload.file_path(file.number)
            if is_archive(target):
                limits = replace(limits, size=min(limits.size, free_bytes()))
                folder = tree / PurePosixPath(file.path).name.partition(".")[0]
                try:
                    for left in stream(unpack_archive, source, folder, limits):
                        limits = left
                except FormatError as error:
                    raise FormatError(
                        error.problem, file=file.path, line=error.line, expected=error.expected
                    ) from error
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                os.link(source, target)
    except OSError as error:
        raise IntakeError(f"the files could not be unpacked ({error.strerror}); try again later") from error


class _Looking:
    """Observes the reading of an upload: stores its first rows, and counts English captions."""

    def __init__(self, upload: Upload, report_progress: _ReportProgress) -> None:
        self.upload = upload
        self.report_progress = report_progress
        self.rows: list[PreviewRow] = []
        self.english = EnglishShare()

    def at(self, records: Iterable[ImageRecord]) -> Iterator[ImageRecord]:
        for number, record in enumerate(records):
            self.english.add(caption.text for caption in record.captions)
            if len(self.rows) < PREVIEW_ROWS:
                captions = [caption.text for caption in record.captions[:_PREVIEW_CAPTIONS]]
                self.rows.append(PreviewRow(record.filename, captions, self._small(record)))
            # The total is unknown before the end; the share approaches it.
            self.report_progress("checking", 0.3 + 0.7 * number / (number + 2000))
            yield record

    def _small(self, record: ImageRecord) -> bool:
        """Create the small picture of a row; return whether that succeeded."""
        if record.picture is None:
            return False
        try:
            pictures.check_picture(record.picture)
            target = preview_picture(self.upload, len(self.rows))
            target.parent.mkdir(exist_ok=True)
            read(write_small_copy, record.picture, target, _PREVIEW_SIDE)
        except (pictures.PictureError, FormatError, OSError):
            return False
        return True
