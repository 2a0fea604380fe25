"""The ranks of the judged items of each query: all that ranking measures need.

From dense scores, tiles of scores (both directions in one pass), or top-k lists.

Ties. A tied group behind b better items, with u items that do not count and m that do: those that count take
the places b + u/2 + 1 to b + u/2 + m. "optimistic" puts them before the u others, "pessimistic" behind. So
one item's rank is 1 + better + half the equal ones, and of several originals with the same score none stands
in another's way. Places can be half; a place is in the top k if it is at most k. What a list does not hold
has no place (infinity).
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phrasebox.metrics.judgments import BadJudgments, Judged
from phrasebox.scoring.ranking import EQUAL_BEFORE, RankCounts, Ties, count
from phrasebox.scoring.tiles import Dense, Scores

QueryValues = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Places:
    """The ranks of some pairs, sorted by query, then rank; all arrays have shape (chosen,).

    `pair` indexes the judgments; `order` is 1 for a query's first chosen pair, 2 for its second. `tie`
    numbers the groups of equal scores.
    """

    pair: NDArray[np.intp]
    query: NDArray[np.intp]
    rank: QueryValues
    order: NDArray[np.intp]
    tie: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Judgments with, for each pair, how many items are better and equal; shape (pairs,).

    `better` is infinite where the item was not retrieved; `equal` includes the item itself. `depth`, shape
    (queries,), is the number of ranked items. A grade of at least `level` is relevant.
    """

    judged: Judged
    better: QueryValues
    equal: QueryValues
    depth: NDArray[np.intp]
    ties: Ties = "mean"
    level: float = 1.0
    _known: dict[bytes, Places] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.level <= 0:
            raise ValueError(f"level {self.level}: expected more than 0")

    @property
    def relevant(self) -> Mask:
        """Mask of the relevant pairs, shape (pairs,)."""
        return self.judged.grade >= self.level

    @property
    def not_relevant(self) -> Mask:
        """Mask of the pairs that are judged and not relevant."""
        return (self.judged.grade >= 0) & ~self.relevant

    @property
    def pooled(self) -> Mask:
        """Mask of the pairs that are pooled and not judged."""
        return self.judged.grade < 0

    def places(self, counting: Mask) -> Places:
        """Return the ranks of the pairs in `counting`; of tied scores the higher grade comes first."""
        # Most measures need the same few sets.
        key = counting.tobytes()
        if key not in self._known:
            self._known[key] = self._places(counting)
        return self._known[key]

    def _places(self, counting: Mask) -> Places:
        chosen = np.flatnonzero(counting)
        query, better = self.judged.query[chosen], self.better[chosen]
        order = np.lexsort((-self.judged.grade[chosen], better, query))
        chosen, query, better = chosen[order], query[order], better[order]
        new_query = np.ones(len(chosen), dtype=bool)
        new_query[1:] = query[1:] != query[:-1]
        new_tie = new_query.copy()
        new_tie[1:] |= better[1:] != better[:-1]
        tie = np.cumsum(new_tie) - 1
        number = np.arange(len(chosen))
        first_of_tie = number[new_tie][tie]
        others = self.equal[chosen] - np.bincount(tie)[tie] if len(chosen) else np.empty(0)
        rank = better + EQUAL_BEFORE[self.ties] * others + (number - first_of_tie) + 1
        of_query = number - number[new_query][np.cumsum(new_query) - 1] + 1
        return Places(chosen, query, rank, of_query, tie)

    def before(self, places: Places, others: Mask) -> QueryValues:
        """Return how many of `others` come before each of `places`, with ties by the rule for ties."""
        # Queries are 2 * span apart on one axis, so one search serves all; infinity stays the query's last.
        span = float(self.depth.max(initial=0)) + 1
        base = self.judged.query * (2 * span)
        line = np.sort((base + np.minimum(self.better, span))[others])
        starts = np.searchsorted(line, places.query * (2 * span), side="left")
        keys = (base + np.minimum(self.better, span))[places.pair]
        below, upto = np.searchsorted(line, keys, side="left"), np.searchsorted(line, keys, side="right")
        return (below - starts) + EQUAL_BEFORE[self.ties] * (upto - below)


def from_scores(scores: ArrayLike, judged: Judged, *, ties: Ties = "mean", level: float = 1.0) -> Ranked:
    """From a dense matrix, shape (queries, items); higher scores are better. NaN is refused.

    >>> from phrasebox.metrics.judgments import originals_of
    >>> ranked = from_scores([[0.5, 0.9, 0.5]], originals_of([0, 0, 0], queries=1))
    >>> ranked.better.tolist(), ranked.equal.tolist()  # how many are better than each item, and equal
    ([1.0, 0.0, 1.0], [2.0, 1.0, 2.0])
    """
    rows, _ = from_tiles(Dense(scores), judged, None, ties=ties, level=level)
    return rows


