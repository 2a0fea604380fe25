"""Training of model annotators: from finished images, from a stored proposer, by command, job and
schedule."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import translation

from annotation import campaigns, jobs
from annotation.campaigns import CampaignError, model_annotators
from annotation.campaigns.training import training_records
from annotation.jobs import JobProgress
from annotation.models import Box, Job, Judgment, ModelAnnotator, ModelProposals, OpenImage
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.contents import mention_from
from annotation.protocol.model_annotators import Proposals
from annotation.protocol.terms import Box as PureBox
from annotation.queue import image_rows, model_answers, submission
from annotation.web.staff.crowd.model_annotators import source_in_words
from evaluation.jobs.kinds.propose_boxes import propose_boxes_job
from evaluation.services.model_annotators.examples import pictures_on_disk, proposals_of, training_pictures
from evaluation.services.model_annotators.schedule import train_model_annotators
from evaluation.services.model_annotators.stored_proposers import proposer_folder
from evaluation.services.model_annotators.training import (
    model_annotators_to_propose,
    model_annotators_to_train,
    propose_boxes,
    train_model_annotator,
    version_folder,
)
from models_core.estimators.neural.proposer.box_proposer import BoxProposer
from tests.evaluation.systems.training import a_proposer, call, quick, settings_now, to_propose, world
from tests.queue.world import World
from tests.web import world as people
from tests.web.staff import words

__all__ = ["quick", "world"]

TRAINING_JOB = {"campaign": "quay", "model_annotator": "drawer"}
pytestmark = pytest.mark.django_db


def test_a_model_learns_from_finished_images_and_proposes_for_the_rest(world: World) -> None:
    model_annotator = model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    with pytest.raises(
        CampaignError, match="has 0 finished images, and a model annotator learns from 1 on; wait"
    ):
        train_model_annotator(campaign=world.campaign.name, model_annotator="drawer")
    assert train_model_annotators() == 0
    world.work(enough=lambda: model_annotators.count_finished(world.campaign) > 0)
    done, learned = (
        model_annotators.count_finished(world.campaign),
        training_records.count_training_images(world.campaign),
    )
    assert done <= learned <= 3
    assert train_model_annotators() == 1 and train_model_annotators() == 0
    job = Job.objects.get(kind="train_model_annotator")
    assert job.arguments == TRAINING_JOB and job.campaign == world.campaign
    report = call("train_model_annotator", world.campaign.name, "drawer")
    assert report["version"] == 1 and report["learned"] == learned and report["images"] == 3 - done
    model_annotator.refresh_from_db()
    assert (model_annotator.version, model_annotator.learned, model_annotator.source) == (
        1,
        learned,
        f"{learned} finished images",
    )
    stored = ModelProposals.objects.filter(model_annotator=model_annotator)
    assert stored.count() == 3 - done
    for row in stored:
        names = {f"{c}:{a}-{b}" for c, a, b, *_ in row.image.mentions}
        assert set(row.boxes) == names
        for boxes in row.boxes.values():
            chances = [chance for *_, chance in boxes]
            assert chances == sorted(chances, reverse=True) and all(0 <= chance <= 1 for chance in chances)


def test_a_model_goes_on_from_what_it_learned_last(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    provided: list[tuple[bool, list[str]]] = []
    fit = BoxProposer.fit

    def noted(self: BoxProposer, pictures: Any, **options: Any) -> BoxProposer:
        begin = options["begin"]
        provided.append((begin is not None, [picture.image for picture in pictures]))
        if begin is not None:
            last = stored_proposer(model_annotator)
            assert begin.words_ == last.words_ and begin.chance_ == last.chance_
        return fit(self, pictures, **options)

    monkeypatch.setattr(BoxProposer, "fit", noted)
    model_annotator = model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    *_, last = OpenImage.objects.filter(campaign=world.campaign).order_by("pk")
    image_rows.prioritise(campaign=world.campaign, images=[last.image_id], priority=1)
    world.work()
    call("train_model_annotator", world.campaign.name, "drawer")
    call("train_model_annotator", world.campaign.name, "drawer")
    call("train_model_annotator", world.campaign.name, "drawer", "--restart")
    assert [on for on, _ in provided] == [False, True, False]
    # The images whose boxes were judged last come last: the held-out part is taken from them.
    assert (
        provided[1][1] == list(training_records.first_verdicts(world.campaign)) and len(provided[1][1]) == 3
    )
    assert provided[1][1][0] == last.image.key
    # If the campaign now names a stored proposer, it is trained from that one, once.
    monkeypatch.setattr(BoxProposer, "fit", fit)
    call("train_proposer", "scenes", "--corpus", world.corpus.name, "--layer", "import")
    settings_now(world, system="scenes")
    report = call("train_model_annotator", world.campaign.name, "drawer")
    assert report["source"] == "3 finished images, from proposer scenes on"
    shutil.rmtree(proposer_folder("scenes"))
    assert call("train_model_annotator", world.campaign.name, "drawer")["version"] == 5
    # Its last state cannot be read: it starts again.
    (version_folder(model_annotator, 5) / "arrays.safetensors").write_bytes(b"")
    with pytest.raises(CommandError, match="no proposer 'scenes' is stored"):
        call("train_model_annotator", world.campaign.name, "drawer")


def test_images_that_come_after_a_training_run_get_boxes_as_the_model_learned_last(world: World) -> None:
    a_proposer(world)
    settings_now(world, system="scenes", from_images=9, retrain_every=0, share=0.0)
    model_annotator = model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    late = world.images()[2]
    image, mentions = late.image, tuple(mention_from(mention) for mention in late.mentions)
    late.delete()
    # At share 0 a training stores no boxes. A higher share makes it propose, with its state from then.
    assert call("train_model_annotator", world.campaign.name, "drawer")["images"] == 0
    assert train_model_annotators() == 0
    shutil.rmtree(proposer_folder("scenes"))
    settings_now(world, share=1.0)
    expected = dict(proposals_of(stored_proposer(model_annotator), to_propose(world.campaign)))
    assert train_model_annotators() == 1 and train_model_annotators() == 0
    job = Job.objects.get(kind="propose_boxes")
    assert job.arguments == {"model_annotator": "drawer"} and job.campaign == world.campaign
    done = propose_boxes_job(JobProgress(job), model_annotator="drawer")
    assert done == {"model_annotator": "drawer", "version": 1, "images": 2, "unreadable": 0, "answers": 0}
    assert len(expected) == 2 and stored(model_annotator) == {
        key: rounded(value) for key, value in expected.items()
    }
    Job.objects.update(state=Job.DONE)
    with CaptureQueriesContext(connection) as seen:
        assert train_model_annotators() == 0
    assert len(seen) <= 12
    # An image that is opened now is included, and one whose picture cannot be read is tried once.
    protocol = settings_of(world.campaign.settings).protocol
    image_rows.open_images(campaign=world.campaign, images=[(image, mentions)], settings=protocol)
    assert model_annotators_to_propose() == [(world.campaign, "drawer")]
    bad = next(record for record, _ in to_propose(world.campaign) if record.id == image.key)
    assert bad.picture is not None
    bad.picture.write_bytes(b"no picture")
    result = propose_boxes(campaign=world.campaign.name, model_annotator="drawer")
    assert (result.images, result.unreadable) == (0, 1) and model_annotators_to_propose() == []


def stored_proposer(model_annotator: ModelAnnotator) -> BoxProposer:
    model_annotator.refresh_from_db()
    return BoxProposer.load(version_folder(model_annotator, model_annotator.version))


def rounded(proposals: Proposals) -> dict[str, list[list[float]]]:
    return {
        phrase: [[b.xmin, b.ymin, b.xmax, b.ymax, round(c, 4)] for b, c in boxes]
        for phrase, boxes in proposals.items()
    }


def stored(model_annotator: ModelAnnotator) -> dict[str, Any]:
    rows = ModelProposals.objects.filter(model_annotator=model_annotator, version=model_annotator.version)
    return dict(rows.values_list("image__image__key", "boxes"))


def test_what_a_deleted_model_learned_is_removed(world: World) -> None:
    model_annotator = model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    for number in (model_annotator.pk, model_annotator.pk + 1):
        (version_folder(model_annotator, 1).parent.parent / str(number) / "1").mkdir(parents=True)
    train_model_annotators()
    assert [folder.name for folder in version_folder(model_annotator, 1).parent.parent.iterdir()] == [
        str(model_annotator.pk)
    ]


def test_what_is_trained_is_what_was_accepted(world: World) -> None:
    world.work()
    records = list(model_annotators.finished_records(world.campaign))
    assert len(records) == 3
    pictures = list(training_pictures(records, 64))
    for record, picture in zip(records, pictures, strict=True):
        assert record.layer is not None and picture.colours.shape == (64, 64, 3)
        depicted = record.layer.depicted()
        assert len(picture.phrases) == len(depicted)
        for phrase in picture.phrases:
            assert (phrase.boxes >= 0).all() and (phrase.boxes <= 1).all()
    # Conversion of pixel boxes to shares and back is exact.
    from evaluation.services.model_annotators.examples import _pixels, _shares

    for box in Box.objects.filter(layer__name=world.campaign.name).select_related("image"):
        record = next(r for r in records if r.id == box.image.key)
        pure = PureBox(box.xmin, box.ymin, box.xmax, box.ymax)
        assert _pixels(_shares(pure, record), record) == pure


@pytest.mark.slow  # the default run checks the trained state
def test_pictures_that_are_learned_from_are_the_same_on_disk(world: World, tmp_path: Path) -> None:
    world.work()
    pictures = list(training_pictures(model_annotators.finished_records(world.campaign), 64))
    with pictures_on_disk(iter(pictures), tmp_path) as stored_pictures:
        assert len(stored_pictures) == len(pictures) == 3
        for row, picture in zip(stored_pictures, pictures, strict=True):
            assert row.phrases == picture.phrases and row.colours.dtype == np.uint8
            assert (row.colours == picture.colours).all()
    with pictures_on_disk([], tmp_path) as stored_pictures:
        assert stored_pictures == []


def test_a_training_run_that_fails_leaves_the_model_as_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_annotator = model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    a_proposer(world)
    settings_now(world, system="scenes", from_images=9, least_chance=0.0)
    noted, proposed = [], []

    def failing(*arguments: Any, **more: Any) -> Any:
        for proposal in proposals_of(*arguments, **more):
            yield proposal
            proposed.append(proposal)
            assert ModelProposals.objects.filter(model_annotator=model_annotator, version=1).count() == 1
            model_annotator.refresh_from_db()
            noted.append(
                (
                    model_annotator.version,
                    model_answers.answer_waiting_images(world.campaign, submission.submit),
                )
            )
            raise ValueError("the disk is full")

    monkeypatch.setattr("evaluation.services.model_annotators.training.proposals_of", failing)
    with pytest.raises(ValueError, match="the disk is full"):
        train_model_annotator(campaign=world.campaign.name, model_annotator="drawer")
    # Its earlier proposals are not used, and are deleted; and it is trained again.
    assert noted == [(0, 0)] and not ModelProposals.objects.filter(model_annotator=model_annotator).exists()
    model_annotator.refresh_from_db()
    assert (model_annotator.version, model_annotator.learned) == (0, None)
    assert model_annotators_to_train() == [(world.campaign, "drawer")]
    assert world.work(["coref_link", "box_requirement", "chain_verification"]) > 0
    assert not Judgment.objects.filter(worker=model_annotator.worker).exists()
    monkeypatch.undo()
    model_annotators.store_proposals(model_annotator, proposed, version=1)  # As if it was killed.
    assert model_answers.answer_waiting_images(world.campaign, submission.submit) == 0
    model_annotators.record_training(model_annotator, images=0, source="now")
    assert model_answers.answer_waiting_images(world.campaign, submission.submit) > 0


def test_a_training_run_proposes_for_some_images_and_the_others_follow(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is told once the training run counts: who is told may stop it."""
    monkeypatch.setattr("evaluation.services.model_annotators.training.PROPOSED_BY_TRAINING", 2)
    model_annotator = model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    a_proposer(world)
    settings_now(world, system="scenes", from_images=1)
    world.work(enough=lambda: training_records.count_training_images(world.campaign) > 0)
    OpenImage.objects.update(complete=False)
    seen: list[tuple[str, int, int]] = []

    def reported(phase: str, done: int, of: int) -> None:
        model_annotator.refresh_from_db()
        assert model_annotator.version == 0
        seen.append((phase, done, of))

    trained = train_model_annotator(
        campaign=world.campaign.name, model_annotator="drawer", report_progress=reported
    )
    assert trained.images == 2 and seen[0] == ("reading pictures", 0, 1)
    assert any(phase == "learning from finished images" for phase, _, _ in seen)
    assert seen[-2:] == [("proposing", 0, 2), ("proposing", 1, 2)]
    assert model_annotators_to_propose() == [(world.campaign, "drawer")]
    # Requested, cancelled, and requested again after the next training.
    Job.objects.all().delete()
    for _ in (1, 2):
        assert train_model_annotators() == 1
        Job.objects.update(state=Job.CANCELLED)
        assert train_model_annotators() == 0
        jobs.enqueue(kind="train_model_annotator", arguments=TRAINING_JOB, campaign=world.campaign)
        Job.objects.filter(state=Job.QUEUED).update(state=Job.DONE)
    seen.clear()
    result = propose_boxes(
        campaign=world.campaign.name,
        model_annotator="drawer",
        report_progress=lambda *provided: seen.append(provided),
    )
    assert result.images == 1 and seen == [("proposing for further images", 0, 1)]
    assert model_annotators_to_propose() == []


