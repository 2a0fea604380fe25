"""Stored runs evaluated against qrels: the queries, the items in the pool, and their ranks in the run's
lists.

The queries are those of the snapshot, or of its part in a subset of images; where these are unknown, the
judged ones. Answers neither add nor remove queries. The items are those that the run ranks or the snapshot
contains. Under a protocol only the snapshot's items are used; for a subset or a fold, its images and all
their captions, judged or not. Other items are removed from the run's lists. How queries that a run does not
rank are treated is a choice (`missing`). Rankings are read once, a few at a time: memory holds one number per
judged pair.

Relevance comes from the qrels, originals from the corpus. The original of a caption is its image, and those
of an image are all of its captions, whether or not the qrels have the pair: otherwise R@k and ranks would
only cover queries whose original was judged, which is mostly because a system found it. Under a protocol
originals are its rows, and a corpus of candidates has none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from evaluation.comparison.original_pairs import AnyQrels, OriginalPairs
from evaluation.comparison.query_sets import ASKS, ranked_queries
from evaluation.comparison.subsets import Subset
from evaluation.models import QrelsRow, Run
from evaluation.selectors import (
    CANDIDATES,
    captions_of_images,
    images_of_captions,
    names_of,
    rankings_of,
    stored_queries,
)
from phrasebox.errors import PhraseboxError
from phrasebox.metrics.judgments import NO_GRADE, POOLED, Judged, judged
from phrasebox.metrics.ranked import Ranked, from_lists
from phrasebox.relevance.qrels import rule_named

RowIds = NDArray[np.int64]

#: A ranking: row ids and scores, best first.
Ordered = tuple[RowIds, NDArray[np.float32]]
#: Maps a ranking to another one of the same items.
Reorder = Callable[[RowIds, NDArray[np.float32]], Ordered]
#: Number of rankings that are converted to ranks at once, and the number of items after which a block ends
#: earlier.
_BLOCK, _ITEMS = 200, 1_000_000


@dataclass(frozen=True, slots=True)
class RunPool:
    """The pool of an evaluation: row ids, ascending, and the known pairs by their positions.

    Of the other items that a run ranks, none is used if the pool is `closed`; with `within`, those among
    these ids (ascending) are. A grade of at least `level` is relevant. Originals that are not in the qrels
    are among the pairs with the grade NO_GRADE. The queries are all that were asked (`known`), or only the
    judged ones.
    """

    queries: RowIds
    items: RowIds
    judged: Judged
    closed: bool
    level: int = 1
    within: RowIds | None = None
    known: bool = True

    @property
    def size(self) -> int:
        """The number of items, as far as the qrels or the images determine it."""
        if self.closed:
            return len(self.items)
        if self.within is not None:
            return len(self.within)
        return len(np.unique(self.judged.item[~np.isnan(self.judged.grade)]))

    def only(self, queries: RowIds) -> RunPool:
        """Return the same for some of the queries, by row id."""
        chosen = np.flatnonzero(np.isin(self.queries, queries))
        if len(chosen) == len(self.queries):
            return self
        pairs = self.judged.select(chosen, np.arange(self.judged.items))
        return replace(self, queries=self.queries[chosen], judged=pairs)


@dataclass(frozen=True, slots=True)
class RankedItems:
    """The items that a run ranks for any query of a pool, as ascending row ids.

    If every ranking holds all of them (`whole`), they are the run's candidates. Otherwise rankings were
    truncated, and an item that is never among the best may have been a candidate too.
    """

    items: RowIds
    whole: bool

    @property
    def count_text(self) -> str:
        """Return their number in words."""
        return f"{len(self.items)}" if self.whole else f"at least {len(self.items)}"


@dataclass(frozen=True, slots=True)
class Placed:
    """A run's ranking of a pool. `missing` queries of the pool are not ranked by the run.

    `complete_to` is the smallest number of used items in a ranking, over rankings that were truncated on
    import; None if none was.
    """

    pool: RunPool
    ranked: Ranked
    missing: int
    complete_to: int | None
    candidates: RankedItems


def pool_of(run: Run, snapshot: AnyQrels, subset: Subset | None = None) -> RunPool:
    """Return the pool of the snapshot in the run's direction, or of a subset of its images with their own
    captions, judged or not.

    Raises PhraseboxError if run and snapshot do not match, or nothing is left.
    """
    check_fits(run, snapshot)
    if isinstance(snapshot, OriginalPairs):
        return _pool_of_originals(run, snapshot, subset)
    rows = QrelsRow.objects.filter(snapshot=snapshot)
    if rows.filter(image__isnull=True).exists():
        raise PhraseboxError(
            f"qrels '{snapshot}' have keywords as queries, but runs have images or "
            "captions; choose other qrels"
        )
    if snapshot.asks not in ("", ASKS[run.direction]):
        raise PhraseboxError(
            f"qrels '{snapshot}' have {snapshot.asks}s as queries, but run {run.name!r} has "
            f"{ASKS[run.direction]}s; choose a run of the other direction, or other qrels"
        )
    columns = ("image_id", "caption_id", "caption__image_id", "relevance", "judged")
    pairs = np.array(list(rows.values_list(*columns)), np.int64).reshape(-1, len(columns))
    asking = 0 if run.direction == Run.ANNOTATION else 1
    stored = stored_queries(snapshot)
    asking_queries = stored.get(ASKS[run.direction])
    if subset is not None:
        inside = list(subset.images)
        pairs = pairs[np.isin(pairs[:, 0], inside) & np.isin(pairs[:, 2], inside)]
        if asking_queries is not None:
            there = inside if run.direction == Run.ANNOTATION else _captions_of(inside, run)
            asking_queries = asking_queries[np.isin(asking_queries, there)]
    if asking_queries is None:
        # Queries of the other kind bring in originals of images that nobody judged.
        queries = np.unique((pairs[pairs[:, 4] == 1] if stored else pairs)[:, asking])
    else:
        queries = asking_queries
    if subset is not None and not len(queries):
        raise PhraseboxError(
            f"qrels '{snapshot}' contain no query of {subset.called}; choose qrels of these images"
        )
    image, caption, owner, relevance, was_judged = pairs[np.isin(pairs[:, asking], queries)].T
    grade = np.where((relevance == 0) & (was_judged == 0), POOLED, relevance).astype(np.float64)
    has_originals = run.corpus.format != CANDIDATES
    if has_originals and not snapshot.pool:
        others = _originals_without_a_row(run, queries, caption[image == owner])
        image, caption = np.append(image, others[:, 0]), np.append(caption, others[:, 1])
        owner, grade = np.append(owner, others[:, 0]), np.append(grade, np.full(len(others), NO_GRADE))
    asks, ranked = (image, caption) if run.direction == Run.ANNOTATION else (caption, image)
    items, item = np.unique(ranked, return_inverse=True)
    known = judged(
        np.searchsorted(queries, asks),
        item,
        grade,
        original=(image == owner) & has_originals,
        queries=len(queries),
        items=len(items),
        relevant_unasked=snapshot.originals,
    )
    within = None
    images = set(snapshot.images) if snapshot.subset else None
    if subset is not None:
        images = set(subset.images) if images is None else images & subset.images
    if images is not None:
        within = _items_of(images, run)
    level = rule_named(snapshot.rule).level
    return RunPool(
        queries, items, known, bool(snapshot.pool), level, within, known=asking_queries is not None
    )


def _pool_of_originals(run: Run, originals: OriginalPairs, subset: Subset | None) -> RunPool:
    """Return the pool of original pairs: of a subset only its items, else whatever a run ranks."""
    queries = originals.queries.get(ASKS[run.direction], np.array([], np.int64))
    if not len(queries):
        raise PhraseboxError(
            f"{subset.called if subset else 'run'} contains no query of run {run.name!r}; choose other images"
        )
    image, caption = originals.pairs(run.direction).T
    asks, ranked = (image, caption) if run.direction == Run.ANNOTATION else (caption, image)
    items, item = np.unique(ranked, return_inverse=True)
    known = judged(
        np.searchsorted(queries, asks),
        item,
        np.ones(len(item)),
        original=np.ones(len(item), bool),
        queries=len(queries),
        items=len(items),
    )
    return RunPool(queries, items, known, closed=False, within=items if subset is not None else None)


def _originals_without_a_row(run: Run, queries: RowIds, with_row: RowIds) -> RowIds:
    """Return the originals of queries that are not rows, shape (pairs, 2): image, caption.

    A caption has one image, so captions (`with_row`) identify the rows with originals.
    """
    if run.direction == Run.SEARCH:
        images = images_of_captions(run.corpus.name, queries.tolist())
        originals = np.array(list(captions_of_images(run.corpus.name, images)), np.int64).reshape(-1, 2)
        originals = originals[np.isin(originals[:, 1], queries)]
    else:
        originals = np.array(list(captions_of_images(run.corpus.name, queries.tolist())), np.int64).reshape(
            -1, 2
        )
    return originals[~np.isin(originals[:, 1], with_row)]


def _items_of(images: Collection[int], run: Run) -> RowIds:
    """Return what a run ranks of some images: the images or their captions, as ascending row ids."""
    if run.direction == Run.SEARCH:
        return np.array(sorted(images), dtype=np.int64)
    return np.array(_captions_of(images, run), dtype=np.int64)


def _captions_of(images: Collection[int], run: Run) -> list[int]:
    """Return the captions of some images of a run's corpus, as ascending row ids."""
    return sorted(caption for _, caption in captions_of_images(run.corpus.name, images))


