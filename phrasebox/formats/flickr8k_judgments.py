"""The two judgment files of Flickr8k, which Hodosh et al. 2013 collected.

`ExpertAnnotations.txt`: image, caption id and three grades from 1 to 4, by tabs. The grades of a line are
sorted, so a column is not a person: agreement between columns is meaningless. `CrowdFlowerAnnotations.txt`:
image, caption id, share of yes, number of yes, number of no; three to six answers a pair, nobody named.

Source: Hodosh et al. 2013, sections 4.2.1 and 4.3.2; the files' readme.
"""

import re
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path

from phrasebox.formats.base import JUDGMENT_FORMATS, JudgmentFormat, unique_pairs
from phrasebox.names import FILE, KEY
from phrasebox.relevance.grades import JudgedPair
from phrasebox.relevance.scales import ONE_TO_FOUR, VOTE_SCALE
from phrasebox.text_files import FormatError, lines, short_repr

EXPERT_GRADES = ("1", "2", "3", "4")

_CAPTION = re.compile(r"\S.*#[0-9]{1,9}")
_COUNT = re.compile(r"[0-9]{1,6}")
#: The file prints the share of yes to 15 places.
_SHARE_ERROR = 1e-6


class _Flickr8kJudgments(JudgmentFormat):
    """Lines of an image, a caption id and the answers, separated by tabs."""

    image_names = (FILE, KEY)
    file: str
    line: str

    def read(self, path: Path) -> Iterator[JudgedPair]:
        """Yield the pairs of `path`: the file, or a folder that contains it under its own name."""
        file = path / self.file if path.is_dir() else path
        return unique_pairs(self._pairs(file), file=file)

    def _pairs(self, file: Path) -> Iterator[tuple[int, JudgedPair]]:
        fields = self.line.count("<TAB>") + 1
        for number, line in lines(file):
            if not line.strip():
                continue
            image, *rest = line.rstrip().split("\t")
            if len(rest) != fields - 1 or not image or not _CAPTION.fullmatch(rest[0]):
                raise FormatError(
                    f"{short_repr(line)} is not a judgment", file=file, line=number, expected=self.line
                )
            grades = self._grades(rest[1:])
            if grades is None:
                raise FormatError(
                    f"{short_repr(rest[1:])} are not answers", file=file, line=number, expected=self.line
                )
            yield number, JudgedPair(image, rest[0], grades)

    @abstractmethod
    def _grades(self, fields: list[str]) -> tuple[float, ...] | None:
        """Return the answers in the fields after image and caption; None if they are invalid."""


class Flickr8kExpert(_Flickr8kJudgments):
    """Three grades from 1 (unrelated) to 4 (describes the image without errors)."""

    key = "flickr8k-expert"
    title = "Flickr8k expert grades, 1 to 4"
    scale = ONE_TO_FOUR
    file = "ExpertAnnotations.txt"
    line = "image<TAB>caption#number<TAB>grade<TAB>grade<TAB>grade, grades 1 to 4"

    def _grades(self, fields: list[str]) -> tuple[float, ...] | None:
        return tuple(map(float, fields)) if all(field in EXPERT_GRADES for field in fields) else None


class Flickr8kCrowd(_Flickr8kJudgments):
    """Yes or no to "does the caption describe the image?"."""

    key = "flickr8k-crowd"
    title = "Flickr8k crowd answers, yes or no"
    scale = VOTE_SCALE
    file = "CrowdFlowerAnnotations.txt"
    line = "image<TAB>caption#number<TAB>share of yes<TAB>number of yes<TAB>number of no"

    def _grades(self, fields: list[str]) -> tuple[float, ...] | None:
        share, *counts = fields
        if not all(_COUNT.fullmatch(count) for count in counts):
            return None
        yes, no = map(int, counts)
        try:
            agrees = yes + no > 0 and abs(float(share) - yes / (yes + no)) < _SHARE_ERROR
        except ValueError:
            return None
        return (1.0,) * yes + (0.0,) * no if agrees else None


JUDGMENT_FORMATS.register(Flickr8kExpert.key, Flickr8kExpert())
JUDGMENT_FORMATS.register(Flickr8kCrowd.key, Flickr8kCrowd())
