"""Judgments in tables with a header: one answer a row, counts of yes and no, or counts of keywords.

`table` is a table (see `phrasebox.table_files`) with the columns `query` and `document` (or `image` and
`caption`), and either `grade` and optionally `judge`, one answer a row; or `yes` and `no`, one pair a row.
Other columns are ignored. Rows of one pair need not be adjacent. Without judges, a pair that occurs twice may
be a mistake: it is an error, unless the reader counts it as two answers.

`cxc-sits` are the ratings of images with captions of Crisscrossed Captions, from 0 to 5: the ids of a caption
and an image of COCO, the rating (the mean, or in a raw file one a row), and how the pair was found. Source:
Parekh et al. 2021, "Crisscrossed Captions"; the readme of the data.

`keyword-counts` is the table of Semantic Flickr Audio: `utt_key,transcription,counts`, where counts reads
`word=number|word=number` and says how many of five annotators held that the keyword's meaning is in the
utterance; a keyword of the list beside it that is not named has 0. The published table holds four counts of
12 and 15, of pairs that were shown three times: a count above five is taken as out of the next multiple of
five. The keyword is the query, the utterance the document. Source: Kamper et al. 2017.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from phrasebox.formats.base import JUDGMENT_FORMATS, JudgmentFormat, unique_pairs
from phrasebox.names import FILE, SOURCE
from phrasebox.relevance.grades import JudgedPair
from phrasebox.relevance.scales import VOTE_SCALE, Scale
from phrasebox.table_files import IMAGE_ALIASES, Row, TableFile, count_columns
from phrasebox.text_files import FormatError, decimal_number, lines, short_repr, whole_number

_PAIRS = (("query", "document"), ("image", "caption"))
_MOST_ANSWERS = 999_999
_COCO = re.compile(r"COCO_\w+?(?:_0*|:sentid:)([0-9]{1,12})(?:\.jpg)?")

KEYWORD_ANNOTATORS = 5
KEYWORD_LIST = "keywords.txt"
_KEYWORD_FILE = "semantic_flickraudio_counts.csv"
_KEYWORD_COUNT = re.compile(r"([^=|]+)=([0-9]{1,4})")


class _Table(JudgmentFormat):
    """CSV or TSV with a header, one answer or one pair per row; `repeats`: a pair without judges may occur
    twice."""

    key = "table"
    title = "A table of judgments (query, document, grade, judge; or query, document, yes, no)"

    def __init__(self, *, repeats: bool = False) -> None:
        self.repeats = repeats

    def counting_repeats(self) -> _Table:
        return _Table(repeats=True)

    def read(self, path: Path) -> Iterator[JudgedPair]:
        """Yield the pairs of `path`; with one answer per row the whole table is read first."""
        header, rows = read_rows(path)
        names = next((pair for pair in _PAIRS if set(pair) <= set(header)), None)
        counted = {"yes", "no"} <= set(header)
        if names is None or not (counted or "grade" in header):
            raise FormatError(
                f"has the columns {', '.join(header)}",
                file=path,
                line=1,
                expected="query and document (or image and caption), and grade or yes and no",
            )
        answers = ("yes", "no") if counted else ("grade", "judge")
        count_columns(header, (*names, *answers))
        pairs = _counted(rows, names, path) if counted else _gathered(rows, names, path, repeats=self.repeats)
        return unique_pairs(pairs, file=path)


class CrisscrossedCaptions(JudgmentFormat):
    """Crisscrossed Captions, SITS: the similarity of an image and a caption, from 0 to 5."""

    key = "cxc-sits"
    title = "Crisscrossed Captions, ratings of images and captions, 0 to 5"
    scale = Scale(Fraction(0), Fraction(5))
    relevant_from = Fraction(3)
    image_names = (SOURCE, FILE)

    def read(self, path: Path) -> Iterator[JudgedPair]:
        """Yield the pairs of `path`; the whole file is read first, since a raw one has a row for each
        rating."""
        header, rows = read_rows(path)
        if len(header) != 4 or header[:2] != ["caption", "image"]:
            raise FormatError(
                f"has the columns {', '.join(header)}",
                file=path,
                line=1,
                expected="caption, image, a score, sampling_method",
            )
        count_columns(header, header)
        rated = (
            (line, {"image": _coco(row["image"]), "caption": _coco(row["caption"]), "grade": row[header[2]]})
            for line, row in rows
        )
        return unique_pairs(_gathered(rated, ("image", "caption"), path, repeats=True), file=path)


class KeywordCounts(JudgmentFormat):
    """Semantic Flickr Audio: how many of five annotators heard a keyword's meaning in an utterance."""

    key = "keyword-counts"
    title = "Semantic Flickr Audio's counts of keywords"
    scale = VOTE_SCALE

    def read(self, path: Path) -> Iterator[JudgedPair]:
        """Yield the pairs of `path`, the table or its folder; `keywords.txt` is beside the table."""
        file = path / _KEYWORD_FILE if path.is_dir() else path
        words = (line.strip() for _, line in lines(file.parent / KEYWORD_LIST))
        keywords = list(dict.fromkeys(filter(None, words)))
        return unique_pairs(self._pairs(file, keywords), file=file)

    @staticmethod
    def _pairs(file: Path, keywords: list[str]) -> Iterator[tuple[int, JudgedPair]]:
        header, rows = read_rows(file)
        for column in ("utt_key", "counts"):
            if column not in header:
                raise FormatError(
                    f"has no column {column}", file=file, line=1, expected="utt_key,transcription,counts"
                )
        count_columns(header, ("utt_key", "transcription", "counts"))
        known = set(keywords)
        for line, row in rows:
            counts: dict[str, int] = {}
            for part in filter(None, row["counts"].split("|")):
                match = _KEYWORD_COUNT.fullmatch(part)
                if not match or match[1] not in known or match[1] in counts:
                    raise FormatError(
                        f"{short_repr(part)} is not a count",
                        file=file,
                        line=line,
                        expected=f"keyword=number, each keyword once and from {KEYWORD_LIST}",
                    )
                counts[match[1]] = int(match[2])
            for keyword in keywords:
                yes = counts.get(keyword, 0)
                annotators = KEYWORD_ANNOTATORS * max(1, math.ceil(yes / KEYWORD_ANNOTATORS))
                grades = (1.0,) * yes + (0.0,) * (annotators - yes)
                yield line, JudgedPair(keyword, row["utt_key"], grades)


