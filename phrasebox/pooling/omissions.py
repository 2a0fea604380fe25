"""The fairness of a pool to a run that did not contribute to it, and to a new run.

Leaving a run out: the pairs that only this run contributes are removed from the judgments, and all runs are
scored again. What the run loses, in value and rank, is what an equally different system would lose that comes
after the pool was judged. Originals stay relevant. Source: Zobel 1998; Buckley, Dimmick, Soboroff and
Voorhees 2007.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phrasebox.metrics.judgments import Judged, judged
from phrasebox.metrics.ranked import from_lists
from phrasebox.metrics.scoring import evaluate
from phrasebox.metrics.table import METRICS
from phrasebox.pooling.pools import ANNOTATION, PairIds, PairPool, Shortlist, Space, among


@dataclass(frozen=True, slots=True)
class OmittedSystem:
    """A run with, and without, what only its system contributes: `own_pairs` pairs, of which `relevant` are
    relevant.

    Ranks count from 1 among the runs of its direction; equal values share the better rank.
    """

    run: str
    direction: str
    own_pairs: int
    relevant: int
    score: float
    score_without: float
    rank: int
    rank_without: int


@dataclass(frozen=True, slots=True)
class _Unjudged:
    """Of the `pairs` of a run down to a depth, `unjudged_in_top` have no answer (originals are known)."""

    run: str
    pairs: int
    unjudged: int

    @property
    def share(self) -> float:
        """The share of the pairs without an answer; 0 without pairs."""
        return self.unjudged / self.pairs if self.pairs else 0.0


def unjudged_in_top(run: Shortlist, space: Space, known: PairIds, *, depth: int) -> _Unjudged:
    """Count the pairs of a run's top `depth` that are neither `known` (pairs, sorted) nor originals."""
    pairs = run.pairs(space, depth)
    return _Unjudged(run.name, len(pairs), int((~among(pairs, known) & ~space.original(pairs)).sum()))


def leave_out(
    shortlists: Sequence[Shortlist],
    pool: PairPool,
    known: PairIds,
    relevant: NDArray[np.bool_],
    *,
    measure: str = "R-precision",
) -> list[OmittedSystem]:
    """Score each run of the pool with and without what only its system contributes, under a ranking measure.

    `known` are judged pairs, sorted, and `relevant` says which of them are relevant. A system's runs of both
    directions are left out together: a new system would come with both.
    """
    omissions = []
    higher = METRICS.find(measure).measure.higher_is_better
    whole = scores(shortlists, pool.space, known, relevant, measure=measure)
    for run in shortlists:
        together = [shortlist.name for shortlist in shortlists if shortlist.of == run.of]
        mine = among(known, pool.pairs) & ~among(known, pool.without(together))
        mine &= ~pool.space.original(known)
        less = scores(shortlists, pool.space, known[~mine], relevant[~mine], measure=measure)
        rivals = [shortlist.name for shortlist in shortlists if shortlist.direction == run.direction]
        omissions.append(
            OmittedSystem(
                run.name,
                run.direction,
                int(mine.sum()),
                int((mine & relevant).sum()),
                whole[run.name],
                less[run.name],
                _rank_among(whole, run.name, rivals, higher=higher),
                _rank_among(less, run.name, rivals, higher=higher),
            )
        )
    return omissions


def scores(
    shortlists: Sequence[Shortlist],
    space: Space,
    known: PairIds,
    relevant: NDArray[np.bool_],
    *,
    measure: str = "R-precision",
) -> dict[str, float]:
    """Return each run's value on a ranking measure, under judged pairs and originals."""
    originals = space.pairs(space.owner, np.arange(space.captions))[: space.captions * space.originals]
    pairs = np.union1d(known, originals)
    grade = np.ones(len(pairs))
    grade[np.searchsorted(pairs, known)] = relevant
    images, captions = space.parts(pairs)
    original = space.original(pairs)
    by_image = judged(images, captions, grade, original=original, queries=space.images, items=space.captions)
    sides = {True: by_image, False: by_image.swapped()}
    values = {}
    for run in shortlists:
        side: Judged = sides[run.direction == ANNOTATION]
        chosen = side.select(run.queries, np.arange(side.items))
        (score,) = evaluate(from_lists(run.lists, chosen), [measure]).values()
        values[run.name] = score.value
    return values


def _rank_among(values: dict[str, float], run: str, rivals: Sequence[str], *, higher: bool) -> int:
    """Return the rank of a run by its value, from 1; if `higher`, higher values are better, else lower
    ones."""
    better = (values[rival] > values[run] if higher else values[rival] < values[run] for rival in rivals)
    return 1 + sum(better)
