"""Savings by a model annotator: the same images through the same crowd, with people alone and with a model
annotator.

In all arms the same rule accepts a box: a person says that it is good. For each arm the study reports the
number of answers of each kind that people gave per image, their seconds by published figures, the number of
boxes drawn by hand, and B-cubed chain F1 and box IoU of the layer, each with a bootstrap interval over images
(all seeds of an image are drawn together); and the difference to people alone from the same draws. It also
reports Student's interval over the differences of the single seeds: who draws what, and what a model
annotator learns, are the same for all images of a seed.

The saved share of the seconds depends on the time for a drawing and a look: `StudySaving` has it over a grid
of prices, from the counts of the answers. Two lists of prices have figures with intervals. By Papadopoulos et
al. 2016 (We don't need no bounding-boxes) drawing takes 25 to 40 s and verifying 2 to 3 s: the midpoints,
32.5 s and 2.5 s, are used for drawing and for everything that is answered by looking. By Su et al. 2012
(Crowdsourcing annotations for visual object detection) the medians of the box loop are 25.5 s for drawing,
9.0 s for quality and 7.8 s for coverage; other questions take the time of quality.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev
from typing import Any

from annotation.protocol.answer_times import (
    DrawingsAndLooks,
    drawings_and_looks,
    saved_share,
    saved_shares,
    table_of_savings,
)
from annotation.protocol.gold import Gold, Truth, anywhere
from annotation.protocol.kinds import all_kinds, draws, kind_of
from annotation.protocol.model_annotators import ModelAnnotatorSettings, Proposals, ProposedBox
from annotation.protocol.rng import SeededRng
from annotation.protocol.scores import LayerScores, compare_layers
from annotation.protocol.state import ImageSettings
from annotation.simulation.driver import Crowd, simulate_image
from annotation.simulation.simulated_model import SimulatedModel
from annotation.simulation.workers import make_crowd

#: The crowd: seven careful, four average and one sloppy worker.
STUDY_MIX: Mapping[str, int] = {"careful": 7, "average": 4, "sloppy": 1}
PEOPLE_ALONE = "people alone"
#: The reported figures, in this order.
FIGURES = (
    "published_seconds",
    "crowd_seconds",
    "drawn_by_hand",
    "judgments",
    "links",
    "coverage_answers",
    "rulings",
    "chain_f1",
    "box_iou",
)


#: Figures that are compared by their difference; costs are compared by their share.
DIFFERENCES = frozenset(("chain_f1", "box_iou"))


def seconds_of(kind: str, *, drawing: float, looking: float, coverage: float | None = None) -> float:
    """Return the time for an answer of a kind, given the times for drawing and looking."""
    if draws(kind):
        return drawing
    return coverage if coverage is not None and kind_of(kind).needs_boxes else looking


def published_seconds(kind: str) -> float:
    """Papadopoulos et al. 2016: the midpoints of 25 to 40 s and of 2 to 3 s."""
    return seconds_of(kind, drawing=32.5, looking=2.5)


def crowd_seconds(kind: str) -> float:
    """Su et al. 2012: medians of drawing, quality and coverage."""
    return seconds_of(kind, drawing=25.5, looking=9.0, coverage=7.8)


@dataclass(slots=True)
class StudiedImage:
    """Cost and result of one image, for one seed or summed over several."""

    runs: int = 0
    judgments: Counter[str] = field(default_factory=Counter)
    rulings: int = 0
    model_answers: int = 0
    scores: LayerScores = field(default_factory=LayerScores)

    def add(self, image: StudiedImage) -> None:
        """Add cost and result of the same image for other seeds."""
        self.runs += image.runs
        self.judgments.update(image.judgments)
        self.rulings += image.rulings
        self.model_answers += image.model_answers
        self.scores.add(image.scores)


@dataclass(slots=True)
class StudiedArm:
    """An arm of the study: for each seed its images, the boxes that its model annotator drew, those accepted,
    and after how many it was suspended."""

    name: str
    seeds: list[list[StudiedImage]]
    drawn: list[int] = field(default_factory=list)
    good: list[int] = field(default_factory=list)
    suspended: list[int | None] = field(default_factory=list)

    def add(self, arm: StudiedArm) -> None:
        """Add the same arm, over the same images, for other seeds."""
        self.seeds += arm.seeds
        self.drawn += arm.drawn
        self.good += arm.good
        self.suspended += arm.suspended

    def all_seeds(self) -> list[StudiedImage]:
        """Each image, summed over the seeds."""
        totals = [StudiedImage() for _ in self.seeds[0]]
        for images in self.seeds:
            for whole, image in zip(totals, images, strict=True):
                whole.add(image)
        return totals


@dataclass(frozen=True, slots=True)
class StudyFigure:
    """A figure of an arm with its 95 % interval; `change` is against people alone, as a share for costs and
    as a difference for F1 and IoU, with its interval over images. `by_seed` are the changes of the single
    seeds, `seeds_low` and `seeds_high` Student's interval over them, None if there is one seed."""

    arm: str
    figure: str
    value: float
    low: float
    high: float
    change: float
    change_low: float
    change_high: float
    by_seed: tuple[float, ...]
    seeds_low: float | None
    seeds_high: float | None


