"""A model annotator in the queue is judged: it waits for verdicts, is suspended, and stops drawing categories
in which it is bad."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.campaigns import model_annotators
from annotation.models import (
    Judgment,
    ModelAnnotator,
    ModelProposals,
    Task,
    TrustState,
)
from annotation.moderation import worker_status
from annotation.moderation.trust_replay import replay_rows
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import settings_of
from annotation.queue import leases, model_answers, submission
from annotation.selectors.campaign.crowd import workers
from annotation.selectors.model_annotators import boxes
from annotation.selectors.model_annotators.boxes import NewestVerdicts, judged_boxes
from annotation.selectors.model_annotators.proposals import model_at_work
from annotation.selectors.model_annotators.reports import model_annotator_reports
from annotation.selectors.workers.worker_table import WorkerTableRequest, matching_workers
from tests.factories import some_images
from tests.queue.models_at_work import (
    WITH_MODEL,
    a_model,
    to_draw,
    turns,
    work,
)
from tests.queue.world import TRUSTING, World

pytestmark = pytest.mark.django_db


def test_a_bad_model_is_suspended_by_its_verdicts() -> None:
    strict = {**WITH_MODEL, "trust": {**TRUSTING["trust"], "drawing_known": 12}}
    world = World(some_images(8), settings=strict)
    model_annotator = a_model(world, invalid=True)
    work(world)
    trust_state = TrustState.objects.get(worker=model_annotator.worker, kind=q.BOX_DRAWING)
    count = Judgment.objects.filter(worker=model_annotator.worker).count()
    assert count <= 60
    assert trust_state.state == "suspended"
    assert turns(world) == 0 and not model_annotator_reports(world.campaign)[0].works
    # After another training it is tried again.
    model_annotators.record_training(model_annotator, images=20, source="more")
    assert model_annotator_reports(world.campaign)[0].works
    trust_state.refresh_from_db()
    assert (trust_state.state, trust_state.known) == ("warm_up", 0)


def test_verdicts_on_what_a_model_drew_before_it_learned_again_do_not_count() -> None:
    world, model_annotator = to_draw(4)
    drawn = turns(world)
    trust_state = TrustState.objects.filter(worker=model_annotator.worker, kind=q.BOX_DRAWING)
    trust_state.update(state="suspended")
    model_annotators.record_training(model_annotator, images=20, source="more")
    world.work([q.BOX_QUALITY])
    assert (
        drawn
        == Task.objects.filter(kind=q.BOX_QUALITY, barred=model_annotator.worker, state=Task.SETTLED).count()
        > 0
    )
    (row,) = trust_state
    assert (row.state, row.known, row.right) == ("warm_up", 0, 0)
    assert replay_rows([row.pk]) == []


@pytest.mark.parametrize("portion", [400, 2])
def test_a_category_in_which_a_model_is_bad_is_left_to_people_while_it_draws_the_others(
    portion: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few boxes are read at once: the newest of a rare category lie further back than those."""
    monkeypatch.setattr(boxes, "PORTION", portion)
    soon = {"trust": {**TRUSTING["trust"], "verdict_known": 5, "drawing_known": 5}}
    # Whichever boxes are judged first, if half are bad it is not suspended as a whole.
    world, model_annotator = to_draw(7, **soon, model_annotator={"share": 1.0, "bar": 0.1})
    for row in ModelProposals.objects.filter(model_annotator=model_annotator).select_related("image"):
        for name, mention in world.truths[row.image.image_id].mentions.items():
            if "clothing" in mention.categories:
                row.boxes[name] = [[1, 1, 4, 4, 0.9]]
        row.save()
    *first, item, another = world.images()
    assert [model_answers.answer_open_image(image.pk, submission.submit) for image in first] == [2] * 5
    world.work([q.BOX_QUALITY])
    judgments = Judgment.objects.filter(worker=model_annotator.worker)
    assert judgments.count() == 10
    # Each picture has a person and a hat: it draws the person, and people draw the hat.
    assert turns(world) == 2
    assert set(judgments.filter(image__in=[item, another], xmax__gt=4).values_list("image", flat=True)) == {
        item.pk,
        another.pk,
    }
    (report,) = model_annotator_reports(world.campaign)
    assert report.state != "suspended"
    assert [(record.category, record.judged, record.good, record.left) for record in report.categories] == [
        ("people", 5, 5, False),
        ("clothing", 5, 0, True),
    ]
    assert report.works
    # After another training it may try again.
    model_annotators.record_training(model_annotator, images=20, source="more")
    assert model_annotator.campaign == world.campaign
    with CaptureQueriesContext(connection) as seen:
        assert list(judged_boxes(model_annotator, since=model_annotator.version)) == []
    assert len(seen) == 1  # Older boxes are not read completely.
    (report,) = model_annotator_reports(world.campaign)
    assert not report.categories and report.judged == 10


