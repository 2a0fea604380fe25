"""TREC runs and qrels, and figures as trec_eval prints them.

A run is lines of `query Q0 item rank score tag`, and further columns are ignored; a qrels file is lines of
`query 0 item grade`, and comments after `#`. Both are split at white space, which is escaped in ids: `a
b.jpg` is `a%20b.jpg`. The score of a run decides: trec_eval ignores the rank, reads scores in single
precision, and sorts tied items by decreasing id. `read_run` does the same, and keeps the ties; `write_run`
writes scores unchanged, or so that they decrease strictly in single precision, and no tool reorders them. A
grade of -1 in qrels is a pooled pair without a judgment.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phrasebox.metrics.scoring import Score
from phrasebox.metrics.table import METRICS
from phrasebox.names import escaped, unescaped
from phrasebox.text_files import FormatError, decimal_number, lines, open_new, short_repr, whole_number

RUN_LINE = "query Q0 item rank score tag"
QRELS_LINE = "query 0 item grade"


@dataclass(frozen=True, slots=True)
class TrecRun:
    """Rankings by query, each best first: item ids and their scores in single precision."""

    file: str
    tag: str
    rankings: Mapping[str, tuple[tuple[str, ...], NDArray[np.float32]]]

    def aligned(
        self, queries: Sequence[str], items: Sequence[str]
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return lists of item numbers and their scores, shape (queries, k), -1 and 0 after the end of a
        list.

        A query that the run lacks has an empty list. Raises FormatError for a query or an item that is not
        among the given ones.
        """
        known = set(queries)
        strange = next((query for query in self.rankings if query not in known), None)
        if strange is not None:
            raise FormatError(
                f"ranks for the query {short_repr(strange)}",
                file=self.file,
                expected=f"one of {len(queries)} queries",
            )
        number = {item: n for n, item in enumerate(items)}
        deepest = max(
            (len(self.rankings[query][0]) for query in queries if query in self.rankings), default=0
        )
        lists = np.full((len(queries), deepest), -1, dtype=np.intp)
        scores = np.zeros((len(queries), deepest), dtype=np.float32)
        for row, query in enumerate(queries):
            ranked, values = self.rankings.get(query, ((), np.empty(0, np.float32)))
            for rank, item in enumerate(ranked):
                if item not in number:
                    raise FormatError(
                        f"ranks {short_repr(item)} for {short_repr(query)}",
                        file=self.file,
                        expected=f"one of {len(items)} items",
                    )
                lists[row, rank] = number[item]
            scores[row, : len(values)] = values
        return lists, scores


def read_run(path: Path | str) -> TrecRun:
    """Read a run; raises FormatError with the line, also for an item ranked twice and a second tag."""
    path = Path(path)
    tag, tag_line = "", 0
    numbers: dict[str, int] = {}  # ids are stored once, rankings as numbers
    lists_of_query: dict[str, tuple[array[int], array[float]]] = {}
    lines_of: dict[str, array[int]] = {}
    for line, (query, _, item, _, score, tag_here) in _rows(path, RUN_LINE, more=True):
        if not lists_of_query:
            tag, tag_line = tag_here, line
        elif tag_here != tag:
            raise FormatError(
                f"has the tag {short_repr(tag_here)}, and line {tag_line} has {short_repr(tag)}",
                file=path,
                line=line,
                expected="one run, with one tag; write each run to a file of its own",
            )
        ranking = lists_of_query.setdefault(query, (array("q"), array("d")))
        ranking[0].append(numbers.setdefault(item, len(numbers)))
        ranking[1].append(_score(score, path, line))
        lines_of.setdefault(query, array("q")).append(line)
    if not lists_of_query:
        raise FormatError("contains no rankings", file=path, expected=f"lines of {RUN_LINE}")
    ids = list(numbers)
    # The position of each id when sorted by decreasing id, which is the order of ties.
    falling = np.empty(len(ids), dtype=np.intp)
    falling[sorted(range(len(ids)), key=ids.__getitem__, reverse=True)] = np.arange(len(ids))
    rankings = {}
    for query, (ranked, values) in lists_of_query.items():
        items, scores = np.array(ranked, dtype=np.intp), np.array(values).astype(np.float32)
        _check_once(items, lines_of[query], query, ids, path)
        order = np.lexsort((falling[items], -scores))
        rankings[query] = tuple(ids[n] for n in items[order]), scores[order]
    return TrecRun(str(path), tag, rankings)


