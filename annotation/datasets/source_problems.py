"""All problems of a source, collected while it is read: what, where, and the remedy."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from annotation.formats.digest import RepeatedImage
from annotation.images.pictures import PictureError
from phrasebox.errors import PhraseboxError
from phrasebox.text_files import FormatError

#: Sorts of problems. The first three prevent an import unless it skips them; the last two are reported, and
#: imported or skipped as they are.
BAD_LINE: Final = "line"
BAD_PICTURE: Final = "picture"
REPEATED: Final = "repeated"
NO_PICTURE: Final = "no_picture"
NO_CAPTION: Final = "no_caption"
BLOCKING: Final = (BAD_LINE, BAD_PICTURE, REPEATED)


class IntakeError(PhraseboxError):
    """A corpus that cannot be imported; one line with the remedy."""


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """A problem of a source: its sort, its file, its line (from 1) if that has lines, a description, and what
    was expected or is to be done."""

    sort: str
    file: str
    line: int | None
    what: str
    remedy: str

    @property
    def blocks(self) -> bool:
        """Whether it prevents an import that does not skip it."""
        return self.sort in BLOCKING

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}, line {self.line}"
        text = f"{where}: {self.what}" + (f"; {self.remedy}" if self.remedy else "")
        # Names of files may contain anything, including line breaks and control sequences.
        return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)

    def as_dict(self) -> dict[str, Any]:
        """The problem as plain data."""
        return asdict(self)


class SourceProblems(IntakeError):
    """Several problems of one source, each in `problems`; nothing of it was imported."""

    def __init__(self, source: str, problems: Iterable[SourceProblem]) -> None:
        self.problems = list(problems)
        super().__init__(
            f"{source}: {len(self.problems)} problems, so nothing was imported; correct them, or leave out "
            "just these"
        )


class ProblemList:
    """The problems of a source so far; `errors` would end a strict reading."""

    def __init__(self) -> None:
        self.problems: list[SourceProblem] = []
        self.errors: list[Exception] = []

    def __iter__(self) -> Iterator[SourceProblem]:
        return iter(self.problems)

    def __len__(self) -> int:
        return len(self.problems)

    def counts(self) -> dict[str, int]:
        """Number of problems of each sort."""
        return dict(Counter(problem.sort for problem in self.problems))

    def add_reader_error(self, error: FormatError) -> None:
        """Add a problem that a reader reported and skipped."""
        again = "a second time" in error.problem or "have the same id" in error.problem
        self._add(
            error,
            SourceProblem(
                REPEATED if again else BAD_LINE, error.file, error.line, error.problem, _hint(error)
            ),
        )

    def add_refusal(self, error: Exception, file: Path | str) -> None:
        """Add a rejected picture, or a rejected record with its picture."""
        text = str(error).removeprefix(f"{file}: ")
        what, _, expected = text.partition("; expected ")
        sort = REPEATED if isinstance(error, RepeatedImage) else BAD_PICTURE
        remedy = f"expected {expected}" if expected else ""
        if isinstance(error, PictureError):
            remedy += "; save the picture again, or leave the image out"
        self._add(error, SourceProblem(sort, str(file), None, what, remedy.removeprefix("; ")))

    def without_picture(self, folder: Path, filename: str) -> None:
        """Add a record with captions whose picture is not in the folder of pictures."""
        remedy = f"add the picture to {folder}, or leave the image out"
        self.problems.append(
            SourceProblem(NO_PICTURE, filename, None, "has captions and no picture is there", remedy)
        )

    def without_caption(self, filename: str) -> None:
        """Add a record without captions."""
        self.problems.append(
            SourceProblem(NO_CAPTION, filename, None, "has no caption", "add its captions, or leave it out")
        )

    def raise_blocking(self, source: str) -> None:
        """Raise the error of a strict import: the only one, or SourceProblems for several."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            raise SourceProblems(source, (problem for problem in self.problems if problem.blocks))

    def _add(self, error: Exception, problem: SourceProblem) -> None:
        self.errors.append(error)
        self.problems.append(problem)


def _hint(error: FormatError) -> str:
    return f"expected {error.expected}" if error.expected else ""
