"""Stored runs held against qrels: who asks, what takes part, and where it stands in the run's lists.

The queries are those of one snapshot. The items are those that the run ranks or the snapshot knows;
where the snapshot is a protocol's, or images are cut into folds, only what the snapshot knows takes
part, and what else a run ranks is taken out of its lists. Rankings are read once and a few at a time:
what stays in memory is one number a judged pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.judged import Judged, judged
from evaluation.metrics.ranked import Ranked, from_lists
from evaluation.models import QrelsRow, QrelsSnapshot, Run
from evaluation.qrels import rule_named
from evaluation.selectors import Names, names_of, rankings_of

Integers = NDArray[np.int64]

#: Rankings turned into places at once.
_BLOCK = 200


class NotComparable(ValueError):
    """A run and qrels, or runs, that cannot be held against each other; one line with the remedy."""


@dataclass(frozen=True, slots=True)
class Pool:
    """What takes part: ids of rows, ascending, and the pairs that are known of them, by their places.

    `closed`: what else a run ranks does not take part. A grade of at least `level` is relevant.
    """

    queries: Integers
    items: Integers
    judged: Judged
    closed: bool
    level: int = 1


@dataclass(frozen=True, slots=True)
class Placed:
    """A run's ranking of a pool. `missing` queries are not ranked by the run.

    `kept` is how many items of a ranking take part at least, counting those rankings alone that were
    cut when the run was imported; None where none was.
    """

    pool: Pool
    ranked: Ranked
    missing: int
    kept: int | None


def pool_of(run: Run, snapshot: QrelsSnapshot) -> Pool:
    """The snapshot in the run's direction; raises NotComparable where the two do not fit."""
    names = _names(run, snapshot)
    rows = QrelsRow.objects.filter(snapshot=snapshot)
    if rows.filter(image__isnull=True).exists():
        raise NotComparable(f"qrels '{snapshot}' ask about keywords, and runs rank for images and captions")
    pairs = np.array(list(rows.values_list("image_id", "caption_id", "relevance")), np.int64).reshape(-1, 3)
    asks, ranked = (0, 1) if run.direction == Run.ANNOTATION else (1, 0)
    queries, query = np.unique(pairs[:, asks], return_inverse=True)
    items, item = np.unique(pairs[:, ranked], return_inverse=True)
    original = [names.owner[caption] == image for image, caption in pairs[:, :2].tolist()]
    known = judged(
        query,
        item,
        pairs[:, 2],
        original=original,
        queries=len(queries),
        items=len(items),
        relevant_unasked=snapshot.originals,
    )
    return Pool(queries, items, known, bool(snapshot.pool), rule_named(snapshot.rule).level)


def folds_of(run: Run, snapshot: QrelsSnapshot, number: int) -> list[Pool]:
    """The snapshot's images in the order of their corpus, cut into `number` equal parts.

    Raises NotComparable where they cannot be.
    """
    whole, names = pool_of(run, snapshot), _names(run, snapshot)
    asks_image = run.direction == Run.ANNOTATION
    owners = [
        np.array([one if is_image else names.owner[one] for one in side.tolist()], dtype=np.int64)
        for side, is_image in ((whole.queries, asks_image), (whole.items, not asks_image))
    ]
    there = set(np.concatenate(owners).tolist())
    images = [image for image in names.image_name if image in there]
    if number < 1 or len(images) % number:
        raise NotComparable(
            f"{len(images)} images of qrels '{snapshot}' cannot be cut into {number} equal folds"
        )
    size = len(images) // number
    found = []
    for start in range(0, len(images), size):
        inside = images[start : start + size]
        queries, items = (np.flatnonzero(np.isin(side, inside)) for side in owners)
        part = whole.judged.select(queries, items)
        found.append(Pool(whole.queries[queries], whole.items[items], part, True, whole.level))
    return found


def place(run: Run, pools: Sequence[Pool]) -> list[Placed]:
    """The run's rankings of pools that share no query, read once."""
    gathered = [_Gathered(pool, run.depth) for pool in pools]
    asked = {query: own for own in gathered for query in own.pool.queries.tolist()}
    for query, items, scores in rankings_of(run):
        if query in asked:
            asked[query].add(query, items, scores)
    return [own.placed() for own in gathered]


@dataclass
class _Gathered:
    """The rankings of one pool's queries, a block at a time."""

    pool: Pool
    depth: int
    kept: int | None = None
    _waiting: list[tuple[int, NDArray[np.intp], NDArray[np.float32]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        known = self.pool.judged
        self._better = np.full(len(known.query), np.inf)
        self._equal = np.ones(len(known.query))
        self._depths = np.zeros(known.queries, dtype=np.intp)
        self._ranked = np.zeros(known.queries, dtype=bool)
        # The pairs of query q are those from starts[q] to starts[q + 1].
        self._starts = np.searchsorted(known.query, np.arange(known.queries + 1))

    def add(self, query: int, items: Integers, scores: NDArray[np.float32]) -> None:
        at = np.searchsorted(self.pool.items, items)
        known = np.append(self.pool.items, -1)[at] == items  # no row has the id -1
        if self.pool.closed:
            numbers, values = at[known], scores[known]
        else:
            # Nothing is asked about the others: any numbers will do, if each has its own.
            numbers, values = np.where(known, at, len(self.pool.items) + np.arange(len(items))), scores
        if self.depth and len(items) >= self.depth:
            self.kept = min(len(numbers), len(numbers) if self.kept is None else self.kept)
        row = int(np.searchsorted(self.pool.queries, query))
        self._ranked[row] = True
        self._waiting.append((row, numbers, values))
        if len(self._waiting) == _BLOCK:
            self._flush()

    def placed(self) -> Placed:
        self._flush()
        known = self.pool.judged
        ranked = Ranked(known, self._better, self._equal, self._depths, level=self.pool.level)
        return Placed(self.pool, ranked, int((~self._ranked).sum()), self.kept)

    def _flush(self) -> None:
        if not self._waiting:
            return
        known = self.pool.judged
        widest = max(len(numbers) for _, numbers, _ in self._waiting)
        lists = np.full((len(self._waiting), widest), -1, dtype=np.intp)
        scores = np.full(lists.shape, -np.inf, dtype=np.float32)
        for line, (_, numbers, values) in enumerate(self._waiting):
            lists[line, : len(numbers)], scores[line, : len(values)] = numbers, values
        rows = np.array([row for row, _, _ in self._waiting])
        pairs = np.concatenate([np.arange(self._starts[row], self._starts[row + 1]) for row in rows])
        block = Judged(
            len(rows),
            known.items + widest,
            np.repeat(np.arange(len(rows)), np.diff(self._starts)[rows]),
            known.item[pairs],
            known.grade[pairs],
            known.original[pairs],
        )
        found = from_lists(lists, block, scores=scores)
        self._better[pairs], self._equal[pairs] = found.better, found.equal
        self._depths[rows] = found.depth
        self._waiting.clear()


def _names(run: Run, snapshot: QrelsSnapshot) -> Names:
    if run.corpus_id != snapshot.corpus_id:
        raise NotComparable(
            f"run {run.name!r} is of corpus {run.corpus.name!r}, qrels '{snapshot}' of "
            f"{snapshot.corpus.name!r}; choose qrels of the same corpus"
        )
    return names_of(run.corpus.name)
