"""Systems on pages: trained, imported, used for ranking, viewed and deleted."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation import jobs
from annotation.common import files as sent_files
from annotation.models import AuditEntry, Job
from evaluation.models import Run, System
from evaluation.services.declarations import ARRAYS_UPLOAD
from evaluation.services.systems.folders import system_folder
from tests.evaluation.web import little
from tests.web.staff import forms, messages_on, press, words

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def small(db) -> str:
    return little.corpus()


def error_text(page) -> str:
    """Return the error message: beside a field, or above the form."""
    if page.status_code == 400:
        displayed = page.context.get("forms") or [page.context["form"]]
        return next(text for form in displayed for texts in form.errors.values() for text in texts)
    assert page.status_code == 409
    return page.context.get("error") or page.context["wrong"]


#: What the balance sheet of the embeddings of `little` says.
TAKEN = "images: 3 found, 3 taken · captions: 9 found, 9 taken"


def upload_system(ada, act: str = "add_system", **fields: Any):
    return ada.post(
        "/evaluation/add-system/", {"act": act, "name": "clip", "corpus": "small", **fields}, follow=True
    )


def test_embeddings_are_uploaded_ranked_by_a_job_and_removed(ada):
    page = upload_system(ada, file=little.embeddings())
    assert messages_on(page) == [f"{TAKEN} · arrays: 4 found, 4 taken", "System “clip” was added."]
    (line,) = AuditEntry.objects.filter(act="add_system")
    assert (line.actor_name, line.about) == ("ada", {"system": "clip", "corpus": "small"})
    assert "Embeddings" in words(page) and "cosine True" in words(page) and "clip.npz" in words(page)
    page = press(ada, "/evaluation/systems/clip/", "Rank", split="test")
    assert messages_on(page) == ["Ranking the images and captions."]
    assert "Rank with a system clip, test queued" in words(page)
    assert 'data-live="on"' in page.content.decode()
    assert jobs.run_queued_job(Job.objects.get().pk) == Job.DONE
    page = ada.get("/evaluation/")
    compared = "/evaluation/compare/?run=clip-annotation&amp;run=clip-search"
    assert f'href="{compared}">View' in page.content.decode()
    assert "clip-annotation captions for images test one caption 2" in words(
        ada.get("/evaluation/systems/clip/")
    )
    page = press(ada, "/evaluation/systems/clip/", "Remove this system")
    assert "clip-annotation, run clip-search use it" in error_text(page)
    for run in ("clip-annotation", "clip-search"):
        press(ada, f"/evaluation/runs/{run}/", "Remove")
    assert messages_on(press(ada, "/evaluation/systems/clip/", "Remove this system")) == [
        "The system is removed."
    ]
    assert not System.objects.exists() and not Run.objects.exists() and not system_folder("clip").exists()


def test_a_system_ranks_all_images_where_no_split_is_written(ada):
    upload_system(ada, file=little.embeddings())
    assert "Without a split, the system ranks all images" in words(ada.get("/evaluation/systems/clip/"))
    page = press(ada, "/evaluation/systems/clip/", "Rank")
    assert messages_on(page) == ["Ranking the images and captions."]
    assert Job.objects.get().arguments == {"system": "clip"}
    assert jobs.run_queued_job(Job.objects.get().pk) == Job.DONE
    assert set(Run.objects.values_list("query_count", "split")) == {(3, "")}
    page_text = words(ada.get("/evaluation/systems/clip/"))
    assert "clip-annotation captions for images all images one caption 3" in page_text
    for page in ("/evaluation/runs/", "/evaluation/runs/clip-search/"):
        assert "all images" in words(ada.get(page))


def test_vectors_of_zeros_are_said_where_a_system_is_uploaded_by_page(ada):
    page = upload_system(ada, file=little.embeddings(images=np.zeros((3, 3))))
    assert messages_on(page) == [
        f"{TAKEN} · arrays: 4 found, 4 taken",
        "System “clip” was added.",
        "3 images have a vector of zeros, which scores 0 for everything ('a.jpg', 'b.jpg', 'c.jpg')",
    ]


def test_sides_may_come_apart_with_their_ids_beside_them(ada, tmp_path):
    def npy(name: str, values) -> SimpleUploadedFile:
        np.save(tmp_path / "x.npy", values)
        return SimpleUploadedFile(name, (tmp_path / "x.npy").read_bytes())

    def send(images: str, captions: str, *ids: str):
        held = {"i": little.PICTURES, "c": little.CAPTIONS}
        beside: dict[str, Any] = {
            "file": npy(images, np.eye(3)),
            "captions": npy(captions, np.repeat(np.eye(3), 3, axis=0)),
            "ids": [SimpleUploadedFile(f"{item}.ids.txt", "\n".join(held[item]).encode()) for item in ids],
        }
        return upload_system(ada, **beside, inner_products="true")

    assert "“i.npy” is given twice." in words(send("i.npy", "i.npy", "i"))
    assert error_text(send("i.npy", "c.npy", "c")) == (
        "i.npy: has no ids 'ids'; expected the ids in the file, or in i.ids.txt"
    )
    assert messages_on(send("i.npy", "c.npy", "i", "c")) == [
        f"{TAKEN} · files: 2 found, 2 taken",
        "System “clip” was added.",
    ]
    assert System.objects.get().settings["cosine"] is False


@pytest.mark.parametrize(
    ("format", "file", "says"),
    [
        ("embeddings", None, "This is required."),
        (
            "embeddings",
            ("clip.npz", {"image_ids": np.array(["a.jpg", "b.jpg", "z.jpg"])}),
            (
                "clip.npz: row 2 (counted from 0) is of 'z.jpg', which is not one of the images "
                "of corpus 'small'; expected its"
            ),
        ),
        ("embeddings", ("clip.npy", {}), "clip.npy: the array has no readable npy header"),
        ("scores", ("clip.npz", {}), "clip.npz: contains no array 'scores'"),
        ("embeddings", ("clip.safetensors", {}), "clip.safetensors: has no readable header"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_and_leaves_nothing(ada, data_dir: Path, format, file, says):
    payload: dict[str, Any] = {"file": little.embeddings(file[0], **file[1])} if file is not None else {}
    assert error_text(upload_system(ada, format=format, **payload)).startswith(says)
    assert not System.objects.exists()
    assert not (data_dir / "systems").exists() and not list((data_dir / "uploads").glob("*"))


def test_captions_and_inner_products_are_of_embeddings(ada):
    page = upload_system(ada, format="scores", file=little.embeddings(), inner_products="true")
    assert error_text(page) == "This is only possible together with embeddings."


def test_a_run_is_uploaded_whole_or_not_at_all(ada):
    bad = little.trec("a.jpg#2 a.jpg 1", "z.jpg#2 a.jpg 1")
    page = upload_system(ada, "import_run", file=bad, direction="search")
    assert error_text(page).startswith("run.trec: names 'z.jpg#2' as a query")
    two = SimpleUploadedFile("two.trec", b"a.jpg Q0 a.jpg#2 1 2 one\na.jpg Q0 b.jpg#2 2 1 two\n")
    assert error_text(upload_system(ada, "import_run", file=two)).startswith(
        "two.trec, line 2: has the tag 'two', and line 1 has 'one'; expected one run"
    )
    assert not Run.objects.exists() and not System.objects.exists()
    good: dict[str, Any] = {"file": little.trec("a.jpg a.jpg#2 1", "b.jpg a.jpg#2 0.5"), "system": "theirs"}
    added = messages_on(upload_system(ada, "import_run", **good))
    sheet = "queries: 2 found, 2 taken · captions: 1 found, 1 taken · pairs: 2 found, 2 taken"
    assert added == [sheet, "Run “clip” was added."]
    (line,) = AuditEntry.objects.filter(act="add_run")
    assert (line.actor_name, line.about["run"]) == ("ada", "clip")
    good["file"].seek(0)
    assert messages_on(upload_system(ada, "import_run", **good)) == [
        sheet,
        "“clip” of this file already exists: nothing has changed.",
    ]
    assert set(System.objects.get().runs.values_list("name", "source")) == {("clip", "run.trec")}
    page = ada.get("/evaluation/systems/theirs/")
    assert "Rank" not in [button for form in forms(page) for button in form.buttons]


def test_files_of_long_names_are_taken_with_their_ids_beside_them(ada):
    long = 200 * "ü"
    embeddings = little.embeddings(f"{long}.npz")
    with np.load(embeddings) as held:
        out = BytesIO()
        np.savez(out, **{key: held[key] for key in held if key != "image_ids"})
    ids = SimpleUploadedFile(f"{long}.image_ids.txt", "\n".join(little.PICTURES).encode())
    page = upload_system(ada, file=SimpleUploadedFile(f"{long}.npz", out.getvalue()), ids=[ids])
    assert messages_on(page) == [
        f"{TAKEN} · files: 1 found, 1 taken · arrays: 3 found, 3 taken",
        "System “clip” was added.",
    ]
    (source,) = System.objects.get().sources
    assert source.endswith("ü.npz") and len(source.encode()) <= sent_files.LONGEST_NAME


def test_what_somebody_else_has_just_taken_away_is_not_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "iterdir", lambda folder: iter([folder / "gone"]))
    sent_files.remove_old_uploads(tmp_path)


def test_what_is_too_large_for_a_page_is_refused(ada, monkeypatch):
    monkeypatch.setattr(sent_files, "LARGEST_FORM", 100)
    assert error_text(upload_system(ada, file=little.embeddings())).startswith("The files have ")


def test_an_archive_that_swells_is_not_unpacked(ada, monkeypatch, data_dir: Path):
    monkeypatch.setitem(vars(ARRAYS_UPLOAD), "most", 1000)
    page = upload_system(ada, file=little.embeddings(images=np.zeros((3, 10_000))))
    assert error_text(page).startswith("This unpacks to 23")
    assert not list((data_dir / "uploads").glob("*"))


def test_a_training_is_asked_for_once_and_may_be_cancelled(ada, data_dir: Path):
    background = data_dir / "sources" / "background"
    background.mkdir(parents=True)
    (background / "news.txt").write_text("A dog runs .\n")
    ask = {"name": "tri", "recipe": "TRI5-BNC", "train": "test", "held_out": "dev", "background": "news.txt"}
    page = press(ada, "/evaluation/train/", "Train", **ask)
    assert "Training the system." in messages_on(page)[0]
    press(ada, "/evaluation/train/", "Train", **ask)
    job = Job.objects.get()
    assert (job.kind, job.arguments["background"]) == ("train_system", ["news.txt"])
    page = press(ada, "/evaluation/", "Cancel")
    assert "Train a system tri cancelled" in words(page)
    page = press(ada, "/evaluation/", "Resume")
    assert messages_on(page) == ["Job resumed from where it stopped."]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": "a b"}, "This is no valid name"),
        ({"recipe": "/etc/passwd.toml"}, "There is no file “/etc/passwd.toml” here"),
        ({"train": "/etc/passwd"}, "There is no split “/etc/passwd” here"),
        ({"fold": "7"}, "Expected a fold such as 1/5."),
        ({"background": "../../x"}, "There is no file “../../x” here"),
        ({"seed": "-1"}, "Expected 0 or more."),
        ({"corpus": "nowhere"}, "There is no corpus “nowhere” here"),
    ],
)
def test_a_form_cannot_ask_for_what_its_page_does_not_offer(ada, change, says):
    form = {"name": "tri", "recipe": "TRI5", "corpus": "small", "train": "test", "held_out": "dev"}
    assert error_text(ada.post("/evaluation/train/", {**form, **change})).startswith(says)
    assert not Job.objects.exists()


@pytest.fixture
def files(data_dir: Path) -> Path:
    """A background text, vectors, and uploaded recipes: one of vectors, one that is not valid TOML."""
    for name, text in (
        ("background/news.txt", "A dog runs .\n"),
        ("features/deep.npz", ""),
        ("recipes/deep.toml", 'extends = "BoW5"\n[image]\nkernel = "linear"\n'),
        ("recipes/torn.toml", "extends = "),
    ):
        file = data_dir / "sources" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return data_dir / "sources"


@pytest.mark.parametrize(
    ("requested", "says"),
    [
        ({"recipe": "TRI5-BNC"}, "Recipe TRI5-BNC needs this."),
        (
            {"recipe": "deep.toml"},
            "Recipe deep needs this.",
        ),
        (
            {"recipe": "BoW5", "features": "deep.npz"},
            "Recipe BoW5 does not use this.",
        ),
        ({"recipe": "torn.toml"}, "recipe file"),
    ],
)
def test_files_that_a_recipe_needs_are_asked_for_before_the_training(ada, files, requested, says):
    form = {"name": "tri", "corpus": "small", "train": "test", "held_out": "dev"}
    page = ada.post("/evaluation/train/", {**form, **requested})
    assert error_text(page).startswith(says)
    assert f'<option value="{requested["recipe"]}" selected>' in page.content.decode()
    assert not Job.objects.exists()


def test_recipes_that_can_be_trained_come_first_and_others_say_what_they_lack(ada, files):
    page = ada.get("/evaluation/train/")
    groups = dict(page.context["form"].fields["recipe"].widget.choices)
    own = [title for _name, title in groups["Your recipes"]]
    assert own == [
        "deep.toml – KCCA; text: bag-of-words of 5 captions; image: linear",
        "torn.toml – cannot be read",
    ]
    papers = list(groups)
    assert papers.index("Gong et al. 2014") < papers.index("Hodosh et al. 2013"), "vectors, and no pictures"
    titles = dict(groups["Hodosh et al. 2013"])
    assert titles["BoW5"].startswith("BoW5 – lacks pictures; KCCA")
    gong = [title for _name, title in groups["Gong et al. 2014"]]
    lacking = [" – lacks " in title for title in gong]
    assert lacking == sorted(lacking) and not lacking[0] and "lacks a weak collection" in " ".join(gong)
    for file in ("background/news.txt", "features/deep.npz"):
        (files / file).unlink()
    groups = dict(ada.get("/evaluation/train/").context["form"].fields["recipe"].widget.choices)
    assert dict(groups["Your recipes"])["deep.toml"].startswith("deep.toml – lacks vectors of images; KCCA")
    titles = dict(groups["Hodosh et al. 2013"])
    assert titles["TRI5-BNC"].startswith("TRI5-BNC – lacks pictures, a background text; KCCA")


def test_a_recipe_of_files_on_the_server_is_trained_by_page(ada, files):
    ask = {"name": "own", "recipe": "deep.toml", "train": "test", "held_out": "dev", "features": "deep.npz"}
    press(ada, "/evaluation/train/", "Train", **ask)
    assert Job.objects.get().arguments["features"].endswith("deep.npz")


def test_a_name_that_is_taken_is_not_trained_again(ada):
    upload_system(ada, file=little.embeddings())
    form = {"name": "clip", "recipe": "TRI5", "corpus": "small", "train": "test", "held_out": "dev"}
    assert error_text(ada.post("/evaluation/train/", form)) == ("“clip” exists already: choose another name.")


def test_a_split_is_not_a_path(ada):
    upload_system(ada, file=little.embeddings())
    for field in ("split", "features"):
        page = ada.post("/operations/rank/", {"system": "clip", field: "/etc/passwd"})
        assert page.status_code == 400 and "“/etc/passwd” here" in page.content.decode(), field
    assert not Job.objects.exists()