def test_the_newest_boxes_decide_what_a_model_leaves_to_people(monkeypatch: pytest.MonkeyPatch) -> None:
    world, model_annotator = to_draw(5)
    assert turns(world) == 10
    world.work([q.BOX_QUALITY])
    monkeypatch.setattr(boxes, "PORTION", 2)
    monkeypatch.setattr(boxes, "DECIDING", 7)
    newest = list(judged_boxes(model_annotator))[:7]
    for category in ("people", "clothing"):
        of_it = [box.good for box in newest if category in box.categories]
        assert NewestVerdicts(model_annotator).of_category(category, 100) == of_it[::-1] and of_it
    assert len(newest) < len(list(judged_boxes(model_annotator))) == 10


def test_workers_pages_say_that_a_model_is_in_warm_up() -> None:
    """As the page of model annotators does: people's verdicts measure it, whether or not answers are
    known."""
    world, model_annotator = to_draw(1)
    turns(world)
    (row,) = (worker for worker in workers(world.campaign, state="warm_up") if worker.is_model)
    assert (
        row.id == model_annotator.worker_id and model_annotator_reports(world.campaign)[0].state == "warm_up"
    )
    assert {worker.kind: worker.state for worker in row.kinds}[q.BOX_DRAWING] == "warm_up"
    result = matching_workers(world.campaign, WorkerTableRequest(kind=q.BOX_DRAWING, state="warm_up"))
    assert list(result.values()) == [model_annotator.worker_id]


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The result of each lease that a model annotator requested."""
    result: list[object] = []

    def take(**requested: Any) -> object:
        result.append(leases.take_model_lease(**requested))
        return result[-1]

    monkeypatch.setattr(model_answers, "take_model_lease", take)
    return result


def test_a_model_waits_for_verdicts_also_where_nobody_judges_boxes_yet() -> None:
    world = World(some_images(10), settings=WITH_MODEL)
    world.work([q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_REQUIREMENT])
    assert not TrustState.objects.filter(campaign=world.campaign, kind=q.BOX_QUALITY).exists()
    a_model(world)
    assert turns(world) == settings_of(world.campaign.settings).trust.drawing_unjudged


def test_a_model_that_waits_for_verdicts_does_not_try_every_task(
    tries: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, model_annotator = to_draw(10)
    most = settings_of(world.campaign.settings).trust.drawing_unjudged
    looks: list[ModelAnnotator] = []

    def look(model_annotator: ModelAnnotator, **requested: int) -> NewestVerdicts:
        looks.append(model_annotator)
        return NewestVerdicts(model_annotator, **requested)

    monkeypatch.setattr(model_answers, "NewestVerdicts", look)
    assert Task.objects.filter(campaign=world.campaign, kind=q.BOX_DRAWING, state="open").count() > most + 2
    assert turns(world) == most
    assert [getattr(item, "code", "") for item in tries] == [""] * most + ["unjudged"] and len(looks) == 1
    tries.clear()
    with CaptureQueriesContext(connection) as seen:
        assert turns(world) == 0
        assert model_answers.answer_open_image(world.images()[0].pk, submission.submit) == 0
    assert tries == [] and len(looks) == 1
    assert len(seen) <= 16 and not any("FOR NO KEY" in item["sql"] for item in seen.captured_queries)
    # After a verdict it continues.
    world.submit(0, world.held(0, q.BOX_QUALITY), then=False)
    assert Judgment.objects.filter(worker=model_annotator.worker).count() + turns(world) > most


def test_a_model_that_is_suspended_tries_nothing(tries: list[object]) -> None:
    world, model_annotator = to_draw(2)
    TrustState.objects.filter(worker=model_annotator.worker).update(state="suspended")
    assert turns(world) == 0 and tries == []


def test_a_model_that_is_reinstated_begins_again() -> None:
    world = World(settings=WITH_MODEL)
    model_annotator = a_model(world)
    worker_status.suspend_worker(campaign=world.campaign, worker=model_annotator.worker.pk, reason="look")
    assert model_at_work(world.campaign.pk) is None
    worker_status.reinstate_worker(campaign=world.campaign, worker=model_annotator.worker.pk)
    assert model_at_work(world.campaign.pk) == model_annotator
    with pytest.raises(worker_status.CannotDo, match="a model annotator answers coref_link, box_drawing"):
        worker_status.suspend_worker(
            campaign=world.campaign, worker=model_annotator.worker.pk, kind=q.BOX_QUALITY
        )