def ranked_by_all(pool: RunPool, runs: Sequence[Run], snapshot: AnyQrels) -> RunPool:
    """Return the pool for the queries that all of the runs rank; raises PhraseboxError if there is
    none."""
    common = pool.queries
    for run in runs:
        common = np.intersect1d(common, ranked_queries(run))
        if not len(common):
            others = "" if run == runs[0] else " that the runs before it rank"
            raise PhraseboxError(
                f"run {run.name!r} ranks no query of qrels '{snapshot}'{others}; choose runs and qrels of "
                "the same images"
            )
    return pool.only(common)


def folds_of(whole: RunPool, run: Run, snapshot: AnyQrels, number: int) -> list[RunPool]:
    """Cut the images of a pool, in the order of their corpus, into `number` equal parts.

    Raises PhraseboxError if that is impossible.
    """
    check_fits(run, snapshot)
    names = names_of(run.corpus.name)
    asks_image = run.direction == Run.ANNOTATION
    owners = [
        np.array([pk if is_image else names.owner[pk] for pk in side.tolist()], dtype=np.int64)
        for side, is_image in ((whole.queries, asks_image), (whole.items, not asks_image))
    ]
    there = set(np.concatenate(owners).tolist())
    images = [image for image in names.image_name if image in there]
    if number < 1 or len(images) % number:
        raise PhraseboxError(
            f"{len(images)} images of qrels '{snapshot}' cannot be cut into {number} equal folds"
        )
    size = len(images) // number
    folds = []
    for start in range(0, len(images), size):
        inside = set(images[start : start + size])
        queries, items = (np.flatnonzero(np.isin(side, list(inside))) for side in owners)
        part = whole.judged.select(queries, items)
        within = _items_of(inside, run)
        if whole.within is not None:
            within = np.intersect1d(within, whole.within)
        folds.append(
            replace(
                whole,
                queries=whole.queries[queries],
                items=whole.items[items],
                judged=part,
                within=within,
            )
        )
    return folds