def write_run(
    path: Path | str,
    tag: str,
    rankings: Iterable[tuple[str, Sequence[str], ArrayLike]],
    *,
    keep_ties: bool = False,
) -> int:
    """Write (query, items best first, their scores) to a new file; return the number of lines.

    Tied scores are made to differ slightly, unless `keep_ties`. Raises FormatError for ids that the format
    cannot hold and for scores that increase or are not finite.
    """
    path = Path(path)
    written = 0
    with open_new(path) as out:
        _check_tag(tag, path)
        for query, items, scores in rankings:
            falling = _single if keep_ties else strictly_falling
            values = falling(scores, query=query, file=path)
            if len(values) != len(items):
                raise FormatError(
                    f"{len(items)} items and {len(values)} scores for {short_repr(query)}",
                    file=path,
                    expected="one each",
                )
            asks = _written(query, path)
            out.writelines(
                # Nine digits distinguish any two single-precision numbers.
                f"{asks} Q0 {_written(item, path)} {rank} {value:.9g} {tag}\n"
                for rank, (item, value) in enumerate(zip(items, values.tolist(), strict=True), start=1)
            )
            written += len(items)
    return written


def strictly_falling(scores: ArrayLike, *, query: str, file: Path) -> NDArray[np.float32]:
    """Return the scores in single precision, each lowered by the least amount that makes it less than the
    previous one."""
    single = _single(scores, query=query, file=file)
    return _lowered(single, np.arange(len(single)))


def still_apart(scores: NDArray[Any]) -> NDArray[np.float32]:
    """Convert scores of any type, the best of each row first, to single precision; shape (rows, items).

    Equal ones stay equal. Of two different ones that would become equal, the second is lowered by the least
    amount that makes it less than the previous one. Overflowing ones become infinite.

    >>> found = still_apart(np.array([[-4096.0001, -4096.0002, -4096.0002]]))
    >>> (np.diff(found) < 0).tolist()
    [[True, False]]
    """
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32)
    differs = scores[:, 1:] != scores[:, :-1]
    rows = np.flatnonzero((differs & (single[:, 1:] == single[:, :-1])).any(axis=1))
    places = np.zeros((len(rows), scores.shape[1]), np.int64)
    np.cumsum(differs[rows], axis=1, out=places[:, 1:])
    single[rows] = _lowered(single[rows], places)
    return single


def _lowered(single: NDArray[np.float32], places: NDArray[np.int64]) -> NDArray[np.float32]:
    """Lower non-increasing scores so that each is at least as many single-precision numbers below the
    previous one as its position is above that one's."""
    # The bits of floating-point numbers, read as integers, are in the numbers' order; one step is the next
    # number. After adding the position, "so many less than the previous" becomes "not more than the
    # previous".
    bits = single.view(np.int32).astype(np.int64)
    steps = np.where(bits < 0, np.int64(-(2**31)) - bits, bits)
    lowered = np.minimum.accumulate(steps + places, axis=-1) - places
    back = np.where(lowered < 0, np.int64(-(2**31)) - lowered, lowered)
    return back.astype(np.int32).view(np.float32)


def _single(scores: ArrayLike, *, query: str, file: Path) -> NDArray[np.float32]:
    """Return the scores in single precision; raises FormatError if they increase or are not finite."""
    exact = np.asarray(scores, dtype=np.float64)
    with np.errstate(over="ignore"):
        values = exact.astype(np.float32)
    if not np.isfinite(values).all():
        index = int(np.argmax(~np.isfinite(values)))
        raise FormatError(
            f"score {exact[index]:g} of {short_repr(query)} at rank {index + 1}",
            file=file,
            expected="finite scores",
        )
    rises = np.flatnonzero(exact[1:] > exact[:-1])
    if len(rises):
        raise FormatError(
            f"scores of {short_repr(query)} rise at rank {rises[0] + 2}", file=file, expected="the best first"
        )
    return values


