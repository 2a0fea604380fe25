"""Weak collections on pages: listed with their features and users, imported as a job, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from django.test import Client

from annotation import jobs
from annotation.models import Corpus, Job
from evaluation.models import System
from evaluation.services.features.store import feature_set
from evaluation.services.weak.collections import weak_collection
from tests.evaluation.web import little
from tests.web.staff import messages_on, press, words

pytestmark = pytest.mark.django_db
PAGE = "/evaluation/features/collections/"
IMPORT, FEATURES = "/operations/import_weak_collection/", "/operations/import_collection_features/"


@pytest.fixture
def file(data_dir: Path) -> str:
    """A collection of three images, and their features, as files on the server."""
    for kind in ("collections", "features"):
        (data_dir / "sources" / kind).mkdir(parents=True)
    (data_dir / "sources" / "collections" / "w.csv").write_text("id,title,tags\nx,a dog,dog\ny,,\nz,sea,\n")
    np.savez(data_dir / "sources" / "features" / "w.npz", vectors=np.eye(3), ids=np.array(["x", "y", "z"]))
    return "w.csv"


def done() -> Job:
    """Run the newest job, and return it."""
    jobs.run_queued_job(Job.objects.latest("pk").pk)
    return Job.objects.latest("pk")


def test_a_collection_and_its_features_are_imported_and_listed(ada: Client, file: str):
    empty = words(ada.get(PAGE))
    assert "There are no weak collections yet." in empty
    assert "Import features of a collection’s images" not in empty
    response = press(ada, PAGE, "Import", name="weak", file=file)
    assert messages_on(response) == ["Importing the collection."]
    assert "Import a weak collection weak queued" in words(response)
    assert done().state == Job.DONE and weak_collection("weak").rows == 3
    assert "weak 3 titles, tags" in words(ada.get(PAGE)) and "none yet" in words(ada.get(PAGE))
    response = press(ada, PAGE, "Import features", collection="weak", name="cnn", file="w.npz")
    assert messages_on(response) == ["Importing the features."]
    assert done().state == Job.DONE and feature_set("weak", "cnn").rows == 3
    little.corpus()
    corpus = Corpus.objects.get()
    System.objects.create(
        name="sae", corpus=corpus, origin="recipe", settings={"weak": {"collection": "weak"}}
    )
    System.objects.create(name="cca", corpus=corpus, origin="recipe", settings={})
    page_text = words(ada.get(PAGE))
    assert "cnn:1 sae w.csv" in page_text and "cca" not in page_text.split()
    assert PAGE in ada.get("/evaluation/features/").content.decode()


def test_a_broken_file_ends_the_job_in_one_line(ada: Client, file: str, data_dir: Path):
    (data_dir / "sources" / "collections" / file).write_text("id,title\nx,a\nx,b\n")
    press(ada, PAGE, "Import", name="weak")
    job = done()
    assert job.state == Job.FAILED and "row 2: the id 'x' comes twice" in job.error


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": "a b"}, "This is no valid name"),
        ({"name": "small"}, "“small” exists already: choose another name."),
        ({"name": "there"}, "“there” exists already: choose another name."),
        ({"file": "../features/w.npz"}, "There is no file “../features/w.npz” here"),
    ],
)
def test_collections_that_cannot_be_are_refused(ada: Client, file: str, change: dict[str, str], says: str):
    little.corpus()
    press(ada, PAGE, "Import", name="there")
    done()
    answer = ada.post(IMPORT, {"name": "weak", "file": file, **change})
    assert answer.status_code == 400 and says in words(answer)
    assert Job.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"collection": "none"}, "There is no weak collection “none” here; known: weak."),
        ({"name": "a b"}, "This is no valid name"),
        ({"file": "w.csv"}, "There is no file “w.csv” here"),
        ({"dtype": "int8"}, "Expected one of"),
    ],
)
def test_features_that_cannot_be_are_refused(ada: Client, file: str, change: dict[str, str], says: str):
    press(ada, PAGE, "Import", name="weak")
    done()
    form = {"collection": "weak", "name": "cnn", "file": "w.npz", "dtype": "float32", **change}
    answer = ada.post(FEATURES, form)
    assert answer.status_code == 400 and says in words(answer)
    assert Job.objects.count() == 1


def test_importing_takes_a_role_for_the_whole_server(ada: Client, eve: Client, file: str):
    press(ada, PAGE, "Import", name="weak")
    done()
    page_text = words(eve.get(PAGE))
    says = "A weak collection belongs to no corpus: importing takes a role for the whole server."
    assert says in page_text and "weak 3 titles" in page_text
    assert "Import a collection" not in page_text and "Import a weak" not in page_text
    assert eve.post(IMPORT, {"name": "more", "file": file}).status_code == 403
    form = {"collection": "weak", "name": "cnn", "file": "w.npz", "dtype": "float32"}
    assert eve.post(FEATURES, form).status_code == 403
    assert Job.objects.count() == 1


def test_systems_of_another_corpus_are_not_told(ada: Client, eve: Client, file: str):
    press(ada, PAGE, "Import", name="weak")
    done()
    little.corpus()
    System.objects.create(
        name="sae",
        corpus=Corpus.objects.get(name="small"),
        origin="recipe",
        settings={"weak": {"collection": "weak"}},
    )
    assert "sae" not in words(eve.get(PAGE)).split()
