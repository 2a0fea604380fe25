"""Active pooling: judge the pairs of a pool in an order that finds relevant ones early, and decide when to
stop.

Strategies choose the next unjudged pair to ask about, from the answers so far:

- `depth`: by rank, the first of every list before the second; a pool cut short;
- `move_to_front`: the list (a run's ranking of one query) whose last pairs were relevant goes on, and
  one irrelevant pair puts it behind the others. Cormack, Palmer and Clarke 1998 (global move-to-front).
- `thompson`: a bandit whose arms are the runs; each time a run is drawn by Thompson sampling from the
  Beta posteriors of "its next pair is relevant", and its best unjudged pair is asked about.
  After Losada, Parapar and Barreiro 2017 (there an arm plays one topic; here all queries).
- `spread`: at random, each pair with the same chance; the baseline.

Scores while judging are precision at the pool's depth over all lists, unjudged pairs counted as irrelevant,
originals as relevant. Runs are ranked within their direction. Judging stops once these rankings have not
moved for a while: Kendall's tau-b with each of the last `patience` ones is at least `stable`; of two
directions the smaller tau counts.

`judge` goes through a pool whose answers are known, to measure strategies. `choose_next_pairs` returns the
pairs to ask people about next, from their answers so far: it replays the order, answer by answer, up to the
first pairs that were not asked before. So it depends only on the answers, not on their order in time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phrasebox.lazy import sparse, stats
from phrasebox.pooling.pools import ANNOTATION, BadPool, PairIds, PairPool, Shortlist, among
from phrasebox.registry import Registry

#: Yields pairs to ask about (their indices among the pairs to judge), and is sent whether each is relevant.
_Order = Generator[PairIds, NDArray[np.bool_], None]
#: (lists, number to judge, number at a time, rng) -> an order of all of them.
Strategy = Callable[["Lists", int, int, np.random.Generator], _Order]

STRATEGIES: Registry[Strategy] = Registry("pooling strategy")


@dataclass(frozen=True)
class Lists:
    """The runs' lists as indices of pairs to judge, -1 for an original or an end: shape (lists, depth).

    `run`, shape (lists,), is the number of each list's run.
    """

    run: PairIds
    places: PairIds


@dataclass(frozen=True)
class Stop:
    """When the ranking counts as stable; `step` is the share of the pool judged between two checks."""

    step: float = 0.02
    stable: float = 0.95
    patience: int = 6
    at_least: float = 0.1

    def __post_init__(self) -> None:
        if not (
            0 < self.step <= 1 and 0 < self.stable <= 1 and self.patience >= 1 and 0 <= self.at_least <= 1
        ):
            raise ValueError(f"{self}: expected shares over 0 and at most 1, and a patience of 1 or more")


@dataclass(frozen=True)
class PoolJudging:
    """The result of judging a pool: `judged` of `pool` pairs until the ranking was `stable`, of which
    `relevant` are relevant.

    `scores` are the runs' values at that time, and `tau` is Kendall's tau-b with their ranking by the full
    pool, the smaller one of two directions.
    """

    strategy: str
    pool: int
    judged: int
    relevant: int
    stable: bool
    scores: NDArray[np.float64]
    tau: float

    @property
    def share(self) -> float:
        """The share of the pool that is judged; 0 for an empty pool."""
        return self.judged / self.pool if self.pool else 0.0


@dataclass(frozen=True)
class NextPairs:
    """The pairs to ask about next: `pairs`, empty if the ranking is `stable` or nothing is left.

    `asked_before` of `pool` pairs were asked before, and `tau` is the smallest tau with the last rankings,
    NaN before there are enough of them.
    """

    pairs: PairIds
    pool: int
    asked_before: int
    stable: bool
    tau: float


def stop_for(step: float) -> Stop:
    """Return the stopping rule for asking `step` of the pool at a time: as patient, in pairs, as the default
    `Stop`."""
    usual = Stop()
    return Stop(step=step, patience=max(2, round(usual.patience * usual.step / step)))


@dataclass(frozen=True, slots=True)
class RoundRule:
    """How rounds are chosen: in the order of a strategy, until it is time to stop, at most `most` pairs a
    round."""

    strategy: str
    stop: Stop
    most: int
    seed: int = 0


def choose_next_pairs(
    shortlists: Sequence[Shortlist],
    pool: PairPool,
    candidates: PairIds,
    *,
    selected_pairs: PairIds,
    relevant: PairIds,
    rule: RoundRule,
) -> NextPairs:
    """Return the next pairs to ask about among `candidates`, the pairs that a filter leaves; all others count
    as irrelevant.

    `selected_pairs` were asked before or are known, and those of them in `relevant` were judged relevant; all
    three are sorted. The strategy's next pairs are returned, at most as many as the `rule` allows. Raises
    UnknownName for an unknown strategy, BadPool if no direction has two runs.
    """
    look = _looker(shortlists, rule.stop)
    lists, weights, original_scores = _laid_out(shortlists, pool, candidates)
    there, truth = among(candidates, selected_pairs), among(candidates, relevant)
    number = len(candidates)
    step = max(1, round(rule.stop.step * number))
    order = STRATEGIES.get(rule.strategy)(lists, number, step, np.random.default_rng(rule.seed))
    known = np.zeros(number)
    rankings = [original_scores]
    done, tau, stable = 0, float("nan"), False
    places = next(order, None)
    while places is not None and not stable:
        fresh = places[~there[places]]
        if len(fresh):
            return NextPairs(np.sort(candidates[fresh[: rule.most]]), number, int(there.sum()), False, tau)
        known[places] = truth[places]
        done += len(places)
        rankings.append(original_scores + weights @ known)
        tau = look(rankings, done / number)
        stable = tau >= rule.stop.stable
        try:
            places = order.send(truth[places])
        except StopIteration:
            break
    return NextPairs(candidates[:0], number, int(there.sum()), stable, tau)


def _looker(
    shortlists: Sequence[Shortlist], stop: Stop
) -> Callable[[list[NDArray[np.float64]], float], float]:
    """Return a function of the rankings so far and the share judged: the smallest tau with the last ones, NaN
    if it is too early to tell. Raises BadPool if no direction has two runs."""
    agreement = _agreement(shortlists, orderless=0.0)

    def look(rankings: list[NDArray[np.float64]], share: float) -> float:
        if share < stop.at_least or len(rankings) <= stop.patience:
            return float("nan")
        return min(agreement(rankings[-1], before) for before in rankings[-1 - stop.patience : -1])

    return look


def _agreement(
    shortlists: Sequence[Shortlist], *, orderless: float = 1.0
) -> Callable[[NDArray[np.float64], NDArray[np.float64]], float]:
    """Return a function that computes Kendall's tau-b of two rankings of the runs, of two directions the
    smaller one; `orderless` if neither ranking of a direction has an order, since no order cannot be
    stable."""
    by_direction: dict[str, list[int]] = {}
    for number, shortlist in enumerate(shortlists):
        by_direction.setdefault(shortlist.direction, []).append(number)
    sides = [numbers for numbers in by_direction.values() if len(numbers) > 1]
    if not sides:
        raise BadPool("only one run of this direction was given; pool two or more")
    return lambda first, second: min(tau_b(first[side], second[side], orderless=orderless) for side in sides)


def judge(
    shortlists: Sequence[Shortlist],
    pool: PairPool,
    relevant: PairIds,
    *,
    strategy: str,
    stop: Stop | None = None,
    seed: int = 0,
) -> PoolJudging:
    """Judge a pool actively; `relevant` are the pairs, sorted, that judges would call relevant.

    Raises UnknownName for an unknown strategy, BadPool if no direction has two runs.
    """
    stop = stop or Stop()
    agreement, look = _agreement(shortlists), _looker(shortlists, stop)
    pairs_to_judge = pool.to_judge
    truth = among(pairs_to_judge, relevant)
    lists, weights, original_scores = _laid_out(shortlists, pool, pairs_to_judge)
    full = original_scores + weights @ truth.astype(np.float64)
    step = max(1, round(stop.step * len(pairs_to_judge)))
    order = STRATEGIES.get(strategy)(lists, len(pairs_to_judge), step, np.random.default_rng(seed))
    known = np.zeros(len(pairs_to_judge))
    rankings = [original_scores]
    done, stable = 0, False
    places = next(order, None)
    while places is not None and not stable:
        known[places] = truth[places]
        done += len(places)
        rankings.append(original_scores + weights @ known)
        stable = look(rankings, done / len(pairs_to_judge)) >= stop.stable
        try:
            places = order.send(truth[places])
        except StopIteration:
            break
    return PoolJudging(
        strategy,
        len(pairs_to_judge),
        done,
        int(known.sum()),
        stable,
        rankings[-1],
        agreement(rankings[-1], full),
    )


def tau_b(first: NDArray[np.float64], second: NDArray[np.float64], *, orderless: float = 1.0) -> float:
    """Return Kendall's tau-b of two rankings; 0 if one has no order, `orderless` if neither has."""
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return orderless if np.ptp(first) == np.ptp(second) else 0.0
    return float(stats.kendalltau(first, second).statistic)


