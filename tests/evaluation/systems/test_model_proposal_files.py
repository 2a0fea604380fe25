"""A model annotator's boxes from a file: imported, clipped to the picture, refused; and replaced by a
training."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation import jobs
from annotation.campaigns import CampaignError, model_annotators
from annotation.formats.layers.proposals import read_proposals, write_proposals
from annotation.jobs import JobProgress
from annotation.jobs.registry import job_kind_named
from annotation.models import Judgment, ModelProposals, OpenImage
from annotation.protocol.model_annotators import ProposedBox
from evaluation.services.model_annotators.schedule import train_model_annotators
from evaluation.services.model_annotators.stored_proposers import proposer_folder
from evaluation.services.model_annotators.training import model_annotators_to_train
from phrasebox.text_files import FormatError
from tests.evaluation.systems.training import call, quick, settings_now, world
from tests.queue.world import World
from tests.web import world as people

__all__ = ["quick", "world"]

pytestmark = pytest.mark.django_db


def test_proposals_come_from_a_file(world: World, tmp_path: Path) -> None:
    model_annotator = model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    result = []
    for truth in world.truths.values():
        boxes = {
            name: [ProposedBox(box, 0.9) for box in truth.boxes[chain]]
            for name, chain in truth.chain_of.items()
        }
        result.append((truth.image, boxes))
    file = tmp_path / "boxes.jsonl"
    assert write_proposals(file, result) == 3
    assert [(image, dict(boxes)) for image, boxes in read_proposals(file)] == result
    report = call("import_proposals", world.campaign.name, "drawer", str(file))
    assert report["images"] == 3 and report["version"] == 1
    assert report["answers"] == Judgment.objects.filter(worker=model_annotator.worker).count()
    listed = call("list_model_annotators", world.campaign.name)["results"]
    assert [(row["name"], row["version"], row["judged"]) for row in listed] == [("drawer", 1, 0)]
    model_annotator.refresh_from_db()
    assert (model_annotator.source, model_annotator.external, model_annotator.learned) == (
        "file boxes.jsonl",
        True,
        None,
    )
    # It is never trained on schedule, however many images are finished: that would replace these boxes.
    assert len(model_annotators_to_train()) == 0
    OpenImage.objects.filter(campaign=world.campaign).update(complete=True)
    proposer_folder("scenes").mkdir(parents=True)
    settings_now(world, system="scenes")
    assert model_annotators_to_train() == [] and train_model_annotators() == 0
    arguments = {"campaign": world.campaign.name, "model_annotator": "drawer"}
    earlier_job = jobs.enqueue(kind="train_model_annotator", arguments=arguments, campaign=world.campaign)
    with pytest.raises(CampaignError, match="come from file boxes.jsonl, so it does not learn by itself"):
        job_kind_named("train_model_annotator").work(JobProgress(earlier_job), **arguments)


def test_a_person_replaces_the_boxes_of_a_file_and_is_told_so(world: World, client: Client) -> None:
    model_annotator = model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    model_annotators.record_training(
        model_annotator, images=None, source="file boxes.jsonl", external=True, adds=True
    )
    client.force_login(people.account("ada", "researcher"))
    page = client.get(reverse("model_annotators", args=[world.campaign.name])).content.decode()
    assert "Its boxes come from elsewhere, so it does not learn by itself. Training it replaces them." in page
    (result,) = client.get(reverse("v1_model_annotators", args=[world.campaign.name])).json()["results"]
    assert result["external"] and result["learned"] is None
    call("train_proposer", "scenes", "--corpus", world.corpus.name)
    settings_now(world, system="scenes", from_images=9)
    out = StringIO()
    call_command("train_model_annotator", world.campaign.name, "drawer", stdout=out)
    assert "they replace those of file boxes.jsonl" in out.getvalue()
    model_annotator.refresh_from_db()
    assert not model_annotator.external and model_annotator.learned == 0


def test_what_reaches_out_of_the_picture_is_cut_and_counted(world: World, tmp_path: Path) -> None:
    model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    truth = next(iter(world.truths.values()))
    image = world.corpus.images.get(key=truth.image)
    wide, high, name = image.width, image.height, next(iter(truth.mentions))
    assert wide > 40 and high > 40
    boxes = [[-3, 0, 20, 30, 0.9], [5, 5, 30, 30, 0.8], [30, 30, wide + 9, high + 1, 0.7]]
    boxes += [[wide + 1, 3, wide + 5, 9, 0.6], [-9, 3, 0, 9, 0.5]]
    file = tmp_path / "boxes.jsonl"
    file.write_text(json.dumps({"image": truth.image, "boxes": {name: boxes}}) + "\n")
    report = call("import_proposals", world.campaign.name, "drawer", str(file))
    assert (report["images"], report["clipped"], report["outside"]) == (1, 2, 2)
    stored = [[1, 1, 20, 30, 0.9], [5, 5, 30, 30, 0.8], [30, 30, wide, high, 0.7]]
    assert ModelProposals.objects.get().boxes == {name: stored}
    out = StringIO()
    call_command("import_proposals", world.campaign.name, "drawer", str(file), stdout=out)
    assert "2 boxes reached out of their picture and were cut, 2 lay wholly outside" in out.getvalue()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{", "line 1: no proposals"),
        ('{"image": "a"}', "line 1: no proposals \\('boxes'\\)"),
        ('{"image": "a", "boxes": {"0:0-1": [[1, 2, 3]]}}', "no proposals"),
        ('{"image": "a", "boxes": {"0:0-1": [[1, 2, 3.5, 4, 0.5]]}}', "is not four whole numbers"),
        ('{"image": "a", "boxes": {"0:0-1": [[9, 2, 3, 4, 0.5]]}}', "has its corners in the wrong order"),
        ('{"image": "a", "boxes": {"0:0-1": [[1, 2, 3, 4, 1.5]]}}', "chance 1.5 is not from 0 to 1"),
        ('{"image": "a", "boxes": {}}\n{"image": "a", "boxes": {}}', "line 2: image 'a' comes twice"),
    ],
)
def test_a_file_of_proposals_that_is_none_is_refused_in_one_line(
    line: str, expected: str, tmp_path: Path
) -> None:
    file = tmp_path / "boxes.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(FormatError, match=expected) as error:
        list(read_proposals(file))
    assert "\n" not in str(error.value)