def from_tiles(
    scores: Scores,
    rows: Judged | None,
    columns: Judged | None,
    *,
    ties: Ties = "mean",
    level: float = 1.0,
) -> tuple[Ranked, Ranked]:
    """Both directions in one pass: `rows` has the rows as queries, `columns` the columns.

    A direction that is None comes back without judgments. Raises ValueError for other shapes.

    >>> from phrasebox.metrics.judgments import originals_of
    >>> from phrasebox.scoring.tiles import Dense
    >>> own = originals_of([0, 1], queries=2)
    >>> rows, columns = from_tiles(Dense(np.array([[0.9, 0.1], [0.8, 0.7]])), own, own)
    >>> rows.better.tolist(), columns.better.tolist()  # the second row finds its own behind another
    ([0.0, 1.0], [0.0, 0.0])
    """
    high, wide = scores.shape
    none = np.empty(0, dtype=np.intp)
    both = []
    for judgments, shape, word in ((rows, (high, wide), "rows"), (columns, (wide, high), "columns")):
        if judgments is not None and (judgments.queries, judgments.items) != shape:
            raise ValueError(
                f"the judgments of {word} are about {judgments.queries} queries and {judgments.items} items, "
                f"the scores have {shape[0]} and {shape[1]}; expected the same"
            )
        empty = Judged(*shape, none, none, none.astype(np.float64), none.astype(bool))
        both.append(judgments or empty)
    by_row, by_column = both
    counts = count(scores, (by_row.query, by_row.item), (by_column.item, by_column.query))
    return (
        _counted(by_row, counts[0], wide, ties, level),
        _counted(by_column, counts[1], high, ties, level),
    )


def from_lists(
    lists: ArrayLike,
    judged: Judged,
    *,
    scores: ArrayLike | None = None,
    ties: Ties = "mean",
    level: float = 1.0,
) -> Ranked:
    """From the best items of each query, best first: shape (queries, k), -1 where a list is shorter.

    With `scores` (same shape, falling) equal scores tie; without, the order given is the ranking.
    Raises BadJudgments for an item listed twice or out of range, scores that rise or are NaN, and
    gaps inside a list.

    >>> from phrasebox.metrics.judgments import judged
    >>> pairs = judged([0, 0], [3, 1], [1, 1], queries=1, items=4)
    >>> from_lists([[2, 3]], pairs).better.tolist()  # item 1 was not retrieved, item 3 is second
    [inf, 1.0]
    """
    items = np.asarray(lists, dtype=np.intp)
    if items.ndim != 2 or len(items) != judged.queries:
        raise BadJudgments(f"lists have shape {items.shape}; expected ({judged.queries}, k)")
    filled = items >= 0
    depth = filled.sum(axis=1)
    _check_lists(items, filled, judged.items)
    width = items.shape[1]
    places = np.broadcast_to(np.arange(width), items.shape)
    first, equal = places, np.ones(items.shape)
    if scores is not None:
        first, equal = _tied(_falling(scores, filled), filled, places)
    key = judged.query * judged.items + judged.item
    query, rank = np.nonzero(filled)
    listed = query * judged.items + items[query, rank]
    at = np.searchsorted(key, listed)
    at[at == len(key)] = 0
    hit = (key[at] == listed) if len(key) else np.zeros(len(listed), dtype=bool)
    better, ones = np.full(len(key), np.inf), np.ones(len(key))
    better[at[hit]] = first[query, rank][hit]
    ones[at[hit]] = equal[query, rank][hit]
    return Ranked(judged, better, ones, depth, ties, level)


def _counted(judged: Judged, counts: RankCounts, depth: int, ties: Ties, level: float) -> Ranked:
    better, equal = counts.better.astype(np.float64), counts.equal.astype(np.float64)
    return Ranked(judged, better, equal, np.full(judged.queries, depth, dtype=np.intp), ties, level)


def _check_lists(items: NDArray[np.intp], filled: Mask, number: int) -> None:
    gap = np.argwhere(filled[:, 1:] & ~filled[:, :-1])
    if len(gap):
        raise BadJudgments(
            f"list of query {gap[0, 0]} has a gap at place {gap[0, 1] + 1}; expected -1 at its end only"
        )
    bad = np.argwhere((items >= number) | (items < -1))
    if len(bad):
        query, rank = bad[0]
        raise BadJudgments(
            f"list of query {query} contains item {items[query, rank]}; expected 0 to {number - 1}, or -1"
        )
    ordered = np.sort(items, axis=1)
    twice = np.argwhere((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0))
    if len(twice):
        query, rank = twice[0]
        raise BadJudgments(f"list of query {query} contains item {ordered[query, rank]} twice; expected once")


def _falling(scores: ArrayLike, filled: Mask) -> NDArray[Any]:
    values = np.asarray(scores)
    if values.shape != filled.shape:
        raise BadJudgments(f"scores have shape {values.shape}, lists {filled.shape}; expected the same")
    if values.dtype.kind == "f" and np.isnan(values[filled]).any():
        query, rank = np.argwhere(np.isnan(values) & filled)[0]
        raise BadJudgments(f"score of query {query} at place {rank + 1} is NaN; every score must be a number")
    rises = np.argwhere((values[:, 1:] > values[:, :-1]) & filled[:, 1:])
    if len(rises):
        query, rank = rises[0]
        raise BadJudgments(f"scores of query {query} rise at place {rank + 2}; expected the best first")
    return values


def _tied(
    values: NDArray[Any], filled: Mask, places: NDArray[np.intp]
) -> tuple[NDArray[np.intp], QueryValues]:
    """Return for each position how many positions precede its group of equal scores, and the size of the
    group."""
    change = np.ones(values.shape, dtype=bool)
    change[:, 1:] = (values[:, 1:] != values[:, :-1]) | ~filled[:, 1:]
    first = np.maximum.accumulate(np.where(change, places, 0), axis=1)
    group = np.cumsum(change.ravel()) - 1
    size = np.bincount(group, minlength=1)[group].reshape(values.shape)
    return first, size.astype(np.float64)