#: Takes a seed; returns a model annotator (None: people alone), and a callback for a finished image (its
#: index, its layer).
ArmOfSeed = Callable[[int], tuple[SimulatedModel | None, Callable[[int, object], object]]]


def run_arm(
    name: str,
    images: Sequence[Gold],
    arm: ArmOfSeed,
    *,
    seeds: Sequence[int],
    settings: ImageSettings | None = None,
    step: Callable[[], object] = lambda: None,
) -> StudiedArm:
    """Send all images through the crowd of each seed, one after the other; `step` is called after each."""
    studied = StudiedArm(name, [])
    for seed in seeds:
        annotator, finished = arm(seed)
        of_seed = [StudiedImage() for _ in images]
        crowd = Crowd(make_crowd(STUDY_MIX, seed=seed), seed=seed, annotator=annotator)
        for index, ((image, size, gold), result) in enumerate(zip(images, of_seed, strict=True)):
            run = simulate_image(gold.mentions, Truth(gold, image=image, size=size), crowd, settings)
            result.runs += 1
            result.judgments.update(run.cost.judgments)
            result.rulings += run.cost.rulings
            result.model_answers += run.cost.model_answers
            result.scores.add(compare_layers(run.state.layer, gold))
            finished(index, run.state.layer)
            step()
        studied.seeds.append(of_seed)
        if annotator is not None:
            studied.drawn.append(annotator.drawn)
            studied.good.append(annotator.good)
            studied.suspended.append(annotator.suspended_after)
    return studied


@dataclass(frozen=True, slots=True)
class ModelBoxes:
    """The boxes that a model annotator drew in all seeds of an arm, those accepted, and after how many each
    seed's was suspended."""

    arm: str
    drawn: int
    good: int
    suspended: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class StudySaving:
    """An arm's saving against people alone: answers per image for the same seeds, and `shares` of the seconds
    saved over the grid of `answer_times.saved_shares`."""

    arm: str
    alone: DrawingsAndLooks
    counts: DrawingsAndLooks
    shares: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class ModelStudy:
    """A study's figures, the savings by prices, and the verdicts on the model annotators' boxes."""

    figures: tuple[StudyFigure, ...]
    savings: tuple[StudySaving, ...]
    boxes: tuple[ModelBoxes, ...]


def study_of(people: StudiedArm, others: Sequence[StudiedArm], *, resamples: int = 1000) -> ModelStudy:
    """Return the figures of some arms, and the verdicts on their model annotators' boxes."""
    return ModelStudy(
        tuple(study_figures(people, others, resamples=resamples)),
        tuple(_saving(people, arm) for arm in others),
        tuple(
            ModelBoxes(arm.name, sum(arm.drawn), sum(arm.good), tuple(arm.suspended))
            for arm in others
            if arm.drawn
        ),
    )


def _saving(people: StudiedArm, arm: StudiedArm) -> StudySaving:
    """Return an arm's saving, against the same seeds of people alone."""
    alone, counts = _counts(people.seeds[: len(arm.seeds)]), _counts(arm.seeds)
    return StudySaving(arm.name, alone, counts, saved_shares(alone, counts))


