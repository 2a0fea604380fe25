"""All that is wrong with a source, collected while it is read: what, where, and what to do about it."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from annotation.formats.digest import RepeatedImage
from annotation.images.pictures import PictureError
from phrasebox.errors import PhraseboxError
from phrasebox.text_files import FormatError

#: Sorts of problems. The first three end an import that is not told to leave them out; the last two are
#: told, and imported or passed over as they are.
BAD_LINE: Final = "line"
BAD_PICTURE: Final = "picture"
REPEATED: Final = "repeated"
NO_PICTURE: Final = "no_picture"
NO_CAPTION: Final = "no_caption"
BLOCKING: Final = (BAD_LINE, BAD_PICTURE, REPEATED)


class IntakeError(PhraseboxError):
    """A corpus that cannot be taken in; one line with the remedy."""


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """Something that is wrong with a source: its sort, its file, its line (from 1) where that has lines, what
    it is, and what was expected there or is to be done."""

    sort: str
    file: str
    line: int | None
    what: str
    remedy: str

    @property
    def blocks(self) -> bool:
        """Whether nothing is imported that is not told to leave it out."""
        return self.sort in BLOCKING

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}, line {self.line}"
        text = f"{where}: {self.what}" + (f"; {self.remedy}" if self.remedy else "")
        # Names of files may hold anything, line breaks and what steers a terminal among it.
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
    """The problems of a source as they are found; `errors` are what would have ended a strict reading."""

    def __init__(self) -> None:
        self.problems: list[SourceProblem] = []
        self.errors: list[Exception] = []

    def __iter__(self) -> Iterator[SourceProblem]:
        return iter(self.problems)

    def __len__(self) -> int:
        return len(self.problems)

    def counts(self) -> dict[str, int]:
        """Sort -> how many there are."""
        return dict(Counter(problem.sort for problem in self.problems))

    def add_reader_error(self, error: FormatError) -> None:
        """A reader found something wrong and left it out."""
        again = "a second time" in error.problem or "have the same id" in error.problem
        self._add(
            error,
            SourceProblem(
                REPEATED if again else BAD_LINE, error.file, error.line, error.problem, _hint(error)
            ),
        )

    def add_refusal(self, error: Exception, file: Path | str) -> None:
        """A picture, or a record with its picture, was refused."""
        text = str(error).removeprefix(f"{file}: ")
        what, _, expected = text.partition("; expected ")
        sort = REPEATED if isinstance(error, RepeatedImage) else BAD_PICTURE
        remedy = f"expected {expected}" if expected else ""
        if isinstance(error, PictureError):
            remedy += "; save the picture again, or leave the image out"
        self._add(error, SourceProblem(sort, str(file), None, what, remedy.removeprefix("; ")))

    def without_picture(self, folder: Path, filename: str) -> None:
        """A record has captions, and the folder of pictures lacks its picture."""
        remedy = f"add the picture to {folder}, or leave the image out"
        self.problems.append(
            SourceProblem(NO_PICTURE, filename, None, "has captions and no picture is there", remedy)
        )

    def without_caption(self, filename: str) -> None:
        """A record has no caption."""
        self.problems.append(
            SourceProblem(NO_CAPTION, filename, None, "has no caption", "add its captions, or leave it out")
        )

    def raise_blocking(self, source: str) -> None:
        """Raise what a strict import ends with: the one error there is, or SourceProblems of several."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            raise SourceProblems(source, (problem for problem in self.problems if problem.blocks))

    def _add(self, error: Exception, problem: SourceProblem) -> None:
        self.errors.append(error)
        self.problems.append(problem)


def _hint(error: FormatError) -> str:
    return f"expected {error.expected}" if error.expected else ""