def test_an_older_model_is_trained_and_another_one_works(world: World) -> None:
    model_annotators.model_annotator_add(campaign=world.campaign, name="older")
    model_annotators.model_annotator_add(campaign=world.campaign, name="newer")
    a_proposer(world)
    settings_now(world, system="scenes", from_images=9, least_chance=0.0)
    world.work(["coref_link", "box_requirement", "chain_verification"])
    assert call("train_model_annotator", world.campaign.name, "older")["answers"] == 0
    assert call("train_model_annotator", world.campaign.name, "newer")["answers"] > 0


def test_a_model_that_a_job_is_about_is_not_trained_beside_it(world: World) -> None:
    model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    job = jobs.enqueue(kind="propose_boxes", arguments={"model_annotator": "drawer"}, campaign=world.campaign)
    ada = people.signed_in("ada", "researcher")
    act = {**TRAINING_JOB, "next": reverse("model_annotators", args=[world.campaign.name])}
    address = reverse("operation", args=["train_model_annotator"])
    assert "wait for the end of that job, or cancel it" in words(ada.post(address, act, follow=True))
    train = reverse("v1_train_model_annotator", args=[world.campaign.name, "drawer"])
    assert ada.post(train, content_type="application/json").status_code == 409
    assert list(Job.objects.values_list("pk", flat=True)) == [job.pk]
    Job.objects.update(state=Job.DONE)
    assert "The model annotator is being trained" in words(ada.post(address, act, follow=True))


