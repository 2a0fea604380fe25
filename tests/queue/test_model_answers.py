"""A model annotator in the queue: what it takes and submits, who judges it, and what it never does."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from annotation import campaigns
from annotation.campaigns import model_annotators
from annotation.common.locks import Busy
from annotation.common.operations import Invalid
from annotation.models import (
    Assignment,
    Campaign,
    Judgment,
    ModelProposals,
    OpenImage,
    Task,
    TrustState,
    Worker,
)
from annotation.moderation import worker_status
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import CampaignError, settings_of
from annotation.protocol.image import Fold, fold
from annotation.protocol.model_annotators import ProposedBox
from annotation.protocol.questions import Answer
from annotation.protocol.terms import Box
from annotation.queue import image_state, leases, model_answers, submission
from annotation.queue.leases import NoTask
from annotation.selectors.campaign.cost import costs
from annotation.selectors.drawing_ways import drawing_ways
from annotation.selectors.layer_cost import answers_cost
from annotation.selectors.model_annotators.boxes import category_records, judged_boxes
from annotation.selectors.model_annotators.proposals import model_at_work, stored_proposals
from annotation.selectors.model_annotators.reports import model_annotator_reports
from annotation.workers.pseudonyms import erase_worker
from phrasebox.errors import PhraseboxError
from tests.queue.models_at_work import (
    WITH_MODEL,
    a_model,
    to_draw,
    turns,
    work,
)
from tests.queue.world import World
from tests.web import world as people
from tests.web.staff import words

pytestmark = pytest.mark.django_db


def test_a_model_draws_and_people_judge() -> None:
    alone = World(name="alone")
    alone.work()
    drawn_by_people = Judgment.objects.filter(campaign=alone.campaign, kind=q.BOX_DRAWING).count()
    world = World(settings=WITH_MODEL)
    model_annotator = a_model(world)
    work(world)
    assert all(image.complete for image in world.images())
    drawings = Judgment.objects.filter(campaign=world.campaign, kind=q.BOX_DRAWING)
    values = drawings.filter(worker=model_annotator.worker)
    assert values.count() > 0.8 * drawn_by_people and drawings.count() <= drawn_by_people + 1
    assert set(Judgment.objects.filter(worker=model_annotator.worker).values_list("kind", "answer")) == {
        (q.BOX_DRAWING, "drawn")
    }
    # Each of its boxes has a person's verdict, and its layer says who drew what.
    boxes = list(judged_boxes(model_annotator))
    assert boxes and all(box.good for box in boxes)
    assert sum(record.good for record in category_records(boxes)) >= len(boxes)
    for image in world.images():
        state = image_state.state_of(image)
        drawn = {(d.box, d.by_model) for chain in state.chains for d in chain.boxes}
        names = set(values.filter(image=image).values_list("name", flat=True))
        assert {d.box for chain in state.chains for d in chain.boxes if d.judgment in names} == {
            box for box, by_model in drawn if by_model
        }
        assert {thing.by_model for thing in state.layer.objects if thing.box} >= {True}
    assert not Assignment.objects.filter(worker=model_annotator.worker).exclude(pay=0, seconds=0.0).exists()
    assert set(TrustState.objects.filter(worker=model_annotator.worker).values_list("kind", flat=True)) == {
        q.COREF_LINK,
        q.BOX_DRAWING,
    }


@pytest.mark.django_db(transaction=True)
def test_a_model_answers_as_soon_as_a_person_has_opened_its_question() -> None:
    """On a database with a file of its own, where SQLite's writers take turns."""
    world = World(settings=WITH_MODEL)
    model_annotator = a_model(world)
    world.work()
    drawings = Judgment.objects.filter(campaign=world.campaign, kind=q.BOX_DRAWING)
    assert drawings.filter(worker=model_annotator.worker).exists()
    assert all(image.complete for image in world.images())


