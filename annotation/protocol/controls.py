"""When a worker gets a control item, and which one.

All draws hash names with the campaign's seed: the same seed, worker, kind and number give the same draw on
any machine, independent of earlier draws and of other workers, and a worker who returns an item gets the next
draw for the same number.

Source: Plummer et al. 2015, section 2.3 ("the 2% of items that are also verification questions"). That 12 of
the first 30 are control items, balanced over the possible answers, is our choice.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from math import ceil, floor

from annotation.protocol.kinds import MEASURED_ON_CONTROLS, kind_of
from annotation.protocol.trust import TRUSTED, WARM_UP
from annotation.protocol.trust_settings import TrustSettings

Seed = int | str


def draw_number(*names: object) -> float:
    """Return a number in 0..1 (1 exclusive) that depends only on `names`."""
    # The length of each name precedes it, so that ("a", "bc") and ("ab", "c") differ.
    text = "".join(f"{len(name)}:{name}" for name in map(str, names))
    return (int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 11) / 2**53


def draw_sample(things: Iterable[str], count: int, *names: object) -> list[str]:
    """Return `count` of the distinct `things` (all, if fewer) in a random order that is independent of the
    input order."""
    return sorted(set(things), key=lambda thing: (draw_number(*names, thing), thing))[:count]


def is_control_due(
    settings: TrustSettings, *, seed: Seed, worker: str, kind: str, state: str, number: int
) -> bool:
    """Whether item `number` (from 1) of this worker and kind is to be a control item.

    `number` counts the worker's completed and leased items, including this one. During warm-up,
    `warm_up_known` of every `warm_up_items` are due, so that a worker whose warm-up lasts longer because
    controls ran out catches up at the same rate. A trusted worker has one at a random position in every
    stretch of 1 / `control_share` items. There are none for kinds without control items and for workers who
    get no items. Raises ValueError for a number below 1.
    """
    if number < 1:
        raise ValueError(f"item number {number}: expected 1 or more")
    if kind_of(kind).measured_on != MEASURED_ON_CONTROLS:
        return False
    if state == WARM_UP:
        block, index = divmod(number - 1, settings.warm_up_items)
        of, known = settings.warm_up_items, settings.warm_up_known
        return index in _warm_up_places(of, known, seed, worker, kind, block)
    share = Fraction(str(settings.control_share))
    if state != TRUSTED or not share:
        return False
    # Stretch k contains the items ceil(k / share) to ceil((k + 1) / share) - 1: whole items, without gaps.
    item = number - 1 - settings.warm_up_items
    stretch = floor(item * share)
    start, end = ceil(stretch / share), ceil((stretch + 1) / share)
    return item == start + floor(draw_number(seed, worker, kind, "trusted", stretch) * (end - start))


@lru_cache(maxsize=4096)
def _warm_up_places(of: int, known: int, seed: Seed, worker: str, kind: str, block: int) -> frozenset[int]:
    """Return which of the `of` positions of a worker's warm-up are control items."""
    return frozenset(
        map(int, draw_sample(map(str, range(of)), known, seed, worker, kind, "probation", block))
    )


@dataclass(frozen=True, slots=True)
class PooledControl:
    """A control item; `stratum` is its gold answer (`grading.stratum`)."""

    id: str
    stratum: str


@dataclass(frozen=True, slots=True)
class ControlCounts:
    """A worker's control items, counted by gold answer.

    `known`: answered, and counted as a checked answer, whether it is in use today or not. `in_hand`: not
    answered yet. `excluded`: returned or expired, and not answered since.
    """

    known: Mapping[str, int] = field(default_factory=dict)
    in_hand: Mapping[str, int] = field(default_factory=dict)
    excluded: Mapping[str, int] = field(default_factory=dict)

    def ahead(self, answer: str, others: Iterable[str]) -> bool:
        """Whether one more checked answer could bring `answer` more than one ahead of one of the `others`, if
        all of its leased items were answered and nothing else."""
        most = self.known.get(answer, 0) + self.in_hand.get(answer, 0)
        return any(
            most > self.known.get(other_answer, 0) for other_answer in others if other_answer != answer
        )


@dataclass(frozen=True, slots=True)
class ControlChoice:
    """The control item to serve, or None; `warning` is for the campaign page, or None."""

    control: PooledControl | None
    warning: str | None = None


