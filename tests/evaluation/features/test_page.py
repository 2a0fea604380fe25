"""The page of feature sets: upload, errors of a file, use in a training, deletion."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation import jobs
from annotation.models import Job
from evaluation.formats import feature_files
from evaluation.models import System
from evaluation.selectors import words_of
from evaluation.services.features.store import feature_sets
from evaluation.services.features.word_training import WordTraining, train_word_vectors
from evaluation.services.systems.sources import VECTOR_FILES
from tests.evaluation.systems.conftest import IMAGES
from tests.evaluation.web.test_system_pages import error_text
from tests.models_core.systems.worlds import examples, vectors
from tests.web import world
from tests.web.staff import messages_on, press, words

pytestmark = pytest.mark.django_db
PAGE = "/evaluation/features/"


@pytest.fixture
def ada(corpus: str):
    cache.clear()
    return world.signed_in("ada", "researcher")


def upload(rows=None, name="cnn.npz"):
    out = io.BytesIO()
    ids = np.array([example.name for example in examples(IMAGES)])
    np.savez(out, vectors=vectors(IMAGES) if rows is None else rows, ids=ids)
    return SimpleUploadedFile(name, out.getvalue())


def send_form(ada, **fields):
    provided = {"name": "cnn", "corpus": "world", "kind": "image", "dtype": "float32", **fields}
    return ada.post("/operations/import_features/", {**provided, "next": PAGE}, follow=True)


def run_newest() -> Job:
    """Run the newest job, and return it."""
    jobs.run_queued_job(Job.objects.latest("pk").pk)
    return Job.objects.latest("pk")


def test_a_file_is_imported_listed_trained_on_and_kept_while_it_is_used(ada, corpus):
    page = words(ada.get(PAGE))
    assert "There are no feature sets yet." in page
    page = send_form(ada, file=upload())
    assert messages_on(page) == ["Importing the features."]
    assert run_newest().state == Job.DONE
    assert f"cnn:1 world images {IMAGES}" in words(ada.get(PAGE))
    send_form(ada, file=upload())
    assert run_newest().result["unchanged"]
    press(ada, "/evaluation/train/", "Train", name="mine", recipe="nCCA", features="cnn:1")
    assert run_newest().state == Job.DONE
    assert System.objects.get().settings["features"] == "cnn:1"
    page = ada.get(PAGE)
    assert '<a href="/evaluation/systems/mine/">mine</a>' in page.content.decode()
    page = ada.post("/operations/remove_features/", {"corpus": "world", "set": "cnn:1"}, follow=True)
    assert error_text(page) == "feature set 'cnn:1' is used by mine; remove the systems first"
    send_form(ada, name="spare", file=upload())
    run_newest()
    page = press(ada, PAGE, "Remove")
    assert messages_on(page) == ["The feature set is removed."]
    assert [feature_set.label for feature_set in feature_sets()] == ["cnn:1"]


def test_a_file_of_the_server_is_imported_by_a_job(ada, features: Path, data_dir: Path):
    folder = data_dir / "sources" / "features"
    folder.mkdir(parents=True)
    for file in (features, features.with_name("features.ids.txt")):
        shutil.copy(file, folder)
    page = send_form(ada, server_file="features.npy")
    assert messages_on(page) == ["Importing the features."]
    assert jobs.run_queued_job(Job.objects.get().pk) == Job.DONE
    assert "Import features" in words(ada.get(PAGE)) and feature_sets()[0].label == "cnn:1"


def test_word_vectors_are_uploaded_or_taken_from_the_server_which_offers_no_lists_of_ids(
    ada, corpus, data_dir: Path
):
    folder = data_dir / "sources" / "features"
    folder.mkdir(parents=True)
    first, second = words_of(corpus)[:2]
    (folder / "glove.txt").write_text(f"{first} 1 2\n")
    (folder / "cnn.ids.txt").write_text("a.jpg\n")
    page_text = words(ada.get(PAGE))
    assert "glove.txt" in page_text and "cnn.ids.txt" not in page_text
    send_form(ada, name="far", kind="word", server_file="glove.txt")
    assert jobs.run_queued_job(Job.objects.get().pk) == Job.DONE
    send_form(
        ada, name="near", kind="word", file=SimpleUploadedFile("w.vec", f"1 2\n{second} 3 4\n".encode())
    )
    run_newest()
    assert [(feature_set.label, feature_set.kind, feature_set.ids()) for feature_set in feature_sets()] == [
        ("far:1", "word", (first,)),
        ("near:1", "word", (second,)),
    ]
    train_word_vectors(WordTraining(corpus=corpus, name="own", dimensions=4, epochs=1))
    displayed = words(ada.get(PAGE))
    assert "w.vec" in displayed and "word2vec" in displayed and "glove.txt" not in VECTOR_FILES.names()


def test_whose_captions_word_vectors_are_learned_from_is_asked_and_shown(ada, corpus):
    form = {"name": "own", "corpus": corpus, "dimensions": "4", "epochs": "1", "least": "1"}
    page = ada.post("/operations/train_word_vectors/", {**form, "split": "dev"})
    assert error_text(page).startswith("There is no split “dev” here")
    for name, split, called in (
        ("own", "", "split train"),
        ("test", "test", "split test"),
        ("any", "all", "all captions"),
    ):
        press(ada, PAGE, "Train", name=name, dimensions="4", epochs="1", split=split)
        job = Job.objects.latest("pk")
        assert jobs.run_queued_job(job.pk) == Job.DONE, job.error
        assert f"word2vec, {called}" in words(ada.get(PAGE))


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "This is required."),
        ({"server_file": "../../x.npz"}, "There is no file “../../x.npz” here."),
        ({"name": "a b", "file": upload}, "This is no valid name"),
        ({"corpus": "nowhere", "file": upload}, "There is no corpus “nowhere” here; known: world."),
        ({"dtype": "object", "file": upload}, "Expected one of: 'float32' or 'float16'."),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_stored(ada, data_dir: Path, fields, says):
    values = {key: value() if callable(value) else value for key, value in fields.items()}
    page = send_form(ada, **values)
    assert page.status_code == 400 and error_text(page).startswith(says)
    assert feature_sets() == [] and not Job.objects.exists()


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (lambda: upload(np.full((IMAGES, 2), np.inf)), "feature 0 of "),
        (lambda: SimpleUploadedFile("cnn.npz", b"PK"), "cnn.npz: is damaged"),
    ],
)
def test_what_is_wrong_with_a_file_ends_the_job_in_a_line(ada, file, says):
    send_form(ada, file=file())
    job = run_newest()
    assert job.state == Job.FAILED and job.error.startswith(says)
    assert feature_sets() == []


def test_a_file_that_swells_in_memory_is_not_read(ada, monkeypatch):
    out = io.BytesIO()
    with h5py.File(out, "w") as file:
        file.create_dataset("ids", (100_000,), h5py.string_dtype(), chunks=(1000,))
        file.create_dataset("vectors", (100_000, 6_000), "f4", chunks=(1000, 2))
    monkeypatch.setattr(feature_files, "open_features", None)
    page = send_form(ada, file=SimpleUploadedFile("cnn.h5", out.getvalue()), kind="region")
    assert "This unpacks to 2" in words(page) and feature_sets() == []


def test_a_training_is_offered_sets_of_images_and_refuses_others(ada):
    send_form(ada, file=upload())
    run_newest()
    page = ada.get("/evaluation/train/").content.decode()
    assert '<option value="cnn:1">cnn:1 – world</option>' in page
    form = {"name": "mine", "recipe": "nCCA", "corpus": "world", "train": "train", "held_out": "val"}
    page = ada.post("/evaluation/train/", {**form, "features": "other:1"})
    assert error_text(page).startswith("unknown feature set 'other:1' of corpus 'world'; known: cnn:1")
    page = ada.post("/evaluation/train/", form)
    assert error_text(page).startswith("Recipe nCCA needs this.")