def _laid_out(
    shortlists: Sequence[Shortlist], pool: PairPool, selected_pairs: PairIds
) -> tuple[Lists, sparse.csr_array, NDArray[np.float64]]:
    """Return the lists of the `selected_pairs`; what each of these adds to each run's precision, shape (runs,
    pairs); and what originals add."""
    runs, places, original_scores = [], [], np.zeros(len(shortlists))
    weights = []
    for number, shortlist in enumerate(shortlists):
        lists = shortlist.lists[:, : pool.depth]
        filled = lists >= 0
        images, captions = (
            (shortlist.queries[:, None], lists)
            if shortlist.direction == ANNOTATION
            else (lists, shortlist.queries[:, None])
        )
        pairs = pool.space.pairs(*np.broadcast_arrays(np.maximum(images, 0), np.maximum(captions, 0)))
        is_original = filled & pool.space.original(pairs)
        ask = filled & ~is_original & among(pairs, selected_pairs)
        columns = np.full(lists.shape, -1, dtype=np.int64)
        columns[ask] = np.searchsorted(selected_pairs, pairs[ask])
        unit = 1 / max(1, len(lists) * pool.depth)
        original_scores[number] = is_original.sum() * unit
        row = np.bincount(columns[ask], minlength=len(selected_pairs)) * unit
        weights.append(sparse.csr_array(row[None, :]))
        wide = np.full((len(lists), pool.depth), -1, dtype=np.int64)
        wide[:, : lists.shape[1]] = columns
        runs.append(np.full(len(lists), number, dtype=np.int64))
        places.append(wide)
    return (
        Lists(np.concatenate(runs), np.concatenate(places)),
        sparse.vstack(weights).tocsr(),
        original_scores,
    )


