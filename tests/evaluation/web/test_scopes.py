"""Pages of evaluation show, and their forms accept, only what the user's roles allow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation import jobs
from annotation.common.roles import RESEARCHER
from annotation.models import Account, Corpus, Job
from annotation.workers.accounts import granting
from evaluation.models import QrelsSnapshot, Report, Run, System, TagSet
from tests.evaluation.web import little
from tests.factories import a_corpus, some_images
from tests.web import world as people
from tests.web.staff import words

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(db: None, tmp_path: Path) -> Client:
    """A researcher of a corpus without data, beside one with runs and qrels."""
    little.corpus()
    little.qrels(tmp_path)
    little.runs(tmp_path, "good", "bad")
    corpus = a_corpus("own", some_images(2))
    granting.grant(account=people.account("bob"), role=RESEARCHER, corpus=corpus)
    client = Client()
    client.force_login(Account.objects.get(username="bob"))
    return client


@pytest.mark.parametrize(
    "page",
    [
        *("systems", "runs", "qrels_list", "compare", "batches", "reports"),
        *("train", "bring", "features", "weak_collections", "freeze_qrels", "import_qrels"),
        *("new_batch", "new_report"),
    ],
)
def test_nothing_of_another_corpus_is_told(bob: Client, page: str):
    Job.objects.create(kind="rank", corpus=Corpus.objects.get(name="small"), arguments={"system": "good"})
    requested: dict[str, Any] = {
        "corpus": "small",
        "run": "good-search",
        "qrels": "crowd",
        "runs": "good-search",
    }
    for provided in ({}, requested, {**requested, "chosen": "1"}):
        answer = bob.get(reverse(f"evaluation:{page}"), provided)
        page_text = words(answer)
        assert answer.status_code == 200
        assert not {"small", "good-annotation", "crowd:1"} & set(page_text.replace("(", " ").split()), (
            page_text
        )


@pytest.mark.parametrize(
    ("page", "payload", "says"),
    [
        ("train", {"corpus": "small", "name": "s", "recipe": "BoW5"}, "There is no corpus “small” here"),
        (
            "bring",
            {"corpus": "small", "name": "s", "act": "import_run", "file": SimpleUploadedFile("x", b"x")},
            "There is no corpus “small” here",
        ),
        (
            "freeze_qrels",
            {"corpus": "small", "act": "protocol", "protocol": "any of five", "name": "s"},
            "There is no corpus “small” here",
        ),
        (
            "freeze_qrels",
            {"corpus": "own", "act": "judgments", "judgments": "flickr8k-crowd", "name": "s"},
            "There is no set of judgments “flickr8k-crowd” here.",
        ),
        (
            "freeze_qrels",
            {"corpus": "own", "act": "protocol", "protocol": "any of five", "name": "s"}
            | {"split": "run:good-search"},
            "There is no split “run:good-search” here",
        ),
        (
            "import_qrels",
            {"corpus": "small", "act": "import_qrels", "name": "s", "file": SimpleUploadedFile("x", b"x")},
            "There is no corpus “small” here",
        ),
        ("new_batch", {"corpus": "small", "runs": "good-search", "chosen": "1", "name": "b"}, "no corpus"),
        ("new_batch", {"corpus": "own", "runs": "good-search", "chosen": "1", "name": "b"}, "no run “good-s"),
        (
            "new_report",
            {"qrels": "crowd", "runs": "good-search", "name": "r"},
            "There is no set of qrels “crowd”",
        ),
    ],
)
def test_forms_take_nothing_of_another_corpus(bob: Client, page: str, payload: dict[str, Any], says: str):
    answer = bob.post(reverse(f"evaluation:{page}"), payload)
    assert answer.status_code in (400, 409) and says in words(answer)
    assert not Job.objects.exists() and not System.objects.filter(name="s").exists()
    assert not QrelsSnapshot.objects.filter(name="s").exists()


def test_qrels_of_another_corpus_are_not_there(bob: Client):
    answer = bob.get(reverse("evaluation:qrels", args=["crowd"]))
    assert answer.status_code == 404 and "There are no qrels “crowd” here." in words(answer)
    assert bob.get("/operations/export_qrels/file?qrels=crowd").status_code == 404
    answer = bob.post("/operations/remove_qrels/", {"qrels": "crowd:1"})
    assert answer.status_code == 400 and "There is no set of qrels “crowd:1” here." in words(answer)
    assert QrelsSnapshot.objects.filter(name="crowd").exists()


def test_a_report_takes_no_tag_set_of_another_corpus_and_lists_none(bob: Client):
    small, corpus = Corpus.objects.get(name="small"), Corpus.objects.get(name="own")
    TagSet.objects.create(corpus=small, name="theirs", published=True)
    Run.objects.create(corpus=corpus, name="mine", direction="search", published=True)
    about = {"rule": "majority", "source": "a file", "originals": False, "row_count": 0}
    QrelsSnapshot.objects.create(corpus=corpus, name="own", version=1, published=True, **about)
    for name in ("theirs", "none-such"):
        payload = {"qrels": "own", "runs": "mine", "name": "r", "tags": name}
        answer = bob.post(reverse("evaluation:new_report"), payload)
        assert answer.status_code == 400 and f"There is no tag set “{name}” here." in words(answer)
        assert "small" not in words(answer) and ("theirs" in words(answer)) == (name == "theirs")


def test_nobody_takes_the_place_of_a_report_of_another_corpus(bob: Client):
    qrels = QrelsSnapshot.objects.get(name="crowd")
    Report.objects.create(corpus=qrels.corpus, name="r", qrels=qrels, inputs={}, files={})
    corpus = Corpus.objects.get(name="own")
    QrelsSnapshot.objects.create(
        corpus=corpus,
        name="own",
        version=1,
        published=True,
        rule="majority",
        source="x",
        originals=False,
        row_count=0,
    )
    Run.objects.create(corpus=corpus, name="mine", direction="search", published=True)
    payload = {"qrels": "own", "runs": "mine", "name": "r", "replace": "true"}
    answer = bob.post(reverse("evaluation:new_report"), payload)
    assert answer.status_code == 400 and "“r” exists already" in words(answer)


def test_runs_without_a_corpus_tell_no_names(bob: Client):
    Run.objects.create(corpus=Corpus.objects.get(name="own"), name="mine", direction="search", published=True)
    page_text = words(bob.get(reverse("evaluation:new_batch"), {"runs": "mine"}))
    assert "small" not in page_text and "Choose runs" in page_text


def test_jobs_about_a_corpus_are_for_its_staff_and_those_about_none_for_the_whole_server(bob: Client):
    ask: dict[str, Any] = {"kind": "rank", "arguments": {"system": "x", "split": "test"}}
    numbers = {
        name: jobs.enqueue(**ask, corpus=Corpus.objects.filter(name=name).first()).pk
        for name in ("small", "own", "none")
    }
    assert len(set(numbers.values())) == 3, "they are not the same job"

    def steered(client: Client) -> dict[str, int]:
        return {
            name: client.post(reverse("operation", args=["cancel_job"]), {"job": job}).status_code
            for name, job in numbers.items()
        }

    assert steered(bob) == {"small": 400, "own": 200, "none": 400}
    assert steered(people.signed_in("ada", RESEARCHER)) == {"small": 200, "own": 409, "none": 200}
