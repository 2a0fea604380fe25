"""The study of a model annotator's savings: gold boxes save drawing, random ones cost almost nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from scipy import stats

from annotation.formats.layers.proposals import write_proposals
from annotation.protocol.answer_times import DRAWING_SECONDS, LOOKING_SECONDS
from annotation.protocol.gold import Gold, Truth
from annotation.protocol.model_annotators import ModelAnnotatorSettings, Proposals, ProposedBox
from annotation.protocol.questions import BOX_DRAWING, BOX_QUALITY, Question
from annotation.protocol.terms import Box
from annotation.simulation.economy import study_economy
from annotation.simulation.model_study import (
    FIGURES,
    PEOPLE_ALONE,
    StudiedArm,
    crowd_seconds,
    known_proposals,
    published_seconds,
    run_arm,
    seconds_of,
    study_figures,
    study_of,
    study_table,
)
from annotation.simulation.model_study import people_alone as alone
from annotation.simulation.simulated_model import SimulatedModel
from config.sample import sample_records
from tests.factories import a_corpus

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def images() -> list[Gold]:
    result = []
    for record in sample_records(8, seed=1):
        assert record.layer is not None
        result.append((record.id, (record.width, record.height), record.layer))
    return result


@pytest.fixture
def corpus() -> str:
    """The name of a corpus of the same images."""
    return a_corpus("scenes", list(sample_records(8, seed=1))).name


def gold_boxes(images: list[Gold], chance: float = 0.9) -> dict[str, Proposals]:
    proposals: dict[str, Proposals] = {}
    for image, size, gold in images:
        truth = Truth(gold, image=image, size=size)
        proposals[image] = {
            name: [ProposedBox(box, chance) for box in truth.boxes[chain]]
            for name, chain in truth.chain_of.items()
        }
    return proposals


def test_seconds_are_the_published_ones() -> None:
    assert (published_seconds(BOX_DRAWING), published_seconds(BOX_QUALITY)) == (32.5, 2.5)
    assert [crowd_seconds(kind) for kind in (BOX_DRAWING, BOX_QUALITY, "box_coverage", "coref_link")] == [
        25.5,
        9.0,
        7.8,
        9.0,
    ]


def test_a_model_with_gold_boxes_spares_most_drawing_and_a_bad_one_is_soon_suspended(
    images: list[Gold],
) -> None:
    result = study_economy(
        images, chances=None, model_annotators={"model annotator": gold_boxes(images)}, seeds=1, resamples=50
    )
    value = {(item.arm, item.figure): item for item in result.figures}
    assert {figure for _, figure in value} == set(FIGURES)
    assert value["model annotator", "drawn_by_hand"].change < -0.6
    assert value["model annotator", "published_seconds"].change < -0.4
    assert abs(value["model annotator", "chain_f1"].change) < 0.01
    assert value["model annotator", "box_iou"].change > -0.01
    assert value[PEOPLE_ALONE, "judgments"].change == 0
    good, bad = result.boxes
    assert good.good > 0.9 * good.drawn and good.suspended == (None,)
    assert bad.drawn <= 60 and bad.suspended[0] is not None and bad.suspended[0] <= 60
    for item in result.figures:
        assert item.low <= item.value <= item.high or item.figure == "rulings"


def test_a_saving_is_the_sum_of_the_seconds_of_all_answers_at_each_price(images: list[Gold]) -> None:
    few, settings = images[:3], ModelAnnotatorSettings(share=1.0)
    people = run_arm(PEOPLE_ALONE, few, alone, seeds=[0, 1])
    model_annotator = run_arm("model annotator", few, known_proposals(gold_boxes(few), settings), seeds=[0])
    (saving,) = study_of(people, [model_annotator], resamples=2).savings

    def seconds(arm: StudiedArm, drawing: float, looking: float) -> float:
        answers = [kind for image in arm.seeds[0] for kind in image.judgments.elements()]
        return sum(seconds_of(kind, drawing=drawing, looking=looking) for kind in answers)

    for looking, row in zip(LOOKING_SECONDS, saving.shares, strict=True):
        for drawing, share in zip(DRAWING_SECONDS, row, strict=True):
            before, after = (seconds(arm, drawing, looking) for arm in (people, model_annotator))
            assert share == pytest.approx(1 - after / before)


def test_seeds_are_told_apart_and_stand_for_their_spread(images: list[Gold]) -> None:
    few = images[:3]
    boxes = {"model annotator": gold_boxes(few)}
    result = study_economy(few, chances=None, model_annotators=boxes, seeds=3, resamples=2)
    of_figure = {item.figure: item for item in result.figures if item.arm == "model annotator"}
    settings = ModelAnnotatorSettings(share=1.0)
    for seed in range(3):
        alone_now, with_model = (
            run_arm("", few, arm, seeds=[seed])
            for arm in (alone, known_proposals(boxes["model annotator"], settings))
        )
        (seconds,) = (
            row
            for row in study_figures(alone_now, [replace(with_model, name="model annotator")], resamples=2)
            if (row.arm, row.figure) == ("model annotator", "published_seconds")
        )
        assert of_figure["published_seconds"].by_seed[seed] == pytest.approx(seconds.change)
        assert (seconds.seeds_low, seconds.seeds_high) == (None, None)
    figure = of_figure["published_seconds"]
    expected = stats.ttest_1samp(figure.by_seed, 0).confidence_interval(0.95)
    assert (figure.seeds_low, figure.seeds_high) == pytest.approx((expected.low, expected.high))


def test_an_arm_of_fewer_seeds_is_compared_with_the_same_seeds_of_people_alone(images: list[Gold]) -> None:
    few = images[:3]
    arm = run_arm(
        "model annotator", few, known_proposals(gold_boxes(few), ModelAnnotatorSettings(share=1.0)), seeds=[0]
    )
    of_one, of_two = (
        [
            (study_figure.change, study_figure.change_low, study_figure.change_high, study_figure.by_seed)
            for study_figure in study_figures(
                run_arm(PEOPLE_ALONE, few, alone, seeds=seeds), [arm], resamples=40
            )
            if study_figure.arm == "model annotator"
        ]
        for seeds in ([0], [0, 1])
    )
    assert of_one == of_two and any(low < high for _, low, high, _ in of_one)


def test_a_model_that_is_not_sure_changes_nothing(images: list[Gold]) -> None:
    arm = run_arm(PEOPLE_ALONE, images[:3], alone, seeds=[1])
    few = images[:3]
    unsure = study_economy(
        few,
        chances=None,
        model_annotators={"model annotator": gold_boxes(images, chance=0.1)},
        seeds=1,
        resamples=2,
    )
    assert unsure.boxes[0].drawn == 0
    judgments = {o.figure: o.change for o in unsure.figures if o.arm == "model annotator"}
    assert judgments == dict.fromkeys(FIGURES, 0.0)
    none = ModelAnnotatorSettings(share=0.0)
    model_annotators = {"model annotator": gold_boxes(images)}
    idle = study_economy(
        few, chances=None, model_annotators=model_annotators, seeds=1, resamples=2, settings=none
    )
    assert idle.boxes[0].drawn == 0
    assert sum(image.runs for (images,) in [arm.seeds] for image in images) == 3


def test_a_model_does_not_draw_a_refused_box_again(images: list[Gold]) -> None:
    image, size, gold = images[0]
    truth = Truth(gold, image=image, size=size)
    name = next(iter(truth.mentions))
    corner, theirs, third = Box(1, 1, 9, 9), Box(20, 20, 60, 60), Box(70, 1, 90, 20)
    proposals = {name: [ProposedBox(corner, 0.9), ProposedBox(third, 0.8), ProposedBox(theirs, 0.7)]}
    model_annotator = SimulatedModel({image: proposals}.get, settings=ModelAnnotatorSettings(share=1.0))

    def requested(*boxes: Box) -> Question:
        return Question(BOX_DRAWING, f"{BOX_DRAWING}|{name}", 1, frozenset(), (name,), boxes)

    # It proposes another one once the first is refused, and then leaves the chain to people.
    for attempt, box in enumerate((corner, third)):
        assert model_annotator.answer(requested(), truth) == (box, attempt)
        quality = Question(BOX_QUALITY, f"{BOX_QUALITY}|{name}", 1, frozenset(), (name,), pending=box)
        model_annotator.looked_at(quality, truth, good=False)
        model_annotator.judged(quality, truth, good=False)
    assert model_annotator.answer(requested(), truth) is None
    assert model_annotator.answer(requested(theirs), truth) is None
    # Nor a box that people refused of a person.
    another = SimulatedModel({image: proposals}.get, settings=ModelAnnotatorSettings(share=1.0))
    another.looked_at(replace(quality, pending=corner), truth, good=False)
    assert another.answer(requested(), truth) == (third, 0)


def test_the_study_prints_the_table(images: list[Gold], corpus: str, tmp_path: Path) -> None:
    file = tmp_path / "boxes.jsonl"
    write_proposals(file, gold_boxes(images).items())

    def call(*more: str) -> str:
        out = StringIO()
        arguments = ["--images", "4", "--seeds", "1", "--resamples", "20", "--proposals", str(file)]
        call_command("compare_question_orders", *arguments, *more, corpus=corpus, stdout=out)
        return out.getvalue()

    report: dict[str, Any] = json.loads(call("--json"))
    message = call()
    assert message.strip() == study_table(report)
    assert message.startswith("4 images, 1 seeds; costs are those of people for one image")
    assert "drawn by hand" in message and "bad model annotator" in message
    assert (
        "Share of people's seconds saved against people alone, by what a drawing and a look take:" in message
    )
    file.write_text('{"image": "elsewhere", "boxes": {}}\n')
    with pytest.raises(CommandError, match="proposes boxes of none of these 4 images"):
        call()


def test_the_economy_table_has_each_saving_alone_all_together_and_with_each_model(
    images: list[Gold], corpus: str, tmp_path: Path
) -> None:
    files = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for file in files:
        write_proposals(file, gold_boxes(images).items())

    def call(*more: str) -> dict[str, Any]:
        out = StringIO()
        small = ["--economy", "--images", "2", "--learn-from", "1", "--seeds", "1", "--resamples", "5"]
        call_command("compare_question_orders", *small, *more, "--json", corpus=corpus, stdout=out)
        payload: dict[str, Any] = json.loads(out.getvalue())
        return payload

    report = call("--proposals", str(files[0]), "--proposals", str(files[1]))
    value = {(row["arm"], row["figure"]): row for row in report["figures"]}
    assert list(dict.fromkeys(row["arm"] for row in report["figures"])) == [
        PEOPLE_ALONE,
        "chains by age (as printed)",
        "chains by learned chance",
        "fullest caption first",
        "coverage by count",
        "all savings",
        "model annotator one",
        "model annotator one, all savings",
        "model annotator two",
        "model annotator two, all savings",
        "bad model annotator",
    ]
    assert [row["arm"] for row in report["boxes"]] == [
        "model annotator one",
        "model annotator one, all savings",
        "model annotator two",
        "model annotator two, all savings",
        "bad model annotator",
    ]
    for arm in ("coverage by count", "all savings"):
        assert value[arm, "coverage_answers"]["change"] < -0.2
        assert value[arm, "published_seconds"]["change"] < 0
    assert value["coverage by count", "links"]["change"] == 0
    assert value["fullest caption first", "coverage_answers"]["value"] > 0
    with pytest.raises(CommandError, match="--learn-from 0: expected 1 or more"):
        call("--learn-from", "0")
    with pytest.raises(CommandError, match="two files are called one.jsonl"):
        call("--proposals", str(files[0]), "--proposals", str(files[0]))
