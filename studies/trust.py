"""Whom the crowd rules let pass, under the default settings, as a table.

    python -m studies.trust [--drawers]

Simulated are the answers to control items of many workers at once, who come where the rules put them;
other items tell nothing. With `--drawers`: who is suspended from drawing under three rules.
`studies/RESULTS.md` holds both outputs. How a whole crowd fares is told by `studies.bad_workers`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from annotation.protocol.paging import PagingSettings, controls_on_page
from annotation.protocol.questions import BOX_REQUIREMENT, COREF_LINK
from annotation.protocol.trust import WARM_UP
from annotation.protocol.trust_settings import TrustSettings
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from annotation.task_types.relevance.rules import RELEVANCE, TRUE_CAPTIONS

ERRORS = {"careful": 0.03, "average": 0.08, "sloppy": 0.20}
#: Workers simulated for each row of the table.
MANY = 20_000


@dataclass(frozen=True, slots=True)
class Fate:
    """The fate of workers: the share that is trusted at the end of the warm-up, and the shares suspended by
    the requested horizons."""

    trusted: float
    suspended: tuple[float, ...]


def fate(
    rights: Sequence[float],
    *,
    kind: str,
    settings: TrustSettings,
    horizons: Sequence[int],
    workers: int = MANY,
    seed: int = 0,
) -> Fate:
    """Return the fate of `workers` after the numbers of items in `horizons` (ascending).

    `rights[s]` is the probability of a right answer if the gold answer is the s-th possible one. The possible
    answers come in rounds, each in random order.
    """
    rng = np.random.default_rng(seed)
    window, bar, least = settings.window_of(kind), settings.bar_of(kind), settings.verdict_known
    chances, strata = np.array(rights), len(rights)
    everybody = np.arange(workers)
    answers = np.zeros(workers, dtype=np.int64)
    mistakes = np.zeros((workers, window), dtype=bool)
    order = np.zeros((workers, strata), dtype=np.int64)
    out = np.zeros(workers, dtype=bool)
    trusted = np.zeros(workers, dtype=bool)
    # Relevance has its control item at the head of each page, no matter who it is.
    stretch = PagingSettings().images if kind == RELEVANCE else int(1 / Fraction(str(settings.control_share)))
    trusted_place = np.zeros(workers, dtype=np.int64)
    first, shares = 0.0, []
    for item in range(1, horizons[-1] + 1):
        item_in_stratum = (item - 1) % settings.warm_up_items
        if item_in_stratum == 0:
            in_warm_up = _warm_up_places(workers, kind, settings, rng)
        beyond, place_beyond = divmod(item - 1 - settings.warm_up_items, stretch)
        if place_beyond == 0 and beyond >= 0:
            trusted_place = rng.integers(stretch, size=workers) * (kind != RELEVANCE)
        known = np.where(trusted, trusted_place == place_beyond, in_warm_up[:, item_in_stratum])
        rows = everybody[known & ~out]
        stratum = answers[rows] % strata
        fresh = rows[stratum == 0]
        order[fresh] = rng.permuted(np.tile(np.arange(strata), (len(fresh), 1)), axis=1)
        mistakes[rows, answers[rows] % window] = rng.random(len(rows)) >= chances[order[rows, stratum]]
        answers[rows] += 1
        bad = mistakes[rows].sum(axis=1)
        out[rows] = (answers[rows] >= least) & ((window - bad) / window < bar)
        # Only those who were just asked, and at the end of warm-up everybody, can change.
        judged = everybody if item == settings.warm_up_items else rows
        looked = np.minimum(answers[judged], window)
        at_bar = (looked - mistakes[judged].sum(axis=1)) / np.maximum(looked, 1) >= bar
        enough = (looked >= settings.verdict_of(kind)) & (item >= settings.warm_up_items)
        trusted[judged] = at_bar & (trusted[judged] | enough) & ~out[judged]
        if item == settings.warm_up_items:
            first = float(trusted.mean())
        if item in horizons:
            shares.append(float(out.mean()))
    return Fate(first, tuple(shares))


def _warm_up_places(workers: int, kind: str, settings: TrustSettings, rng: np.random.Generator) -> np.ndarray:
    """(workers, warm_up_items): which items of a stretch of warm-up are known."""
    items = settings.warm_up_items
    if kind != RELEVANCE:
        return rng.random((workers, items)).argsort(axis=1) < settings.warm_up_known
    paging = PagingSettings()
    pages = range(1, items // paging.images + 1)
    held = [
        controls_on_page(settings, seed="", worker="", state=WARM_UP, page=page, kind=kind) for page in pages
    ]
    on_page = rng.permuted(np.tile(held, (workers, 1)), axis=1)
    return (np.arange(paging.images) < on_page[:, :, None]).reshape(workers, -1)


def image_right(error: float, true: int, captions: int) -> float:
    """The chance that a control image with `true` true captions is right, at one slip, `error` a caption."""
    # Where one caption only is true, a slip on that one leaves nothing true ticked.
    forgiven = captions - 1 if true == 1 else captions
    return (1 - error) ** captions + forgiven * error * (1 - error) ** (captions - 1)


def workers() -> Iterator[tuple[str, str, str, tuple[float, ...]]]:
    """(question, kind, worker, chance of a right answer for each possible answer)."""
    yes_no = "yes or no"
    for name, error in ERRORS.items():
        yield yes_no, COREF_LINK, name, (1 - error,) * 2
    yield yes_no, COREF_LINK, "random", (1 / 2,) * 2
    yield yes_no, COREF_LINK, "always yes", (1.0, 0.0)
    for name, error in ERRORS.items():
        yield "box requirement", BOX_REQUIREMENT, name, (1 - error,) * 3
    yield "box requirement", BOX_REQUIREMENT, "random", (1 / 3,) * 3
    yield "box requirement", BOX_REQUIREMENT, "always *box*", (1.0, 0.0, 0.0)
    captions = PagingSettings().captions
    for name, error in (*ERRORS.items(), ("random", 0.5)):
        yield "relevance", RELEVANCE, name, tuple(image_right(error, t, captions) for t in TRUE_CAPTIONS)
    yield "relevance", RELEVANCE, "ticks all, or none", (0.0, 0.0, 0.0)
    for name, error in ERRORS.items():
        # A wrong grade is any of the other three; one of these is within one grade of 1, and of 4.
        yield "grading", GRADED_RELEVANCE, name, (1 - error + error / 3,) * 2
    yield "grading", GRADED_RELEVANCE, "random", (1 / 2,) * 2
    yield "grading", GRADED_RELEVANCE, "always the same", (1.0, 0.0)


def rows(settings: TrustSettings, horizons: Sequence[int] = (60, 1000)) -> Iterator[list[str]]:
    """The table's rows: question, worker, accuracy, share trusted at once, shares suspended by horizon."""
    for question, kind, worker, rights in workers():
        fates = fate(rights, kind=kind, settings=settings, horizons=horizons)
        shares = (fates.trusted, *fates.suspended)
        yield [question, worker, f"{sum(rights) / len(rights):.3f}", *(f"{share:.4f}" for share in shares)]


