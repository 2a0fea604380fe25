"""The interface of formats of judgments: they yield `JudgedPair`s.

A format is one module in this folder. It registers an instance in JUDGMENT_FORMATS and changes nothing else.
Its errors are `FormatError`s: file, line, what was found, what was expected.
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
    """A format. A subclass sets `key` and `title`, and implements `read`.

    `scale` is that of its answers (see `phrasebox.relevance.scales`), None if each file has its own; a
    pair is relevant from the score `relevant_from` on by default, None if it must be given. `image_names`
    are the name spaces of its images, if the format determines them (see `phrasebox.names`).
    """

    key: str
    title: str
    scale: Scale | None = None
    relevant_from: Fraction | None = None
    image_names: tuple[str, ...] = ANY

    @abstractmethod
    def read(self, path: Path) -> Iterator[JudgedPair]:
        """Yield the pairs of `path`, each once and each with at least one answer.

        Raises FormatError, at the latest when the invalid line is reached.
        """

    def counting_repeats(self) -> JudgmentFormat:
        """Return the format in which a pair that occurs twice, without a judge, was answered twice.

        Raises FormatError if that does not apply to the format.
        """
        raise FormatError("names each pair once", file=self.key, expected="no choice for repeated pairs")


JUDGMENT_FORMATS: Registry[JudgmentFormat] = Registry("judgment format")


def unique_pairs(pairs: Iterable[tuple[int, JudgedPair]], *, file: Path) -> Iterator[JudgedPair]:
    """Yield the pairs of (line, pair), requiring at least one and no duplicates; stores only the ids."""
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
