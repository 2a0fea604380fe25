"""The effect of bad workers on a campaign and its result: on the pure core, without a database."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol import questions as q
from annotation.protocol.gold import Truth
from annotation.protocol.image import Fold
from annotation.protocol.questions import Judgment
from annotation.protocol.terms import Box
from annotation.simulation.driver import Crowd, simulate_image
from annotation.simulation.workers import make_crowd
from studies import bad_workers
from tests.worlds import painted

MIX = {"average": 5, "random": 1, "always_yes": 1}
CORNERS = st.tuples(*[st.integers(1, 300)] * 4)


def some_scenes(count: int):
    """Return images that a crowd of MIX answered, without a reviewer: gold, and all judgments."""
    people = Crowd(make_crowd(MIX, seed=2), seed=2)
    for record in painted(count):
        assert record.layer is not None
        truth = Truth(record.layer, image=record.id, size=(record.width, record.height))
        yield record.layer, simulate_image(record.layer.mentions, truth, people, review=False).judgments


SCENES = list(some_scenes(4))


def another(judgment: Judgment, data: st.DataObject) -> Judgment:
    """Draw another answer that the worker could have sent."""
    answer = data.draw(st.sampled_from([*q.ANSWERS[judgment.question], ""]))
    flag = data.draw(st.sampled_from(q.FLAGS)) if not answer else ""
    box = None
    if answer == "drawn":
        a, b, c, d = data.draw(CORNERS)
        box = Box(min(a, c), min(b, d), max(a, c), max(b, d))
    return replace(judgment, answer=answer, box=box, flag=flag)


@given(st.data())
def test_an_image_after_discard_does_not_depend_on_what_the_discarded_had_answered(data):
    gold, judgments = data.draw(st.sampled_from(SCENES))
    workers = sorted({j.worker for j in judgments})
    discarded = set(data.draw(st.lists(st.sampled_from(workers), min_size=1, max_size=3)))
    kinds = set(data.draw(st.lists(st.sampled_from(q.QUESTIONS), min_size=1)))
    fold = Fold(gold.mentions)

    def out(judgment: Judgment) -> bool:
        return judgment.worker in discarded and judgment.question in kinds

    anothers = [another(j, data) if out(j) else j for j in judgments]
    withdrawn = [[replace(j, withdrawn=out(j)) for j in provided] for provided in (judgments, anothers)]
    absent = [j for j in judgments if not out(j)]
    assert fold(withdrawn[0]) == fold(withdrawn[1]) == fold(absent)


def test_bad_workers_change_an_image_unless_they_are_discarded():
    changed = 0
    for gold, judgments in SCENES:
        bad = {j.worker for j in judgments if not j.worker.startswith("average")}
        fold = Fold(gold.mentions)
        changed += fold(judgments) != fold([j for j in judgments if j.worker not in bad])
    assert changed == len(SCENES)


@pytest.mark.slow
def test_the_rules_suspend_bad_workers_and_keep_careful_ones_as_the_results_say():
    images = [
        (record.id, (record.width, record.height), record.layer)
        for record in painted(bad_workers.KNOWN_FROM + 300)
        if record.layer is not None
    ]
    report = bad_workers.run(images, seeds=5, workers=20, good="careful")
    for kind in q.QUESTIONS:
        for preset in bad_workers.BAD:
            counts = report.fates[preset, kind]
            assert counts["early"] >= 0.95 * counts["all"] > 0, (preset, kind)
    assert report.people["careful"]["ever"] <= 0.02 * report.people["careful"]["all"]
    assert report.before.f1 < report.after.f1 and report.before.iou < report.after.iou
    assert report.same == report.images
    page = Path(__file__).parents[2] / "studies" / "RESULTS.md"
    assert bad_workers.markdown(report, good="careful") in page.read_text(encoding="utf-8")