def test_a_refused_box_is_drawn_by_a_person() -> None:
    world = World(settings=WITH_MODEL)
    model_annotator = a_model(world, invalid=True)
    work(world)
    assert all(image.complete for image in world.images())
    judgments = Judgment.objects.filter(worker=model_annotator.worker)
    assert judgments.exists() and not any(box.good for box in judged_boxes(model_annotator))
    for image in world.images():
        state = image_state.state_of(image)
        assert not any(d.by_model for chain in state.chains for d in chain.boxes)
    # It has one box for each chain: if that was refused, people draw.
    assert judgments.values("image", "key").distinct().count() == judgments.count()


def test_until_a_training_run_is_over_the_model_draws_what_it_drew_before() -> None:
    world, model_annotator = to_draw(2)
    before = dict(stored_proposals(model_annotator))
    first, second = before
    with (
        pytest.raises(KeyboardInterrupt),
        model_annotators.training_run(model_annotator) as (version, _folder),
    ):
        model_annotators.store_proposals(model_annotator, [(first, {})], version=version)
        raise KeyboardInterrupt  # As when it is killed.
    assert version == 2 and dict(stored_proposals(model_annotator)) == before
    assert turns(world) == 4  # A person and a hat in both images.
    with model_annotators.training_run(model_annotator) as (version, _folder):
        model_annotators.store_proposals(model_annotator, [(second, {})], version=version)
        with (
            pytest.raises(Busy, match="model annotator 'drawer' is being trained"),
            model_annotators.training_run(model_annotator),
        ):
            pass
        model_annotators.record_training(model_annotator, images=2, source="2 finished images")
    # Nothing of the earlier proposals is left, nor of the killed training.
    assert dict(stored_proposals(model_annotator)) == {second: {}}
    assert ModelProposals.objects.count() == 1


def test_a_file_leaves_the_boxes_of_images_that_it_does_not_have() -> None:
    world = World(settings=WITH_MODEL)
    model_annotator = a_model(world)
    first, second = before = dict(stored_proposals(model_annotator))
    with model_annotators.training_run(model_annotator) as (version, _folder):
        model_annotators.store_proposals(model_annotator, [(second, {})], version=version)
        model_annotators.record_training(
            model_annotator, images=None, source="file more.jsonl", external=True, adds=True
        )
    assert dict(stored_proposals(model_annotator)) == {first: before[first], second: {}}
    assert set(ModelProposals.objects.values_list("version", flat=True)) == {2}


