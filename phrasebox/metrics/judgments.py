"""Judgments of pairs of query and item: grades, and which items are the query's originals.

A grade over 0 is relevant, 0 is not, and -1 means that the pair was pooled and not judged (trec_eval's
convention for infAP). A missing pair was never examined. The original pair (the image and a caption written
for it) is relevant, judged or not, unless grades are requested unchanged: otherwise 148 images of Hodosh et
al. 2013 would have no relevant caption. An original with the grade NaN (`NO_GRADE`) was never examined and
counts as missing, except for R@k and ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

POOLED = -1
#: The grade of an original that nobody examined, and that is not relevant because of being an original.
NO_GRADE = float("nan")


class BadJudgments(ValueError):
    """Invalid judgments; one line with the pair and what is expected."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Pairs sorted by query, then item; the four arrays have shape (pairs,).

    `queries` and `items` are the numbers of both; `query` and `item` are indices. Create it with `judged`,
    `originals_of` or `from_qrels`, which check their arguments.
    """

    queries: int
    items: int
    query: NDArray[np.intp]
    item: NDArray[np.intp]
    grade: NDArray[np.float64]
    original: NDArray[np.bool_]

    def swapped(self) -> Judged:
        """Return the same pairs with queries and items exchanged."""
        order = np.lexsort((self.query, self.item))
        return Judged(
            self.items,
            self.queries,
            self.item[order],
            self.query[order],
            self.grade[order],
            self.original[order],
        )

    def select(self, queries: ArrayLike, items: ArrayLike) -> Judged:
        """Return the pairs of some queries and items, renumbered in the given order."""
        chosen_queries, chosen_items = np.asarray(queries, np.intp), np.asarray(items, np.intp)
        new_query = _places(chosen_queries, self.queries, "query")[self.query]
        new_item = _places(chosen_items, self.items, "item")[self.item]
        selected = (new_query >= 0) & (new_item >= 0)
        return judged(
            new_query[selected],
            new_item[selected],
            self.grade[selected],
            original=self.original[selected],
            queries=len(chosen_queries),
            items=len(chosen_items),
            relevant_unasked=False,  # they are already, where requested
        )


def judged(
    query: ArrayLike,
    item: ArrayLike,
    grade: ArrayLike,
    *,
    queries: int,
    items: int,
    original: ArrayLike | None = None,
    relevant_unasked: bool = True,
) -> Judged:
    """Return judgments from parallel arrays of indices and grades, in any order.

    `relevant_unasked`: originals are relevant whatever their grade; otherwise they have the given grades, and
    are originals only for R@k and ranks. The grade NO_GRADE is kept in both cases. Raises BadJudgments for a
    duplicate pair, an index out of range, a grade under -1, NaN (except for an original), or arrays of
    different lengths.

    >>> pairs = judged([1, 0], [2, 0], [0, 3], queries=2, items=3)  # (query 1, item 2) is a no
    >>> pairs.query.tolist(), pairs.item.tolist(), pairs.grade.tolist()
    ([0, 1], [0, 2], [3.0, 0.0])
    """
    q, i = np.asarray(query, dtype=np.intp).ravel(), np.asarray(item, dtype=np.intp).ravel()
    g = np.asarray(grade, dtype=np.float64).ravel()
    o = np.zeros(len(q), dtype=bool) if original is None else np.asarray(original, dtype=bool).ravel()
    if not len(q) == len(i) == len(g) == len(o):
        raise BadJudgments(
            f"{len(q)} queries, {len(i)} items, {len(g)} grades, {len(o)} marks of originals; "
            "expected one of each for every pair"
        )
    for numbers, count, word in ((q, queries, "query"), (i, items, "item")):
        bad = np.flatnonzero((numbers < 0) | (numbers >= count))
        if len(bad):
            raise BadJudgments(
                f"judgment {bad[0]} (counted from 0) is about {word} {numbers[bad[0]]}; "
                f"expected 0 to {count - 1}"
            )
    bad = np.flatnonzero((~(g >= POOLED) & ~(np.isnan(g) & o)) | np.isinf(g))
    if len(bad):
        raise BadJudgments(
            f"query {q[bad[0]]}, item {i[bad[0]]} has grade {g[bad[0]]}; expected 0 or more, or -1 "
            "for pooled but not judged"
        )
    order = np.lexsort((i, q))
    q, i, g, o = q[order], i[order], g[order], o[order]
    twice = np.flatnonzero((q[1:] == q[:-1]) & (i[1:] == i[:-1]))
    if len(twice):
        raise BadJudgments(f"query {q[twice[0]]}, item {i[twice[0]]} is judged twice; expected once")
    return Judged(queries, items, q, i, np.where(o, np.maximum(g, 1), g) if relevant_unasked else g, o)


def originals_of(owner: ArrayLike, queries: int) -> Judged:
    """Return judgments in which `owner[item]` is each item's original query, such as the image of a caption.

    >>> pairs = originals_of([0, 0, 1], queries=2)  # the images of three captions
    >>> pairs.query.tolist(), pairs.item.tolist(), pairs.original.tolist()
    ([0, 0, 1], [0, 1, 2], [True, True, True])
    """
    owners = np.asarray(owner, dtype=np.intp)
    items = len(owners)
    return judged(
        owners, np.arange(items), np.ones(items), original=np.ones(items, bool), queries=queries, items=items
    )


def from_qrels(
    qrels: Mapping[str, Mapping[str, float]],
    queries: Sequence[str],
    items: Sequence[str],
    *,
    originals: Iterable[tuple[str, str]] = (),
) -> Judged:
    """Return judgments of named pairs, {query: {item: grade}}, and of the pairs (query, item) that are
    originals.

    Raises BadJudgments with the first id that is not among `queries` and `items`.

    >>> pairs = from_qrels({"q": {"b": 2, "a": 0}}, ["q"], ["a", "b", "c"])
    >>> pairs.item.tolist(), pairs.grade.tolist()
    ([0, 1], [0.0, 2.0])
    """
    query_of, item_of = _index(queries, "query"), _index(items, "item")
    grade_of_pair = {
        (_known(query_of, query, "query"), _known(item_of, item, "item")): float(grade)
        for query, grades in qrels.items()
        for item, grade in grades.items()
    }
    original_pairs = {
        (_known(query_of, query, "query"), _known(item_of, item, "item")) for query, item in originals
    }
    pairs = [*grade_of_pair, *(original_pairs - grade_of_pair.keys())]
    indices = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return judged(
        indices[:, 0],
        indices[:, 1],
        [grade_of_pair.get(pair, 1.0) for pair in pairs],
        original=[pair in original_pairs for pair in pairs],
        queries=len(queries),
        items=len(items),
    )


def _index(ids: Sequence[str], word: str) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for number, name in enumerate(ids):
        if numbers.setdefault(name, number) != number:
            raise BadJudgments(
                f"{word} {name!r} is listed twice, at {numbers[name]} and {number}; expected once"
            )
    return numbers


def _known(index: Mapping[str, int], name: str, word: str) -> int:
    if name not in index:
        raise BadJudgments(f"{word} {name!r} of the judgments is not among the {len(index)} that are ranked")
    return index[name]


def _places(chosen: NDArray[np.intp], number: int, word: str) -> NDArray[np.intp]:
    """Return the position of each of `number` among the chosen, -1 where it is not."""
    places = np.full(number, -1, dtype=np.intp)
    places[chosen] = np.arange(len(chosen))
    if len(np.unique(chosen)) != len(chosen):
        raise BadJudgments(f"a {word} is selected twice; expected each once")
    return places