def _counts(seeds: Sequence[Sequence[StudiedImage]]) -> DrawingsAndLooks:
    """Return people's answers per image, over all seeds."""
    runs = sum(image.runs for images in seeds for image in images)
    total = sum((image.judgments for images in seeds for image in images), Counter[str]())
    return drawings_and_looks({kind: number / max(1, runs) for kind, number in total.items()})


def known_proposals(proposals: Mapping[str, Proposals], settings: ModelAnnotatorSettings) -> ArmOfSeed:
    """Return the arm of a model annotator with fixed boxes."""
    return lambda seed: (
        SimulatedModel(proposals.get, settings=settings, seed=seed),
        lambda image_number, layer: None,
    )


def boxes_anywhere(images: Sequence[Gold], settings: ModelAnnotatorSettings) -> ArmOfSeed:
    """Return the arm of a bad model annotator: it draws random boxes with high confidence."""

    def make(seed: int) -> tuple[SimulatedModel, Callable[[int, object], object]]:
        proposals = proposals_anywhere(images, seed)
        return SimulatedModel(proposals.get, settings=settings, seed=seed), lambda image_number, layer: None

    return make


def proposals_anywhere(images: Sequence[Gold], seed: int) -> dict[str, Proposals]:
    """Return random boxes of a bad model annotator for each mention of these images, with high confidence."""
    proposals: dict[str, Proposals] = {}
    for image, size, gold in images:
        truth = Truth(gold, image=image, size=size)
        proposals[image] = {
            name: [ProposedBox(anywhere(truth, SeededRng("bad machine", seed, image, name)), 0.99)]
            for name in truth.mentions
        }
    return proposals


def people_alone(seed: int) -> tuple[None, Callable[[int, object], object]]:
    """The arm without a model annotator."""
    return None, lambda image_number, layer: None


def study_figures(
    people: StudiedArm, others: Sequence[StudiedArm], *, resamples: int = 1000
) -> Iterator[StudyFigure]:
    """Yield every figure of every arm, people alone first. An arm with fewer seeds than `people` is compared
    with the first of these."""
    arms = [people, *others]
    alone = {len(arm.seeds): StudiedArm("", people.seeds[: len(arm.seeds)]) for arm in arms}
    images = {arm.name: arm.all_seeds() for arm in arms}
    bases = {seeds: arm.all_seeds() for seeds, arm in alone.items()}
    count = len(images[people.name])
    whole = {name: _figures(studied_images, range(count)) for name, studied_images in images.items()}
    whole_base = {seeds: _figures(studied_images, range(count)) for seeds, studied_images in bases.items()}
    of_seed = {
        arm.name: [_figures(studied_images, range(count)) for studied_images in arm.seeds] for arm in arms
    }
    draws_of: dict[str, list[tuple[float, ...]]] = {arm.name: [] for arm in arms}
    base_draws: dict[int, list[tuple[float, ...]]] = {seeds: [] for seeds in bases}
    for resample in range(resamples):
        rng = SeededRng("machine study", resample)
        drawn = [rng.below(count) for _ in range(count)]
        for name, studied_images in images.items():
            draws_of[name].append(_figures(studied_images, drawn))
        for seeds, studied_images in bases.items():
            base_draws[seeds].append(_figures(studied_images, drawn))
    for arm in arms:
        for i, figure in enumerate(FIGURES):
            spread = sorted(value[i] for value in draws_of[arm.name])
            changes = sorted(
                _change(figure, value[i], base[i])
                for value, base in zip(draws_of[arm.name], base_draws[len(arm.seeds)], strict=True)
            )
            by_seed = [
                _change(figure, value[i], base[i])
                for value, base in zip(of_seed[arm.name], of_seed[people.name], strict=False)
            ]
            yield StudyFigure(
                arm.name,
                figure,
                whole[arm.name][i],
                *_interval(spread),
                _change(figure, whole[arm.name][i], whole_base[len(arm.seeds)][i]),
                *_interval(changes),
                tuple(by_seed),
                *(student_interval(by_seed) if len(by_seed) > 1 else (None, None)),
            )


def _change(figure: str, value: float, base: float) -> float:
    if figure in DIFFERENCES:
        return value - base
    return value / base - 1 if base else 0.0


