"""A campaign with a model annotator in a browser: trained by a job of a Celery worker, refused in Box
Quality; a person draws instead, and the inspector shows who drew what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse
from playwright.sync_api import expect

from annotation import campaigns
from annotation.models import Job, Judgment, ModelAnnotator, Worker
from annotation.protocol import questions as q
from annotation.queue import leases
from annotation.queue.leases import Lease
from annotation.queue.submission import Answer
from annotation.selectors.records import stream_records
from evaluation.services.model_annotators import stored_proposers
from evaluation.services.model_annotators.examples import training_pictures
from models_core.estimators.neural.proposer.box_proposer import BoxProposer
from models_core.estimators.neural.proposer.training import ProposerSettings
from tests.browser.at_work import answered, at, eventually, wait_for_task
from tests.browser.box_editor import drag
from tests.browser.conftest import Open, open_page, profiles, sign_in
from tests.jobs.conftest import Delivery, broker, installation
from tests.queue.world import TRUSTING, World
from tests.web import desk
from tests.web import world as people

__all__ = ["broker", "installation", "open_page", "profiles"]


@pytest.fixture
def work(transactional_db: None, tmp_path: Path, settings: Any) -> World:
    settings.DATA_DIR = tmp_path / "data"
    model_annotator = {"share": 1.0, "from_images": 40, "system": "scenes", "least_chance": 0.0, "tries": 1}
    world = desk.campaign(tmp_path / "drawn", settings=TRUSTING)
    people.account("ada", "researcher")
    # Barely trained: people decide about all its boxes.
    small = ProposerSettings(side=64, epochs=1, close_epochs=1, last_epochs=1)
    records = stream_records(corpus=world.corpus, layer=world.corpus.layers.get(name="import"))
    BoxProposer(small).fit(list(training_pictures(records, small.side))).save(
        stored_proposers.proposer_folder("scenes")
    )
    changed = {
        **world.campaign.settings,
        "model_annotator": {**world.campaign.settings["model_annotator"], **model_annotator},
    }
    campaigns.change_campaign_settings(campaign=world.campaign, settings=changed)
    return world


# The default run does the same by requests, in `queue/test_model_answers` and `systems/test_training_models`.
@pytest.mark.slow
@pytest.mark.only_on("postgresql")
def test_a_model_proposes_a_person_refuses_and_draws_and_the_inspector_tells_who(
    work: World, open_page: Open, installation: Delivery
) -> None:
    desk.open_questions_for(work, q.BOX_DRAWING, 6)
    page = open_page()
    sign_in(page, "ada", then=reverse("model_annotators", args=["quay"]))
    expect(page.get_by_text("It works on 100 % of the images")).to_be_visible()
    expect(page.get_by_text("It begins from the stored proposer “scenes”.")).to_be_visible()
    page.get_by_label("Name of a new model annotator").fill("drawer")
    page.get_by_role("button", name="Add a model annotator").click()
    expect(page.get_by_text("Model annotator “drawer” added.")).to_be_visible()
    expect(page.get_by_text("has not learned yet")).to_be_visible()
    with installation.worker():
        page.get_by_role("button", name="Train it now").click()
        expect(page.get_by_text("The model annotator is being trained")).to_be_visible()
        eventually(
            page, lambda: not Job.objects.filter(kind="train_model_annotator", state__in=Job.LIVE).exists()
        )
    job = Job.objects.filter(kind="train_model_annotator").latest("pk")
    assert job.state == Job.DONE, job.error
    model_annotator = ModelAnnotator.objects.get()
    assert model_annotator.version == 1 and model_annotator.source == "proposer scenes"
    drawn = Judgment.objects.filter(worker=model_annotator.worker, kind=q.BOX_DRAWING, answer="drawn")
    assert drawn.count() >= 2 and job.result["answers"] == drawn.count()
    page.reload()
    expect(page.get_by_text("version 1 (proposer scenes)")).to_be_visible()

    # ann is asked about a box that looks like a person's, and refuses it.
    at(page, q.BOX_QUALITY)
    wait_for_task(page)
    response = Judgment.objects.get(name=_open_question(work))
    assert response.worker == model_annotator.worker
    page.get_by_role("button", name="Bad").click()
    answered(page, q.BOX_QUALITY, 1)

    # The same question returns to people. ann would check the model annotator's other boxes first, until it
    # is turned off, and then draws.
    at(page, q.BOX_DRAWING)
    expect(page.get_by_text("check some of them first")).to_be_visible()
    call_command("change_settings", "quay", "--set", "model_annotator.check_first=false")
    at(page, q.BOX_DRAWING)
    wait_for_task(page)
    drag(page, (59, 79), (130, 330))
    page.get_by_role("button", name="Send this box").click()
    answered(page, q.BOX_DRAWING, 1)
    judgment = Judgment.objects.get(worker__pseudonym="w-ann", kind=q.BOX_DRAWING)
    assert judgment.key == response.key and judgment.image == response.image

    # Another box of the model annotator is accepted by another worker.
    accepted = _accept(work, model_annotator.worker)
    assert response.image is not None and accepted.image is not None
    page = open_page()
    sign_in(page, "ada", then=reverse("review_image", args=["quay", response.image.image.key]))
    _open_chain_of(page, response)
    page.get_by_text("What workers said").click()
    row = page.get_by_role("row")
    expect(
        row.filter(has_text=model_annotator.worker.pseudonym).filter(has_text="model_annotator")
    ).to_be_visible()
    expect(row.filter(has_text="w-ann").first).to_be_visible()
    page.goto(reverse("image", args=[work.corpus.name, accepted.image.image.key]) + "?layer=quay")
    expect(page.get_by_text("drawn by a model annotator, accepted by people").first).to_be_visible()
    page.goto(reverse("model_annotators", args=["quay"]))
    expect(page.get_by_text("1 of 2 judged boxes accepted")).to_be_visible()
    # Nobody can sign in as the model annotator.
    assert not hasattr(Worker.objects.get(pk=model_annotator.worker_id), "identity")


def _open_question(work: World) -> str:
    """Return the name of the drawing that ann is asked about."""
    lease = leases.take_lease(worker=work.workers[0], campaign=work.campaign, kind=q.BOX_QUALITY)
    assert isinstance(lease, Lease)
    return lease.key.split("|")[1]


def _accept(work: World, worker: Worker) -> Judgment:
    """Let a worker accept a box of the model annotator; return its drawing."""
    while True:
        result = work.held(1, q.BOX_QUALITY)
        drawing = Judgment.objects.get(name=result.key.split("|")[1])
        if drawing.worker_id == worker.pk:
            work.submit(1, result, Answer("good"), then=False)
            return drawing
        leases.return_lease(worker=work.workers[1], assignment=result.id)


def _open_chain_of(page: Any, drawing: Judgment) -> None:
    """Show the chain of a drawing."""
    mentions = drawing.key.split("|")[1].split()
    assert drawing.image is not None
    number = next(n for n, chain in enumerate(drawing.image.state["chains"], 1) if chain["m"] == mentions)
    page.goto(f"{page.url.split('?')[0]}?chain={number}")