def markdown(settings: TrustSettings | None = None) -> str:
    """The table as Markdown."""
    head = ["question", "worker", "right", "trusted after 30", "suspended within 60", "within 1,000 items"]
    return _laid(head, ["---"] * 2 + ["---:"] * 4, *rows(settings or TrustSettings()))


#: Rules for drawers: bar, least number of verdicts, window. The last is ours.
DRAWING_RULES = ((0.8, 12, 20), (0.8, 12, 100), (0.7, 30, 100))


def drawers_markdown(drawers: int = 4000, boxes: int = 1000) -> str:
    """Shares of `drawers` suspended within `boxes` boxes, every box judged, by error and rule.

    A verdict errs, either way, at the rate given.
    """
    lines = []
    for name, error in ERRORS.items():
        for wrong_verdicts in (0.0, 0.07):
            passed = (1 - error) * (1 - wrong_verdicts) + error * wrong_verdicts
            bad = np.random.default_rng(0).random((drawers, boxes)) >= passed
            # (drawers, boxes + 1): bad ones among the first n
            until = np.pad(bad.cumsum(axis=1), ((0, 0), (1, 0)))
            shares = []
            for bar, least, window in DRAWING_RULES:
                suspended = np.zeros(drawers, dtype=bool)
                for n in range(least, boxes + 1):
                    length = min(n, window)
                    mistakes = until[:, n] - until[:, n - length]
                    suspended |= (length - mistakes) / length < bar
                shares.append(f"{suspended.mean():.3f}")
            lines.append([name, f"{wrong_verdicts:.2f}", f"{passed:.3f}", *shares])
    rules = [f"bar {bar}, {least} of the last {window}" for bar, least, window in DRAWING_RULES]
    head = ["drawer", "verdicts wrong", "boxes pass", *rules]
    return _laid(head, ["---"] + ["---:"] * (len(head) - 1), *lines)


def _laid(*lines: Sequence[str]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(drawers_markdown() if "--drawers" in sys.argv[1:] else markdown())