def choose_control(
    pool: Collection[PooledControl],
    *,
    seed: Seed,
    worker: str,
    kind: str,
    seen: Collection[str] = frozenset(),
    measured: ControlCounts | None = None,
    strange: Callable[[str], float] | None = None,
) -> ControlChoice:
    """Choose a control of `pool` for this worker that is not among the ids `seen` (answered or only shown).

    The answer with the fewest checked answers in `measured` comes next, with random ties (None: everything
    seen was answered): the counts of any two answers differ by at most one while controls of both remain,
    however many the worker returns, lets expire or answers late. An answer of which the worker skipped more
    than they answered (more than one) blocks the others even when its controls are used up, so that nobody is
    measured on some answers alone after skipping another.

    Of the controls of that answer, the one with the lowest value of `strange(id)` is chosen, which says how
    unusual it would look to the worker, with random ties. Independent of the order of `pool` and `seen`.
    Raises ValueError if two controls have the same id.
    """
    if len({control.id for control in pool}) < len(pool):
        twice = next(id for id, times in Counter(control.id for control in pool).items() if times > 1)
        raise ValueError(f"two control items of {kind} have the id {twice!r}: expected one of each id")
    left: dict[str, list[str]] = {control.stratum: [] for control in pool}
    for control in pool:
        if control.id not in seen:
            left[control.stratum].append(control.id)
    if measured is None:
        measured = ControlCounts(Counter(control.stratum for control in pool if control.id in seen))
    if not pool:
        return ControlChoice(None, f"{kind} has no control items: none is injected until some are added.")
    if not any(left.values()):
        return ControlChoice(
            None,
            f"Worker {worker} has seen all {len(pool)} control items of {kind}: "
            "none is injected for them until more are added.",
        )
    shunned = {s for s in left if not left[s] and _shuns(measured, s)}
    racing = [s for s in left if left[s] or s in shunned]
    open_strata = [s for s in racing if left[s] and not measured.ahead(s, racing)]
    if not open_strata:
        return ControlChoice(
            None,
            f"Worker {worker} left out most control items of {kind} with the gold answer {min(shunned)!r}: "
            f"no others are injected until they answer these, or more are added."
            if shunned
            else None,
        )
    met = {s: measured.known.get(s, 0) + measured.in_hand.get(s, 0) for s in left}
    stratum = min(
        open_strata, key=lambda s: (met[s], draw_number(seed, worker, kind, "stratum", met[s], s), s)
    )
    apart = {id: strange(id) if strange else 0.0 for id in left[stratum]}
    nearest = min(apart.values())
    (chosen,) = draw_sample(
        (id for id, far in apart.items() if far == nearest), 1, seed, worker, kind, "control"
    )
    behind = min(left, key=lambda s: (met[s], draw_number(seed, worker, kind, "stratum", met[s], s), s))
    if not left[behind] and met[behind] < met[stratum]:
        return ControlChoice(
            PooledControl(chosen, stratum),
            f"Worker {worker} has seen every control item of {kind} with the gold answer {behind!r}: "
            "add more of these, or a worker who always answers otherwise passes.",
        )
    return ControlChoice(PooledControl(chosen, stratum))


def _shuns(measured: ControlCounts, answer: str) -> bool:
    return measured.excluded.get(answer, 0) > max(1, measured.known.get(answer, 0))


def test_items(
    pool: Collection[PooledControl],
    count: int,
    *,
    seed: Seed,
    worker: str,
    kind: str,
    attempt: int,
    used: Mapping[str, int] | None = None,
) -> list[PooledControl]:
    """Return the items of a worker's qualification test, in order.

    At most `count` of `pool`; the numbers of items per answer differ by at most one, so that a worker who
    always gives the same answer has at least a third wrong; fewer than `count` if one answer runs out. Items
    that an earlier attempt `used` (id to count) are repeated only if new ones run out. Empty if all items
    have the same gold answer: they would test nothing.
    """
    times = used or {}
    left: dict[str, list[PooledControl]] = {}
    for control in sorted(
        pool, key=lambda c: (times.get(c.id, 0), draw_number(seed, worker, kind, "test", attempt, c.id), c.id)
    ):
        left.setdefault(control.stratum, []).append(control)
    if len(left) < 2:
        return []
    turns = draw_sample(left, len(left), seed, worker, kind, "test", attempt)
    rounds = min(map(len, left.values()))
    # The last round ends at the count, or when an answer has run out.
    chosen = [left[stratum][index] for index in range(rounds) for stratum in turns][:count]
    for stratum in turns:
        if len(chosen) < rounds * len(turns) or len(chosen) == count or len(left[stratum]) == rounds:
            break
        chosen.append(left[stratum][rounds])
    return sorted(chosen, key=lambda c: draw_number(seed, worker, kind, "order", attempt, c.id))