def read_qrels(path: Path | str) -> dict[str, dict[str, int]]:
    """Return {query: {item: grade}}; raises FormatError with the line."""
    path = Path(path)
    qrels: dict[str, dict[str, int]] = {}
    for line, (query, _, item, grade) in _rows(path, QRELS_LINE):
        grades = qrels.setdefault(query, {})
        if item in grades:
            raise FormatError(
                f"{short_repr(query)} and {short_repr(item)} were judged before",
                file=path,
                line=line,
                expected="each pair once",
            )
        number = whole_number(grade)
        if number is None:
            raise FormatError(
                f"has the grade {short_repr(grade)}", file=path, line=line, expected="a whole number"
            )
        grades[item] = number
        if number < -1:
            raise FormatError(f"has the grade {grade}", file=path, line=line, expected="-1, 0 or more")
    if not qrels:
        raise FormatError("contains no judgments", file=path, expected=f"lines of {QRELS_LINE}")
    return qrels


def write_qrels(path: Path | str, rows: Iterable[tuple[str, str, int]]) -> int:
    """Write (query, item, grade) to a new file; return the number of lines."""
    path = Path(path)
    written = 0
    with open_new(path) as out:
        for query, item, grade in rows:
            out.write(f"{_written(query, path)} 0 {_written(item, path)} {grade}\n")
            written += 1
    return written


def as_trec_eval(
    figures: Mapping[str, Score], queries: Sequence[str], *, tag: str = "", by_query: bool = False
) -> Iterator[str]:
    """Yield lines as trec_eval prints them, under its names where it has any; with `by_query` as its -q.

    A query without a value has no line; a figure without a value is "nan".
    """
    names = {name: METRICS.find(name).trec_name for name in figures}
    for row, query in enumerate(queries) if by_query else ():
        for name, figure in figures.items():
            if not np.isnan(figure.per_query[row]):
                yield f"{names[name]:<22}\t{query}\t{figure.per_query[row]:6.4f}"
    if tag:
        yield f"{'runid':<22}\tall\t{tag}"
    yield f"{'num_q':<22}\tall\t{len(queries)}"
    for name, figure in figures.items():
        yield f"{names[name]:<22}\tall\t{figure.value:6.4f}"


def _rows(path: Path, form: str, *, more: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and columns of each non-empty line; with `more`, further columns are ignored."""
    columns = len(form.split())
    for number, text in lines(path):
        cells = text.split()
        if len(cells) < columns or (len(cells) > columns and not more):
            if not cells or text.startswith("#"):
                continue
            raise FormatError(f"has {len(cells)} columns", file=path, line=number, expected=form)
        if text.startswith("#") and decimal_number(cells[columns - 1 - more]) is None:
            continue  # a comment with that many words; ids may begin with its character too
        yield number, [unescaped(cell) for cell in cells[:columns]]


def _score(text: str, path: Path, line: int) -> float:
    value = decimal_number(text)
    if value is None:
        raise FormatError(f"has the score {short_repr(text)}", file=path, line=line, expected="a number")
    return value


def _check_once(
    items: NDArray[np.intp], own_lines: array[int], query: str, ids: Sequence[str], path: Path
) -> None:
    order = np.argsort(items, kind="stable")
    again = np.flatnonzero(items[order][1:] == items[order][:-1])
    if len(again):
        first = min(order[again + 1])
        raise FormatError(
            f"{short_repr(ids[items[first]])} is already ranked for {short_repr(query)}",
            file=path,
            line=own_lines[first],
            expected="each item once a query",
        )


def _check_tag(tag: str, path: Path) -> None:
    if not tag or len(tag.split()) != 1 or tag != tag.strip():
        raise FormatError(
            f"the tag {short_repr(tag)} has white space or is empty", file=path, expected="a tag without"
        )


def _written(name: str, path: Path) -> str:
    """Return an id as it is written."""
    if not name:
        raise FormatError("an id is empty", file=path, expected="each query and item by its id")
    return escaped(name)
