"""A model at an address in a browser: allowed, asked by a job of a Celery worker, and judged by a person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation import campaigns
from annotation.models import Job, Judgment, ModelAnnotator, ModelCall
from annotation.protocol import questions as q
from tests.browser.at_work import answered, at, eventually, wait_for_task
from tests.browser.conftest import Open, open_page, profiles, sign_in
from tests.jobs import workers
from tests.jobs.conftest import Delivery, broker, installation
from tests.queue.model_server import a_box_for_each, serving
from tests.queue.world import TRUSTING, World
from tests.web import desk
from tests.web import world as people

__all__ = ["broker", "installation", "open_page", "profiles"]


@pytest.fixture
def work(transactional_db: None, tmp_path: Path, settings: Any) -> World:
    settings.DATA_DIR = tmp_path / "data"
    world = desk.campaign(tmp_path / "drawn", settings=TRUSTING)
    people.account("ada", "researcher")
    changed = {**world.campaign.settings["model_annotator"], "share": 1.0}
    campaigns.change_campaign_settings(
        campaign=world.campaign, settings={**world.campaign.settings, "model_annotator": changed}
    )
    return world


# The default run does the same by calls of the service, in `queue/test_model_addresses`.
@pytest.mark.slow
@pytest.mark.only_on("postgresql")
def test_a_model_at_an_address_is_asked_and_a_person_decides(
    work: World,
    open_page: Open,
    installation: Delivery,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk.open_questions_for(work, q.BOX_DRAWING, 6)
    with serving(a_box_for_each) as server:
        settings.MODEL_ORIGINS = {server.origin: ""}
        monkeypatch.setitem(workers.CACHES, "MODEL_ORIGINS", server.origin)  # of the worker too
        page = open_page()
        sign_in(page, "ada", then=reverse("model_annotators", args=["quay"]))
        page.get_by_label("Name of a new model annotator").fill("drawer")
        page.get_by_role("button", name="Add a model annotator").click()
        page.get_by_role("link", name="Let a model at an address propose its boxes").click()
        page.get_by_label("Address", exact=True).fill("http://169.254.169.254/predict")
        page.get_by_role("button", name="Set the address of a model").click()
        expect(page.get_by_text("The address must begin with https://HOST.")).to_be_visible()
        page.get_by_label("Address", exact=True).fill(f"{server.origin}/predict")
        page.get_by_role("button", name="Set the address of a model").click()
        expect(page.get_by_text("Address saved: ask the model when you like.")).to_be_visible()
        expect(page.get_by_text(f"The model at {server.origin}/predict proposes its boxes.")).to_be_visible()
        page.get_by_role("button", name="Ask it now").click()
        expect(page.get_by_text("may not leave the server").first).to_be_visible()
        page.goto(reverse("manage_corpus", args=["quay"]))
        page.get_by_role("button", name="Let pictures leave the server").click()
        expect(page.get_by_role("button", name="Let no pictures leave the server")).to_be_visible()
        page.goto(reverse("model_annotators", args=["quay"]))
        with installation.worker():
            page.get_by_role("button", name="Ask it now").click()
            expect(page.get_by_text("The model is being asked.")).to_be_visible()
            eventually(page, lambda: not Job.objects.filter(kind="ask_model", state__in=Job.LIVE).exists())
    job = Job.objects.filter(kind="ask_model").latest("pk")
    assert job.state == Job.DONE, job.error
    assert job.result["images"] == ModelCall.objects.filter(state=ModelCall.ANSWERED).count() == 3
    annotator = ModelAnnotator.objects.get()
    drawn = Judgment.objects.filter(worker=annotator.worker, kind=q.BOX_DRAWING, answer="drawn")
    assert drawn.count() == job.result["answers"] >= 2
    page.goto(reverse("model_annotators", args=["quay"]))
    expect(page.get_by_text(f"version 1 (model at {server.origin})")).to_be_visible()
    page = open_page()
    sign_in(page, "ann")
    at(page, q.BOX_QUALITY)
    wait_for_task(page)
    page.get_by_role("button", name="Bad").click()
    answered(page, q.BOX_QUALITY, 1)
    judgment = Judgment.objects.get(worker__pseudonym="w-ann", kind=q.BOX_QUALITY)
    assert judgment.key.split("|")[1] in set(drawn.values_list("name", flat=True))