def read_rows(file: Path) -> tuple[list[str], Iterator[tuple[int, Row]]]:
    """Return the header, and (line, row) of what follows."""
    table = TableFile(file, {"image": IMAGE_ALIASES})
    return table.header, table.rows()


def _coco(name: str) -> str:
    """Return COCO's number in the name of an image's file or a caption, as in COCO_val2014_000000365325.jpg;
    else the name."""
    match = _COCO.fullmatch(name.strip())
    return match[1] if match else name


def _ids(row: Row, names: tuple[str, str], file: Path, line: int) -> tuple[str, str]:
    query, document = (row[name].strip() for name in names)
    if not query or not document:
        raise FormatError("a pair lacks an id", file=file, line=line, expected=f"both {' and '.join(names)}")
    return query, document


def _counted(
    rows: Iterator[tuple[int, Row]], names: tuple[str, str], file: Path
) -> Iterator[tuple[int, JudgedPair]]:
    """Yield pairs from rows with numbers of yes and no."""
    for line, row in rows:
        counts = [row[name].strip() for name in ("yes", "no")]
        yes, no = (whole_number(count) for count in counts)
        if yes is None or no is None or not 0 < yes + no <= _MOST_ANSWERS or min(yes, no) < 0:
            raise FormatError(
                f"{short_repr(counts)} are not counts of yes and no",
                file=file,
                line=line,
                expected="whole numbers, not both 0",
            )
        yield line, JudgedPair(*_ids(row, names, file, line), (1.0,) * yes + (0.0,) * no)


def _gathered(
    rows: Iterator[tuple[int, Row]], names: tuple[str, str], file: Path, *, repeats: bool
) -> Iterator[tuple[int, JudgedPair]]:
    """Yield pairs from rows with one answer each; either every row names its judge or none does."""
    answers: dict[tuple[str, str], tuple[int, list[float], list[str]]] = {}
    named: bool | None = None
    again: list[tuple[int, int]] = []
    for line, row in rows:
        pair, judge = _ids(row, names, file, line), row.get("judge", "").strip()
        first, grades, judges = answers.setdefault(pair, (line, [], []))
        if named is not None and named != bool(judge):
            raise FormatError(
                "names a judge on some rows only", file=file, line=line, expected="on all rows or on none"
            )
        named = bool(judge)
        if judge and judge in judges:
            raise FormatError(
                f"judge {short_repr(judge)} already answered {short_repr(pair)}",
                file=file,
                line=line,
                expected="one answer of each judge to a pair",
            )
        grade = decimal_number(row["grade"])
        if grade is None:
            raise FormatError(
                f"{short_repr(row['grade'])} is not a grade", file=file, line=line, expected="a finite number"
            )
        if grades and not judge:
            again.append((first, line))
        grades.append(grade)
        if judge:
            judges.append(judge)
    if again and not repeats:
        first, line = again[0]
        raise FormatError(
            f"judges a pair for the second time, of line {first}, and {len(again)} such rows in all, "
            "without naming the judge",
            file=file,
            line=line,
            expected="each pair once, a column judge, or the choice to count each row as an answer",
        )
    for pair, (first, grades, judges) in answers.items():
        yield first, JudgedPair(*pair, tuple(grades), tuple(judges))


JUDGMENT_FORMATS.register(_Table.key, _Table())
JUDGMENT_FORMATS.register(CrisscrossedCaptions.key, CrisscrossedCaptions())
JUDGMENT_FORMATS.register(KeywordCounts.key, KeywordCounts())
