"""What readers of a corpus's source return (`annotation.common.readers`): its records, and its problems."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from annotation.formats import base
from annotation.formats.files.folders import apart_from, count_files
from annotation.protocol.terms import ImageRecord
from phrasebox.registry import Registry
from phrasebox.text_files import FormatError


@dataclass(frozen=True, slots=True)
class SourceFault:
    """A FormatError as plain data."""

    problem: str
    file: str
    line: int | None
    expected: str
    no_valid_image: bool
    pictures: tuple[str, ...]

    def error(self) -> FormatError:
        """Return the error."""
        error = FormatError(self.problem, file=self.file, line=self.line, expected=self.expected)
        error.no_valid_image, error.pictures = self.no_valid_image, self.pictures
        return error


def read_records(
    format: str, source: Path, images: Path | None, packages: Sequence[str], apart: str
) -> Iterator[ImageRecord | SourceFault]:
    """Yield the records of a source, and between them its problems; `packages` contain further formats, and
    the folder `apart` does not belong to the source."""
    with apart_from(apart):
        yield from _records(format, source, images, packages)


def _records(
    format: str, source: Path, images: Path | None, packages: Sequence[str]
) -> Iterator[ImageRecord | SourceFault]:
    faults: list[SourceFault] = []

    def note(error: FormatError) -> None:
        about = error.problem, error.file, error.line, error.expected
        faults.append(SourceFault(*about, error.no_valid_image, error.pictures))

    reader = _formats(packages).get(format)
    records = reader.read(source, images=images)
    record: ImageRecord | None = None
    while True:
        try:
            with base.problems_reported_to(note):
                record = next(records, None)
        except FormatError:
            count_files(source, reader.companions)
            yield from faults
            raise
        yield from faults
        faults.clear()
        if record is None:
            count_files(source, reader.companions)
            return
        yield record


def read_layer_records(
    format: str, source: Path, packages: Sequence[str], apart: str
) -> Iterator[base.SourceImage]:
    """Yield what a source contains about images of an existing corpus; other arguments as in
    `read_records`."""
    with apart_from(apart):
        yield from _formats(packages).get(format).read_layer(source)


def readable_format(source: Path, packages: Sequence[str]) -> str | None:
    """Return the key of the first format that reads an image of a source; None if none does."""
    formats = _formats(packages)
    return next((reader.key for reader in formats if reader.reads and _reads(reader, source)), None)


def _formats(packages: Sequence[str]) -> Registry[base.Format]:
    from annotation.formats import FORMATS  # they are in this package

    base.FORMAT_FOLDERS.add_packages(packages)
    base.FORMAT_FOLDERS.load()
    return FORMATS


def _reads(reader: base.Format, source: Path) -> bool:
    try:
        with base.problems_reported_to(lambda error: None):
            return next(iter(reader.read(source)), None) is not None
    except (FormatError, OSError, ValueError):
        return False