def _interval(spread: Sequence[float]) -> tuple[float, float]:
    count = len(spread)
    return spread[int(0.025 * count)], spread[min(int(0.975 * count), count - 1)]


def student_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean of two or more values, by Student's t."""
    from scipy.special import stdtrit

    half = float(stdtrit(len(values) - 1, 0.975)) * stdev(values) / math.sqrt(len(values))
    return mean(values) - half, mean(values) + half


def _figures(images: Sequence[StudiedImage], drawn: Sequence[int]) -> tuple[float, ...]:
    """Return FIGURES of the images with indices `drawn`; all but scores per image."""
    scores, judgments, runs, rulings = LayerScores(), Counter[str](), 0, 0
    for index in drawn:
        image = images[index]
        runs += image.runs
        rulings += image.rulings
        judgments.update(image.judgments)
        scores.add(image.scores)
    runs = max(1, runs)
    by_hand = sum(judgments[kind.key] for kind in all_kinds() if kind.draws)
    return (
        sum(number * published_seconds(kind) for kind, number in judgments.items()) / runs,
        sum(number * crowd_seconds(kind) for kind, number in judgments.items()) / runs,
        by_hand / runs,
        judgments.total() / runs,
        sum(judgments[kind.key] for kind in all_kinds() if kind.mentions == (2, 2)) / runs,
        sum(judgments[kind.key] for kind in all_kinds() if kind.needs_boxes) / runs,
        rulings / runs,
        scores.f1,
        scores.iou,
    )


def study_table(report: Mapping[str, Any]) -> str:
    """Return a study as text: a line for each figure of each arm, and the verdicts on the model annotators'
    boxes.

    `report` has `images`, `seeds`, `interval_remark`, and as plain data `figures`, `savings` and `boxes`, and
    `measured`: the seconds of a drawing and of a look in a campaign, or None.
    """
    several = any(row["seeds_low"] is not None for row in report["figures"])
    rows = [("arm", "figure", "value", "against people alone", "over seeds" if several else "")]
    for row in report["figures"]:
        form = "{:+.4f}" if row["figure"] in DIFFERENCES else "{:+.1%}"
        change, low, high = (form.format(row[name]) for name in ("change", "change_low", "change_high"))
        least, most = row["seeds_low"], row["seeds_high"]
        over = "" if least is None else f"[{form.format(least)}, {form.format(most)}]"
        value = f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
        rows.append((row["arm"], row["figure"].replace("_", " "), value, f"{change} [{low}, {high}]", over))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    remark = f" ({report['interval_remark']})" if report["interval_remark"] else ""
    head = (
        f"{report['images']} images, {report['seeds']} seeds; costs are those of people for one image, with "
        f"95 % bootstrap intervals over images{remark}"
        + (" and Student's intervals over seeds" if several else "")
    )
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    ends = []
    for boxes in report["boxes"]:
        after = ", ".join("-" if n is None else str(n) for n in boxes["suspended"])
        ends.append(
            f"{boxes['arm']}: {boxes['drawn']} boxes of the model annotator, {boxes['good']} accepted; "
            f"suspended after (boxes, by seed): {after}"
        )
    return "\n".join([head, *lines, "", *_savings_text(report), "", *ends])


def _savings_text(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the saved seconds of each arm, by the time for a drawing and a look."""
    yield "Share of people's seconds saved against people alone, by what a drawing and a look take:"
    for row in report["savings"]:
        alone, counts = DrawingsAndLooks(**row["alone"]), DrawingsAndLooks(**row["counts"])
        yield (
            f"{row['arm']} ({counts.drawing:.2f} drawings and {counts.looking:.2f} looks an image, for "
            f"{alone.drawing:.2f} and {alone.looking:.2f})"
        )
        yield table_of_savings(row["shares"])
        if (measured := report["measured"]) is not None:
            share = saved_share(alone, counts, drawing=measured["drawing"], looking=measured["looking"])
            yield (
                f"at {measured['drawing']:.1f} s a drawing and {measured['looking']:.1f} s a look, as "
                f"measured in campaign {measured['campaign']}: {share:+.1%}"
            )