def rank_in_pools(run: Run, pools: Sequence[RunPool], *, reorder: Reorder | None = None) -> list[Placed]:
    """Return the run's rankings of pools without common queries, reading them once; `reorder` may change each
    ranking first."""
    gathered = [_Gathered(pool, run.depth) for pool in pools]
    pool_of_query = {
        query: gathered_pool for gathered_pool in gathered for query in gathered_pool.pool.queries.tolist()
    }
    for query, items, scores in rankings_of(run):
        if query in pool_of_query:
            if reorder is not None:
                items, scores = reorder(items, scores)
            pool_of_query[query].add(query, items, scores)
    return [gathered_pool.placed() for gathered_pool in gathered]


def candidates_apart(runs: Sequence[tuple[str, RankedItems]]) -> str:
    """Return, in words, which of the named runs chose from other items; "" if none is known to."""
    for (first, ours), (second, theirs) in combinations(runs, 2):
        apart = (theirs.whole and len(np.setdiff1d(ours.items, theirs.items))) or (
            ours.whole and len(np.setdiff1d(theirs.items, ours.items))
        )
        if apart:
            return (
                f"the runs chose from different items: {first} from {ours.count_text}, {second} from "
                f"{theirs.count_text}; results on different candidate pools cannot be compared"
            )
    return ""


