"""Whom the crowd rules let pass: exact chances, under the default settings, as a table.

    python -m benchmarks.trust [--drawers]

Nothing is simulated: the chance of every window of known answers that a worker can still have
is carried from one known answer to the next, and windows below the bar drop out. With
`--drawers`: who is suspended from drawing under three rules, simulated, since long windows are too many.
`docs/trust.md` holds both outputs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np

from annotation.protocol.grading import TRUE_CAPTIONS
from annotation.protocol.paging import PagingSettings, controls_on_page
from annotation.protocol.questions import BOX_REQUIREMENT, COREF_LINK
from annotation.protocol.trust import GRADED_RELEVANCE, PROBATION, RELEVANCE, TrustSettings

ERRORS = {"careful": 0.03, "average": 0.08, "sloppy": 0.20}


def survival(rights: Sequence[float], known: int, *, kind: str, settings: TrustSettings) -> list[float]:
    """Chances of not being suspended after 0 to `known` known answers.

    `rights[s]` is the chance of a right answer where the known answer is the s-th possible one.
    The possible answers come in rounds, each round in any order with equal chance.
    """
    bar, window = settings.bar_of(kind), settings.window_of(kind)
    windows = np.arange(2**window, dtype=np.int64)
    wrong = np.bitwise_count(windows)
    kept = (window - wrong) / window >= bar
    windows, wrong = windows[kept], wrong[kept]
    # A window of answers is a number, its newest answer the lowest bit, 1 where it is wrong. Before the
    # window is full nothing leaves it, so one with too many wrong for a full window is lost already.
    place = np.full(2**window, -1)
    place[windows] = np.arange(len(windows))
    after_right = place[(windows << 1) & (2**window - 1)]
    after_wrong = place[((windows << 1) | 1) & (2**window - 1)]

    def answered(chances: np.ndarray, right: float, number: int) -> np.ndarray:
        new = np.zeros_like(chances)
        for next_place, share in ((after_right, right), (after_wrong, 1 - right)):
            inside = next_place >= 0
            np.add.at(new, next_place[inside], chances[inside] * share)
        length = min(number, window)
        if number >= settings.verdict_known:
            new[(length - wrong) / length < bar] = 0
        return new

    chances = np.zeros(len(windows))
    chances[place[0]] = 1.0
    alive = [1.0]
    orders = sorted(set(permutations(rights)))
    while len(alive) <= known:
        ends, shares = np.zeros_like(chances), np.zeros(len(rights))
        for order in orders:
            way = chances
            for step, right in enumerate(order):
                way = answered(way, right, len(alive) + step)
                shares[step] += way.sum() / len(orders)
            ends += way / len(orders)
        chances = ends
        alive.extend(shares)
    return [1.0 if n < settings.verdict_known else share for n, share in enumerate(alive[: known + 1])]


def known_after(
    items: int, *, kind: str, settings: TrustSettings, paging: PagingSettings
) -> dict[int, float]:
    """How many known answers a worker has given after `items` items, with chances."""
    beyond = items - settings.probation_items
    if kind == RELEVANCE:
        pages = range(1, settings.probation_items // paging.images + 1)
        first = (controls_on_page(settings, seed="", worker="", state=PROBATION, page=p) for p in pages)
        return {sum(first) + beyond // paging.images * paging.controls: 1.0}
    stretches = beyond * Fraction(str(settings.control_share))
    sure = settings.probation_known + int(stretches)
    return {sure: 1 - float(stretches % 1), sure + 1: float(stretches % 1)}


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
    """The table's rows: question, worker, accuracy, chance to pass, chances of suspension by horizon."""
    paging = PagingSettings()
    for question, kind, worker, rights in workers():
        counts = [
            known_after(items, kind=kind, settings=settings, paging=paging)
            for items in (settings.probation_items, *horizons)
        ]
        alive = survival(rights, max(max(c) for c in counts), kind=kind, settings=settings)
        passed, *lasting = (sum(chance * alive[n] for n, chance in c.items()) for c in counts)
        yield [
            question,
            worker,
            f"{sum(rights) / len(rights):.3f}",
            f"{passed:.4f}",
            *(f"{1 - share:.4f}" for share in lasting),
        ]


def markdown(settings: TrustSettings | None = None) -> str:
    """The table as Markdown."""
    head = ["question", "worker", "right", "passes probation", "suspended within 60", "within 1,000 items"]
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
                    wrong = until[:, n] - until[:, n - length]
                    suspended |= (length - wrong) / length < bar
                shares.append(f"{suspended.mean():.3f}")
            lines.append([name, f"{wrong_verdicts:.2f}", f"{passed:.3f}", *shares])
    rules = [f"bar {bar}, {least} of the last {window}" for bar, least, window in DRAWING_RULES]
    head = ["drawer", "verdicts wrong", "boxes pass", *rules]
    return _laid(head, ["---"] + ["---:"] * (len(head) - 1), *lines)


def _laid(*lines: Sequence[str]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(drawers_markdown() if "--drawers" in sys.argv[1:] else markdown())