def test_a_cancelled_training_run_is_not_asked_for_again_however_many_jobs_came_since(world: World) -> None:
    model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    a_proposer(world)
    settings_now(world, system="scenes", from_images=9)
    assert train_model_annotators() == 1
    Job.objects.update(state=Job.CANCELLED)
    (cancelled,) = Job.objects.all()
    for index in range(201):
        cancelled.pk, cancelled.arguments = cancelled.pk + 1, {"model_annotator": f"other-{index}"}
        cancelled.save(force_insert=True)
    assert train_model_annotators() == 0


def test_the_models_of_a_closed_campaign_learn_no_more(world: World) -> None:
    model_annotator = model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    a_proposer(world)
    settings_now(world, system="scenes", from_images=9)
    campaigns.close_campaign(campaign=world.campaign)
    with pytest.raises(CommandError, match=r"campaign .* is closed: its model annotators learn no more"):
        call("train_model_annotator", world.campaign.name, "drawer")
    ada = people.signed_in("ada", "researcher")
    act = ada.post(reverse("operation", args=["train_model_annotator"]), TRAINING_JOB)
    assert "is closed: its model annotators learn no more" in words(act)
    assert not Job.objects.exists()
    model_annotator.refresh_from_db()
    assert model_annotator.version == 0


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("1200 finished images", "1.200 fertige Bilder"),
        ("1 finished images, from proposer scenes on", "1 fertiges Bild, vom Vorschlagsmodell scenes aus"),
        ("proposer scenes", "Vorschlagsmodell scenes"),
        ("file some boxes.jsonl", "Datei some boxes.jsonl"),
        ("the truth", "the truth"),
    ],
)
def test_what_a_model_learned_from_is_said_in_the_readers_language(source: str, says: str) -> None:
    with translation.override("de"):
        assert source_in_words(source) == says


def test_a_picture_that_cannot_be_read_is_left_out_and_counted(world: World) -> None:
    model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    a_proposer(world)
    settings_now(world, system="scenes", from_images=9)
    bad = next(record for record, _ in to_propose(world.campaign))
    assert bad.picture is not None
    bad.picture.write_bytes(b"no picture")
    report = call("train_model_annotator", world.campaign.name, "drawer")
    assert (report["version"], report["images"], report["unreadable"]) == (1, 2, 1)
    boxes = dict(ModelProposals.objects.values_list("image__image__key", "boxes"))
    assert boxes.pop(bad.id) == {} and len(boxes) == 2 and all(boxes.values())
    again = ("--layer", "import", "--replace")
    report = call("train_proposer", "scenes", "--corpus", world.corpus.name, *again)
    assert (report["images"], report["unreadable"]) == (2, 1)
