"""An evaluation by page: its form, its job, the comparison it leads to; the buttons on a system's page."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from annotation import jobs
from annotation.models import Job
from evaluation.models import Run, System
from tests.evaluation.web import little
from tests.evaluation.web.test_system_pages import error_text
from tests.web.staff import press, words

pytestmark = pytest.mark.django_db
PAGE = "/evaluation/evaluate/"
FORM = {"corpus": "small", "test": "test", "train": "test", "rounds": "20", "resamples": "20"}


@pytest.fixture(autouse=True)
def small(db: None) -> None:
    little.corpus()


def test_embeddings_become_a_table_by_page(ada: Client) -> None:
    page = ada.get(PAGE)
    assert page.context["form"].fields["test"].widget.choices == [("dev", "dev"), ("test", "test")]
    answer = ada.post(PAGE, {**FORM, "embeddings": little.embeddings()}, follow=True)
    job = Job.objects.get()
    assert (job.kind, job.arguments["systems"]) == ("evaluate", ["clip"])
    assert "Training, ranking and comparing." in words(answer)
    assert jobs.run_queued_job(job.pk) == Job.DONE
    assert sorted(Run.objects.values_list("name", "split")) == [
        ("clip-annotation", "test"),
        ("clip-search", "test"),
    ]
    page = ada.get(PAGE)
    leads = page.context["jobs"][0].leads
    assert leads == "/evaluation/compare/?run=clip-annotation&run=clip-search"
    assert "Pool: 2 captions of corpus small, split test" in words(ada.get(leads))
    assert ada.get("/evaluation/").context["jobs"][0].leads == leads
    Run.objects.all().delete()
    assert not ada.get(PAGE).context["jobs"][0].leads


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, "This is required."),
        ({"recipes": ["nCCA"]}, "Recipe nCCA needs this."),
        ({"model": "clip", "recipes": ["nCCA"]}, "This is only possible together with embeddings."),
        ({"test": "nowhere", "systems": []}, "This is required."),
    ],
)
def test_what_cannot_be_evaluated_is_said_at_once(ada: Client, change: dict[str, object], says: str) -> None:
    answer = ada.post(PAGE, {**FORM, **change})
    assert answer.status_code == 400 and says in words(answer)
    assert not Job.objects.exists() and not System.objects.exists()


def test_wrong_embeddings_are_said_beside_their_field(ada: Client) -> None:
    wrong = little.embeddings(image_ids=["a.jpg", "b.jpg", "x.jpg"])
    answer = ada.post(PAGE, {**FORM, "embeddings": wrong})
    assert answer.status_code in (400, 409) and "'x.jpg'" in error_text(answer)
    assert not Job.objects.exists() and not System.objects.exists()


def test_a_new_system_is_ranked_and_compared_by_buttons(ada: Client, tmp_path: Path) -> None:
    upload = {"act": "add_system", "name": "clip", "corpus": "small"}
    ada.post("/evaluation/add-system/", {**upload, "file": little.embeddings()})
    page = "/evaluation/systems/clip/"
    assert "Compare with" not in words(ada.get(page))
    press(ada, page, "Rank on test")
    assert jobs.run_queued_job(Job.objects.get().pk) == Job.DONE
    assert set(Run.objects.values_list("split", flat=True)) == {"test"}
    (line,) = ada.get("/evaluation/").context["jobs"]
    assert "R@1" in words(ada.get(line.leads)) and "Protocol: original pairs" in words(ada.get(line.leads))
    assert "Rank on test" not in words(ada.get(page)) and "Compare with" not in words(ada.get(page))
    little.runs(tmp_path, "good")
    assert ada.get(page).context["compare_with"] == ["good"]
    both = ada.get("/evaluation/compare/?system=clip&system=good&missing=leave-out")
    assert [run.name for run in both.context["runs"]] == [
        *("clip-annotation", "clip-search"),
        *("good-annotation", "good-search"),
    ]
    assert len(both.context["sides"]) == 2
    none = ada.get("/evaluation/compare/?system=nobody")
    assert "There is no system “nobody” here." in none.context["error"]