@dataclass
class _Gathered:
    """Collects the rankings of one pool's queries, a block at a time."""

    pool: RunPool
    depth: int
    _waiting: list[tuple[int, RowIds, NDArray[np.float32]]] = field(default_factory=list)
    _items: int = 0

    def __post_init__(self) -> None:
        known = self.pool.judged
        self._better = np.full(len(known.query), np.inf)
        self._equal = np.ones(len(known.query))
        self._depths = np.zeros(known.queries, dtype=np.intp)
        self._ranked = np.zeros(known.queries, dtype=bool)
        self._cut = np.zeros(known.queries, dtype=bool)
        self._ids = np.append(self.pool.items, -1)  # no row has the id -1
        self._seen = np.zeros(int(self.pool.items[-1]) + 1 if len(self.pool.items) else 0, dtype=bool)
        # The pairs of query q are those from starts[q] to starts[q + 1].
        self._starts = np.searchsorted(known.query, np.arange(known.queries + 1))

    def add(self, query: int, items: RowIds, scores: NDArray[np.float32]) -> None:
        self._waiting.append((query, items, scores))
        self._items += len(items)
        if len(self._waiting) == _BLOCK or self._items >= _ITEMS:
            self._flush()

    def placed(self) -> Placed:
        self._flush()
        known = self.pool.judged
        ranked = Ranked(known, self._better, self._equal, self._depths, level=self.pool.level)
        seen = np.flatnonzero(self._seen).astype(np.int64)
        whole = not self._ranked.any() or int(self._depths[self._ranked].min()) == len(seen)
        complete_to = int(self._depths[self._cut].min()) if self._cut.any() else None
        return Placed(self.pool, ranked, int((~self._ranked).sum()), complete_to, RankedItems(seen, whole))

    def _flush(self) -> None:
        if not self._waiting:
            return
        known = self.pool.judged
        queries, of_query, scored = zip(*self._waiting, strict=True)
        listed = np.array(list(map(len, of_query)))
        # For each item of all these rankings: its ranking, its id and its score.
        line = np.repeat(np.arange(len(listed)), listed)
        items, values = np.concatenate(of_query), np.concatenate(scored)
        if not self.pool.closed and self.pool.within is not None:
            inside = _among(items, self.pool.within)
            line, items, values = line[inside], items[inside], values[inside]
        at = np.searchsorted(self.pool.items, items)
        in_pool = self._ids[at] == items
        if self.pool.closed:
            line, items, values, at, in_pool = (
                array[in_pool] for array in (line, items, values, at, in_pool)
            )
        if len(items) and (highest := int(items.max())) >= len(self._seen):
            self._seen = np.concatenate([self._seen, np.zeros(2 * highest + 1 - len(self._seen), dtype=bool)])
        self._seen[items] = True
        lengths = np.bincount(line, minlength=len(listed))
        column = np.arange(len(line)) - (np.cumsum(lengths) - lengths)[line]
        lists = np.full((len(listed), lengths.max()), -1, dtype=np.intp)
        # Other items only need distinct numbers.
        lists[line, column] = np.where(in_pool, at, known.items + column)
        scores = np.full(lists.shape, -np.inf, dtype=np.float32)
        scores[line, column] = values
        rows = np.searchsorted(self.pool.queries, queries)
        self._ranked[rows], self._cut[rows] = True, (listed >= self.depth) & bool(self.depth)
        pairs = np.concatenate([np.arange(self._starts[row], self._starts[row + 1]) for row in rows])
        block = Judged(
            len(rows),
            known.items + lists.shape[1],
            np.repeat(np.arange(len(rows)), np.diff(self._starts)[rows]),
            known.item[pairs],
            known.grade[pairs],
            known.original[pairs],
        )
        ranks = from_lists(lists, block, scores=scores)
        self._better[pairs], self._equal[pairs] = ranks.better, ranks.equal
        self._depths[rows] = ranks.depth
        self._waiting.clear()
        self._items = 0


def _among(ids: RowIds, ascending: RowIds) -> NDArray[np.bool_]:
    """Return a mask of the ids that are among others."""
    at = np.minimum(np.searchsorted(ascending, ids), max(len(ascending) - 1, 0))
    return ascending[at] == ids if len(ascending) else np.zeros(len(ids), dtype=bool)


def check_fits(run: Run, snapshot: AnyQrels) -> None:
    """Raise PhraseboxError unless run and snapshot are of one corpus."""
    if run.corpus_id != snapshot.corpus_id:
        raise PhraseboxError(
            f"run {run.name!r} is of corpus {run.corpus.name!r}, qrels '{snapshot}' of "
            f"{snapshot.corpus.name!r}; choose qrels of the same corpus"
        )
