"""What a format of foreign judgments is: a reader of streams of `JudgedPair`.

A format is one file in this folder. It registers an instance in JUDGMENT_FORMATS and touches
nothing else. Its errors are the corpus formats' `FormatError`: file, line, what was found, what
was expected.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

from phrasebox.names import ANY
from phrasebox.registry import Registry
from phrasebox.relevance.grades import JudgedPair
from phrasebox.relevance.scales import Scale
from phrasebox.text_files import FormatError, short_repr


class JudgmentFormat(ABC):
    """One format. A subclass sets `key` and `title`, and `read`s.

    `scale` is that of its answers (see `phrasebox.relevance.scales`), None where each file has its own; a
    pair is relevant from the score `relevant_from` on, unless one says otherwise, None where one has to say.
    `image_names` are the name spaces of its images, where the format says (see `phrasebox.names`).
    """

    key: str
    title: str
    scale: Scale | None = None
    relevant_from: Fraction | None = None
    image_names: tuple[str, ...] = ANY

    @abstractmethod
    def read(self, path: Path) -> Iterator[JudgedPair]:
        """Stream the pairs of `path`, each once and each with at least one answer.

        Raises FormatError, at the latest when the offending line is reached.
        """

    def counting_repeats(self) -> JudgmentFormat:
        """The format where a pair that comes twice, without a judge, was answered twice.

        Raises FormatError where the format has no such thing.
        """
        raise FormatError("names each pair once", file=self.key, expected="no choice for repeated pairs")


JUDGMENT_FORMATS: Registry[JudgmentFormat] = Registry("judgment format")


def unique_pairs(pairs: Iterable[tuple[int, JudgedPair]], *, file: Path) -> Iterator[JudgedPair]:
    """The pairs of (line, pair), none twice, at least one; keeps the ids seen and nothing else."""
    seen: dict[tuple[str, str], int] = {}
    for line, pair in pairs:
        key = (pair.query, pair.document)
        if key in seen:
            raise FormatError(
                f"{short_repr(pair.query)} and {short_repr(pair.document)} were already judged on line "
                f"{seen[key]}",
                file=file,
                line=line,
                expected="each pair once",
            )
        seen[key] = line
        yield pair
    if not seen:
        raise FormatError("contains no judgments", file=file, expected="at least one judged pair")