def _depth(lists: Lists, number: int, step: int, rng: np.random.Generator) -> _Order:
    best = np.full(number, lists.places.shape[1])
    for rank in reversed(range(lists.places.shape[1])):
        column = lists.places[:, rank]
        best[column[column >= 0]] = rank
    order = np.lexsort((rng.random(number), best))
    for start in range(0, number, step):
        yield order[start : start + step]


def _spread(lists: Lists, number: int, step: int, rng: np.random.Generator) -> _Order:
    order = rng.permutation(number)
    for start in range(0, number, step):
        yield order[start : start + step]


def _move_to_front(lists: Lists, number: int, step: int, rng: np.random.Generator) -> _Order:
    """Judge one pair at a time within a list, in groups of `step` answers."""
    rows = [row[row >= 0].tolist() for row in lists.places]
    at = [0] * len(rows)
    fresh = np.ones(number, dtype=bool)
    # The queue of lists, best first: by how often each was put behind, then at random.
    queue = [(0, float(chance), row) for row, chance in enumerate(rng.random(len(rows)))]
    heapq.heapify(queue)
    while queue:
        chosen: list[int] = []
        owners: list[tuple[int, float, int]] = []
        while queue and len(chosen) < step:
            behind, chance, row = heapq.heappop(queue)
            while at[row] < len(rows[row]) and not fresh[rows[row][at[row]]]:
                at[row] += 1
            if at[row] == len(rows[row]):
                continue
            pair = rows[row][at[row]]
            fresh[pair] = False
            chosen.append(pair)
            owners.append((behind, chance, row))
        if chosen:
            answers = yield np.array(chosen, dtype=np.int64)
            for (behind, chance, row), yes in zip(owners, answers.tolist(), strict=True):
                heapq.heappush(queue, (behind + (not yes), chance, row))


def _thompson(lists: Lists, number: int, step: int, rng: np.random.Generator) -> _Order:
    runs = int(lists.run.max(initial=-1)) + 1
    # The pairs of each run, best ranks first, with queries of equal rank in random order.
    stock = []
    for run in range(runs):
        places = lists.places[lists.run == run]
        ranks = np.broadcast_to(np.arange(places.shape[1]), places.shape)
        order = np.lexsort((rng.random(places.size), ranks.ravel()))
        stock.append(places.ravel()[order][places.ravel()[order] >= 0])
    at = np.zeros(runs, dtype=np.int64)
    fresh = np.ones(number, dtype=bool)
    yes, no = np.ones(runs), np.ones(runs)
    while fresh.any():
        chosen: list[int] = []
        owners: list[int] = []
        drawn = rng.beta(yes, no, size=(step, runs))
        for chances in drawn:
            for run in np.argsort(-chances).tolist():
                candidates = stock[run]
                while at[run] < len(candidates) and not fresh[candidates[at[run]]]:
                    at[run] += 1
                if at[run] < len(candidates):
                    break
            else:
                break
            pair = int(candidates[at[run]])
            fresh[pair] = False
            chosen.append(pair)
            owners.append(run)
        answers = yield np.array(chosen, dtype=np.int64)
        yes += np.bincount(owners, weights=answers, minlength=runs)
        no += np.bincount(owners, weights=~answers, minlength=runs)


STRATEGIES.register("depth", _depth)
STRATEGIES.register("spread", _spread)
STRATEGIES.register("move_to_front", _move_to_front)
STRATEGIES.register("thompson", _thompson)