@pytest.mark.parametrize("shared", [True, False])
def test_a_model_proposes_the_box_that_people_accepted_for_another_chain_of_the_category(
    shared: bool,
) -> None:
    """A hat is no person, so its box is its own; called two people it may have the person's."""
    world, model_annotator = to_draw(1)
    (image,) = world.images()
    stored, named = (
        ModelProposals.objects.get(model_annotator=model_annotator),
        world.truths[image.image_id].mentions,
    )
    people = {name for name in stored.boxes if "people" in named[name].categories}
    (person,) = {tuple(box[0][:4]) for name, box in stored.boxes.items() if name in people}
    xmin, ymin, xmax, ymax = person
    near = [xmin, ymin, xmax, ymin + (ymax - ymin) * 3 // 5]
    hat = {name: [[*near, 0.9]] for name in stored.boxes if name not in people}
    ModelProposals.objects.update(boxes={**stored.boxes, **dict.fromkeys(hat, [])})
    assert turns(world) == 1
    world.work([q.BOX_QUALITY])
    mentions = [
        [*plain_value, box]
        if not shared or "people" in box
        else [*plain_value[:-1], ["two", "people"], ["people"]]
        for *plain_value, box in image.mentions
    ]
    OpenImage.objects.update(mentions=mentions)
    ModelProposals.objects.update(boxes={**stored.boxes, **hat})
    assert turns(world) == 1
    drawn = Judgment.objects.filter(worker=model_annotator.worker, kind=q.BOX_DRAWING).latest("pk")
    assert [drawn.xmin, drawn.ymin, drawn.xmax, drawn.ymax] == (list(person) if shared else near)


def test_a_model_leaves_what_it_is_not_sure_of() -> None:
    world = World(settings=WITH_MODEL)
    model_annotator = a_model(world, chance=0.1)
    work(world)
    assert not Judgment.objects.filter(worker=model_annotator.worker).exists()
    assert all(image.complete for image in world.images())


def test_a_share_of_nothing_is_no_model() -> None:
    world = World()
    model_annotator = a_model(world)
    work(world)
    assert not Judgment.objects.filter(worker=model_annotator.worker).exists()


def test_a_model_gets_nothing_else() -> None:
    world = World(settings=WITH_MODEL)
    model_annotator = a_model(world)
    for kind in q.QUESTIONS:
        lease = leases.take_lease(worker=model_annotator.worker.pk, campaign=world.campaign, kind=kind)
        assert isinstance(lease, NoTask) and lease.code in ("model_annotator", "not_entered", "no_test"), (
            kind,
            lease,
        )
        for task in Task.objects.filter(campaign=world.campaign, kind=kind):
            if kind not in (q.COREF_LINK, q.BOX_DRAWING):
                named = leases.take_model_lease(
                    worker=model_annotator.worker.pk, campaign=world.campaign, kind=kind, task=task.pk
                )
                assert isinstance(named, NoTask) and named.code == "no_model"
    # People do not choose their task.
    task = Task.objects.filter(campaign=world.campaign, kind=q.COREF_LINK)[0]
    world.held(0)
    named = leases.take_model_lease(
        worker=world.workers[0], campaign=world.campaign, kind=q.COREF_LINK, task=task.pk
    )
    assert isinstance(named, NoTask) and named.code == "no_model"


@pytest.mark.parametrize("answer", [Answer("no"), Answer(flag="chunk_wrong")])
def test_a_different_of_a_model_is_no_answer(answer: Answer) -> None:
    world = World(settings=WITH_MODEL)
    model_annotator = a_model(world)
    task = Task.objects.filter(campaign=world.campaign, kind=q.COREF_LINK, state="open")[0]
    lease = leases.take_model_lease(
        worker=model_annotator.worker.pk, campaign=world.campaign, kind=q.COREF_LINK, task=task.pk
    )
    assert not isinstance(lease, NoTask)
    with pytest.raises(
        submission.BadJudgment, match="is not one that a model annotator gives; expected 'yes'"
    ):
        submission.submit(
            worker=model_annotator.worker.pk, assignment=lease.id, answer=answer, token="t", then=False
        )
    assert not Judgment.objects.filter(worker=model_annotator.worker).exists()


def test_settings_hold_at_once_for_a_turn_that_was_long_in_coming() -> None:
    world, _model = to_draw(2)
    as_before_the_training = Campaign.objects.get(pk=world.campaign.pk)
    off = {**world.campaign.settings, "model_annotator": {"share": 0.0}}
    campaigns.change_campaign_settings(campaign=world.campaign, settings=off)
    assert model_answers.answer_waiting_images(as_before_the_training, submission.submit) == 0
    assert not Judgment.objects.filter(worker__kind=Worker.MODEL).exists()


def test_discarding_a_model_gives_the_layer_of_people_alone() -> None:
    world = World(settings=WITH_MODEL)
    model_annotator = a_model(world)
    work(world)
    done = worker_status.withdraw_worker_answers(campaign=world.campaign, worker=model_annotator.worker.pk)
    assert (
        done.judgments == Judgment.objects.filter(worker=model_annotator.worker, withdrawn=True).count() > 0
    )
    assert model_at_work(world.campaign.pk) is None and turns(world) == 0
    for image in world.images():
        of_people = [
            vote.judgment
            for vote in image_state.votes_of(_cursor(), image.pk)
            if vote.worker_id != model_annotator.worker.pk
        ]
        stored = image_state.fold_of(_row(image))
        assert isinstance(stored, Fold)
        alone = fold(stored.mentions, of_people, stored.settings)
        assert image_state.state_of(image) == alone
        assert not any(d.by_model for chain in alone.chains for d in chain.boxes)
    assert world.work() > 0 and all(image.complete for image in world.images())


def test_a_model_that_is_discarded_between_lease_and_answer_is_not_paid() -> None:
    paid = {"pay": {"basis": "item", "per_item": {q.COREF_LINK: 0.02}}}
    world = World(settings={**WITH_MODEL, **paid})
    model_annotator = a_model(world)
    task = Task.objects.filter(campaign=world.campaign, kind=q.COREF_LINK, state="open")[0]
    lease = leases.take_model_lease(
        worker=model_annotator.worker.pk, campaign=world.campaign, kind=q.COREF_LINK, task=task.pk
    )
    assert isinstance(lease, leases.Lease)
    # As if the answer is on its way while a researcher discards the model annotator.
    TrustState.objects.filter(worker=model_annotator.worker).update(blocked=True, withdrawn_at=timezone.now())
    submission.submit(
        worker=model_annotator.worker.pk, assignment=lease.id, answer=Answer("yes"), token="t", then=False
    )
    assert Judgment.objects.get(worker=model_annotator.worker).withdrawn
    done = Assignment.objects.get(pk=lease.id)
    assert (done.state, done.pay, done.seconds) == ("submitted", 0, 0.0)


def test_a_question_is_given_back_whatever_keeps_a_model_from_answering_it() -> None:
    world, model_annotator = to_draw(2)

    def failing(**provided: Any) -> None:
        raise RuntimeError("the database went away")

    with pytest.raises(RuntimeError, match="went away"):
        model_answers.answer_open_image(world.images()[0].pk, failing)
    (lease,) = Assignment.objects.filter(worker=model_annotator.worker)
    assert lease.state == Assignment.RETURNED
    assert not isinstance(world.take(0, q.BOX_DRAWING), NoTask)


def test_a_model_cannot_be_erased() -> None:
    _, model_annotator = to_draw(1)
    with pytest.raises(PhraseboxError, match="is a model annotator: nothing is known of it"):
        erase_worker(worker=model_annotator.worker)
    model_annotator.worker.refresh_from_db()
    assert model_annotator.worker.erased_at is None


def test_images_whose_tasks_the_model_gave_back_do_not_keep_it_from_older_ones() -> None:
    world, model_annotator = to_draw(2)
    newest = OpenImage.objects.filter(campaign=world.campaign).order_by("-changed_at")[0]
    given_back = Task.objects.filter(image=newest, kind=q.BOX_DRAWING, state="open", live=0)
    for task in list(given_back):
        lease = leases.take_model_lease(
            worker=model_annotator.worker.pk, campaign=world.campaign, kind=q.BOX_DRAWING, task=task.pk
        )
        assert isinstance(lease, leases.Lease)
        leases.return_lease(worker=model_annotator.worker.pk, assignment=lease.id)
    assert given_back.exists()
    assert model_answers.answer_waiting_images(world.campaign, submission.submit, at_most=1) > 0
    assert not Judgment.objects.filter(worker=model_annotator.worker, image=newest).exists()


def test_images_about_which_the_model_says_nothing_do_not_keep_it_from_older_ones() -> None:
    world, model_annotator = to_draw(3)
    rows = OpenImage.objects.filter(campaign=world.campaign).order_by("-changed_at")
    oldest = rows.last()
    assert oldest is not None
    ModelProposals.objects.filter(model_annotator=model_annotator).exclude(image=oldest).update(boxes={})
    assert model_answers.answer_waiting_images(world.campaign, submission.submit, at_most=1) == 0
    # One of the two others is chosen again each time: 60 misses in a row do not happen.
    answers = (
        model_answers.answer_waiting_images(world.campaign, submission.submit, at_most=2) for _ in range(60)
    )
    assert any(answers)
    assert Judgment.objects.filter(worker=model_annotator.worker, image=oldest).exists()


def test_a_task_that_a_person_takes_meanwhile_does_not_end_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    world, model_annotator = to_draw(2)
    requested: list[int] = []

    def take(*, task: int, **also: Any) -> object:
        requested.append(task)
        return (
            NoTask(leases.TAKEN, "gone")
            if len(requested) == 1
            else leases.take_model_lease(task=task, **also)
        )

    monkeypatch.setattr(model_answers, "take_model_lease", take)
    assert turns(world) == len(requested) - 1 > 0


def test_the_newest_model_works_or_none() -> None:
    world = World(settings=WITH_MODEL)
    a_model(world)
    newest = model_annotators.model_annotator_add(campaign=world.campaign, name="newest")
    assert model_at_work(world.campaign.pk) == newest
    # It has not been trained yet, so nobody works.
    assert not any(report.works for report in model_annotator_reports(world.campaign))
    page = words(
        people.signed_in("ada", "researcher").get(reverse("model_annotators", args=[world.campaign.name]))
    )
    assert "does not propose: the newest model annotator does" in page and "does not propose now" not in page
    # Its links do not affect its drawing.
    worker_status.withdraw_worker_answers(campaign=world.campaign, worker=newest.worker.pk, kind=q.COREF_LINK)
    assert model_at_work(world.campaign.pk) == newest
    worker_status.withdraw_worker_answers(
        campaign=world.campaign, worker=newest.worker.pk, kind=q.BOX_DRAWING
    )
    assert model_at_work(world.campaign.pk) is None and turns(world) == 0
    work(world)
    assert not Judgment.objects.filter(worker__kind=Worker.MODEL).exists()


def test_what_a_model_drew_is_no_work_of_people() -> None:
    world = World(settings=WITH_MODEL)
    model_annotator = a_model(world)
    work(world)
    person = Judgment.objects.filter(campaign=world.campaign).exclude(worker=model_annotator.worker)[0].worker
    judgments = Judgment.objects.filter(campaign=world.campaign, kind=q.BOX_DRAWING)
    boxes, by_hand = (
        judgments.filter(worker=model_annotator.worker).count(),
        judgments.exclude(worker=model_annotator.worker).count(),
    )
    assert boxes > 0
    cost = costs(world.campaign, settings_of(world.campaign.settings).pay)
    kind = cost.kinds[q.BOX_DRAWING]
    assert (kind.answers, kind.model_answers) == (by_hand, boxes)
    done = Assignment.objects.filter(campaign=world.campaign, state=Assignment.SUBMITTED)
    assert cost.answers == done.count() - boxes
    assert sum(item.model_answers for item in cost.kinds.values()) == boxes
    assert answers_cost(world.campaign)["judgments"].get(q.BOX_DRAWING, 0) == by_hand
    assert sum(way.boxes for way in drawing_ways(world.campaign, fresh=True)) == by_hand
    # A person who draws instead of the model annotator counts.
    judgments.filter(worker=model_annotator.worker).update(worker=person)
    assert sum(way.boxes for way in drawing_ways(world.campaign, fresh=True)) == by_hand + boxes


def test_bad_input_in_one_line() -> None:
    world = World(settings=WITH_MODEL)
    model_annotator = a_model(world)
    truth = next(iter(world.truths.values()))
    mention = next(iter(truth.mentions))
    with pytest.raises(Invalid, match="“drawer” exists already: choose another name"):
        model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    with pytest.raises(CampaignError, match="image 'elsewhere' is not among those of campaign"):
        model_annotators.store_proposals(model_annotator, [("elsewhere", {})])
    with pytest.raises(CampaignError, match="has no mention '9:9-9'"):
        model_annotators.store_proposals(model_annotator, [(truth.image, {"9:9-9": []})])
    far = {mention: [ProposedBox(Box(1, 1, 10**6, 5), 0.5)]}
    with pytest.raises(CampaignError, match="is not within"):
        model_annotators.store_proposals(model_annotator, [(truth.image, far)])
    with pytest.raises(CampaignError, match="has no model annotator 'other'; it has drawer"):
        model_annotators.model_annotator_named(world.campaign, "other")
    with pytest.raises(CampaignError, match="asks for no boxes: a model annotator has nothing to do there"):
        world.campaign.tasks = "captions"
        model_annotators.model_annotator_add(campaign=world.campaign, name="writer")
    assert Worker.objects.filter(kind=Worker.MODEL).count() == 1


def _cursor():

    return connection.cursor()


def _row(image):
    cursor = _cursor()
    cursor.execute(
        f"SELECT {image_state.OPEN_IMAGE_COLUMNS} FROM annotation_openimage o WHERE o.id = %s", [image.pk]
    )
    return image_state.row_from(cursor.fetchone())
