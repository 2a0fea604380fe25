"""What a model annotator's training starts from: a stored proposer, used as it is or trained further; another
one; none."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation import campaigns, jobs
from annotation.campaigns import CampaignError, model_annotators
from annotation.campaigns.training import training_records
from annotation.models import Campaign, Job, ModelAnnotator, ModelProposals
from evaluation.services.common import InputError
from evaluation.services.model_annotators.examples import proposals_of
from evaluation.services.model_annotators.schedule import train_model_annotators
from evaluation.services.model_annotators.stored_proposers import proposer_folder, stored_proposer
from evaluation.services.model_annotators.training import (
    model_annotators_to_propose,
    model_annotators_to_train,
    propose_boxes,
    version_folder,
)
from models_core.estimators.neural.proposer.box_proposer import BoxProposer
from tests.evaluation.systems.training import a_proposer, call, quick, settings_now, to_propose, world
from tests.queue.world import World

__all__ = ["quick", "world"]

TRAINING_JOB = {"campaign": "quay", "model_annotator": "drawer"}
pytestmark = pytest.mark.django_db


def test_a_stored_proposer_is_taken_as_it_is_before_enough_images_are_finished(world: World) -> None:
    report = call("train_proposer", "scenes", "--corpus", world.corpus.name)
    assert report == {
        "name": "scenes",
        "corpus": world.corpus.name,
        "layer": "import",
        "images": 3,
        "unreadable": 0,
    }
    with pytest.raises(CommandError, match="exists already: choose another name"):
        call_command("train_proposer", "scenes", "--corpus", world.corpus.name)
    settings_now(world, system="scenes", from_images=2)
    added = call("add_model_annotator", world.campaign.name, "drawer")
    assert added["works"] is False and added["worker"].startswith("model-drawer-")
    assert train_model_annotators() == 1
    report = call("train_model_annotator", world.campaign.name, "drawer")
    assert report["source"] == "proposer scenes" and report["images"] == 3
    # Its proposals are those of the stored one.
    proposer = stored_proposer("scenes")
    expected = dict(proposals_of(proposer, to_propose(world.campaign)))
    for row in ModelProposals.objects.select_related("image__image"):
        assert row.boxes == {
            phrase: [[b.xmin, b.ymin, b.xmax, b.ymax, round(c, 4)] for b, c in boxes]
            for phrase, boxes in expected[row.image.image.key].items()
        }
    with pytest.raises(InputError, match="no proposer 'other' is stored; there is scenes"):
        stored_proposer("other")
    with pytest.raises(InputError, match="expected a name of at most 60 letters"):
        stored_proposer("../x")


def test_another_stored_proposer_holds_at_once(world: World) -> None:
    model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    for name in ("one", "other"):
        a_proposer(world, name)
    with pytest.raises(CampaignError, match="no proposer “none” is stored. Stored: one, other."):
        settings_now(world, system="none")
    misnamed = {"model_annotator": {"system": "../one"}}
    with pytest.raises(CampaignError, match="no proposer “../one” is stored"):
        campaigns.create_campaign(
            name="misnamed", corpus=world.corpus.name, tasks="entities", settings=misnamed
        )
    assert not Campaign.objects.filter(name="misnamed").exists()
    settings_now(world, system="one", from_images=9)
    assert call("train_model_annotator", world.campaign.name, "drawer")["source"] == "proposer one"
    assert model_annotators_to_train() == []
    settings_now(world, system="other")
    assert model_annotators_to_train() == [(world.campaign, "drawer")]
    assert call("train_model_annotator", world.campaign.name, "drawer")["source"] == "proposer other"
    # Without a stored proposer it is trained once there are enough images.
    settings_now(world, system="")
    assert model_annotators_to_train() == []
    world.work(enough=lambda: training_records.count_training_images(world.campaign) > 0)
    settings_now(world, from_images=1)
    assert model_annotators_to_train() == [(world.campaign, "drawer")]


def test_what_a_model_has_learned_is_not_given_up_for_what_it_began_with(world: World) -> None:
    model_annotator = model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    a_proposer(world)
    settings_now(world, system="scenes", from_images=1)
    world.work(enough=lambda: training_records.count_training_images(world.campaign) > 0)
    learned = call("train_model_annotator", world.campaign.name, "drawer")
    assert learned["source"] == "1 finished images, from proposer scenes on"
    settings_now(world, from_images=99)
    assert model_annotators_to_train() == []
    with pytest.raises(CommandError, match=r"learns from 99 on; wait, lower .* or start again from"):
        call("train_model_annotator", world.campaign.name, "drawer")
    model_annotator.refresh_from_db()
    assert (model_annotator.version, model_annotator.learned) == (1, 1) and version_folder(
        model_annotator, 1
    ).is_dir()
    again = call("train_model_annotator", world.campaign.name, "drawer", "--restart")
    assert again["source"] == "proposer scenes"
    # It has not been trained here since: the current stored one is used.
    assert call("train_model_annotator", world.campaign.name, "drawer")["source"] == "proposer scenes"


def test_a_proposer_is_replaced_whole(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    again = ("train_proposer", "scenes", "--corpus", world.corpus.name, "--replace")
    call(*again)
    before = stored_proposer("scenes").chance_
    save = BoxProposer.save

    def failing(proposer: BoxProposer, folder: Path, metadata: dict[str, Any] | None = None) -> None:
        save(proposer, folder, metadata)
        raise OSError("the disk is full")

    monkeypatch.setattr(BoxProposer, "save", failing)
    with pytest.raises(CommandError, match="the disk is full"):
        call(*again)
    assert stored_proposer("scenes").chance_ == before


def test_a_proposer_that_is_taken_as_it_is_learned_from_no_image(world: World) -> None:
    model_annotator = model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    a_proposer(world)
    settings_now(world, system="scenes", from_images=9)
    world.work(enough=lambda: training_records.count_training_images(world.campaign) > 1)
    assert call("train_model_annotator", world.campaign.name, "drawer")["learned"] == 0
    model_annotator.refresh_from_db()
    assert model_annotator.learned == 0 and model_annotators_to_train() == []
    # So it is trained at once if fewer images are enough.
    settings_now(world, from_images=2)
    assert model_annotators_to_train() == [(world.campaign, "drawer")]
    assert call("train_model_annotator", world.campaign.name, "drawer")["learned"] >= 2
    # Without further training it stays the stored one.
    ModelAnnotator.objects.update(learned=0)
    settings_now(world, retrain_every=0)
    assert model_annotators_to_train() == []


def test_a_model_begins_again_where_its_stored_proposer_was_replaced(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_annotator = model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    again = ("train_proposer", "scenes", "--corpus", world.corpus.name, "--layer", "import", "--replace")
    call(*again)
    settings_now(world, system="scenes", from_images=1)
    world.work(enough=lambda: training_records.count_training_images(world.campaign) > 0)
    call("train_model_annotator", world.campaign.name, "drawer")
    call("train_model_annotator", world.campaign.name, "drawer")
    assert model_annotators_to_train() == []
    call(*again, "--seed", "3")
    assert model_annotators_to_train() == [(world.campaign, "drawer")]
    begun: list[Any] = []
    fit = BoxProposer.fit

    def noted(self: BoxProposer, pictures: Any, **options: Any) -> BoxProposer:
        begun.append(options.get("begin"))
        return fit(self, pictures, **options)

    monkeypatch.setattr(BoxProposer, "fit", noted)
    call("train_model_annotator", world.campaign.name, "drawer")
    assert begun[0].chance_ == stored_proposer("scenes").chance_ and model_annotators_to_train() == []
    # Deleting it changes nothing for a model annotator trained from it.
    shutil.rmtree(proposer_folder("scenes"))
    assert model_annotators_to_train() == []
    model_annotator.refresh_from_db()
    last = BoxProposer.load(version_folder(model_annotator, model_annotator.version))
    call("train_model_annotator", world.campaign.name, "drawer")
    assert begun[1].chance_ == last.chance_
    # Another proposer with that name is a different one, then too.
    call(*again[:-1], "--seed", "4")
    assert model_annotators_to_train() == [(world.campaign, "drawer")]
    # The version before the last is kept too, for a backup in progress; no older one is.
    assert sorted(int(entry.name) for entry in version_folder(model_annotator, 1).parent.iterdir()) == [3, 4]


def test_what_a_model_learned_and_cannot_be_read_is_said_once(world: World) -> None:
    model_annotator = model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    a_proposer(world)
    settings_now(world, system="scenes", from_images=9)
    call("train_model_annotator", world.campaign.name, "drawer")
    ModelProposals.objects.all().delete()
    assert model_annotators_to_propose() == [(world.campaign, "drawer")]
    (version_folder(model_annotator, 1) / "arrays.safetensors").write_bytes(b"")
    with pytest.raises(
        CampaignError, match=r"^what model annotator 'drawer' learned last cannot be used: .* train it$"
    ):
        propose_boxes(campaign=world.campaign.name, model_annotator="drawer")
    (version_folder(model_annotator, 1) / "manifest.json").unlink()
    assert model_annotators_to_propose() == [] and train_model_annotators() == 0
    call("train_model_annotator", world.campaign.name, "drawer")
    assert ModelProposals.objects.count() == 3


def test_no_job_is_asked_for_while_a_model_is_trained_by_command(world: World) -> None:
    model_annotator = model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    a_proposer(world)
    settings_now(world, system="scenes", from_images=9)
    with model_annotators.training_run(model_annotator):
        assert model_annotators_to_train() == [(world.campaign, "drawer")] and train_model_annotators() == 0
        with pytest.raises(CommandError, match="is being trained, or is given boxes"):
            call("train_model_annotator", world.campaign.name, "drawer")
    assert train_model_annotators() == 1


def test_boxes_of_a_file_wait_for_a_training_run_and_an_empty_file_changes_nothing(
    world: World, tmp_path: Path
) -> None:
    model_annotator = model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    file = tmp_path / "boxes.jsonl"
    file.write_text("")
    with pytest.raises(CommandError, match=r"boxes.jsonl has no image; the model annotator was not changed"):
        call("import_proposals", world.campaign.name, "drawer", str(file))
    model_annotator.refresh_from_db()
    assert (model_annotator.version, model_annotator.external) == (0, False)
    file.write_text(json.dumps({"image": world.images()[0].image.key, "boxes": {}}) + "\n")
    jobs.enqueue(kind="train_model_annotator", arguments=TRAINING_JOB, campaign=world.campaign)
    with pytest.raises(CommandError, match="wait for the end of that job, or cancel it"):
        call("import_proposals", world.campaign.name, "drawer", str(file))
    Job.objects.update(state=Job.DONE)
    assert call("import_proposals", world.campaign.name, "drawer", str(file))["version"] == 1
