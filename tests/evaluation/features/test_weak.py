"""Weak collections: imported in blocks, described by features, used for training; never annotated."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError

from annotation.models import Corpus, Job
from evaluation.models import System
from evaluation.services.common import InputError
from evaluation.services.weak import collections
from evaluation.services.weak.collections import import_collection, weak_collection, weak_collections
from phrasebox.registry import UnknownName
from phrasebox.text_files import FormatError
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.conftest import IMAGES
from tests.models_core.systems.worlds import examples, vectors
from tests.web import world
from tests.web.staff import messages_on, press

pytestmark = pytest.mark.django_db
ROWS = [
    {"id": f"w{n}", "title": " ".join(e.captions[0].split()[:4]), "tags": "dog beach", "index": str(n)}
    for n, e in enumerate(examples(IMAGES))
]


def as_csv(folder: Path, rows=ROWS) -> Path:
    with (folder / "w.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
    return folder / "w.csv"


def as_parquet(folder: Path, rows=ROWS) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), folder / "w.parquet", row_group_size=7)
    return folder / "w.parquet"


def test_csv_and_parquet_give_the_same_collection_in_any_blocks(tmp_path, data_dir, monkeypatch):
    result, new = import_collection("flickr1m", as_csv(tmp_path))
    assert new and (result.rows, result.kinds) == (IMAGES, ("title", "tags"))
    assert result.ids() == [row["id"] for row in ROWS]
    assert list(result.texts()) == [f"{row['title']} {row['tags']}" for row in ROWS]
    assert list(result.texts(["tags"])) == ["dog beach"] * IMAGES
    with pytest.raises(UnknownName, match="has no texts of kind 'description'; it has title, tags"):
        list(result.texts(["description"]))
    monkeypatch.setattr(collections, "COLLECTION_BLOCK_ROWS", 11)
    again, new = import_collection("flickr1m", as_parquet(tmp_path))
    assert not new and again == result == weak_collection("flickr1m")
    assert not Corpus.objects.exists()
    with pytest.raises(InputError, match="'flickr1m' already exists with other rows"):
        import_collection("flickr1m", as_csv(tmp_path, ROWS[:5]))
    assert [path.name for path in (data_dir / "collections").iterdir()] == ["flickr1m"]


def test_missing_texts_are_empty_and_lines_may_break_within_one(tmp_path, data_dir):
    rows = [{"id": "a", "title": 'a "b"\nc, d', "tags": ""}, {"id": "b", "title": "", "tags": ""}]
    result, _ = import_collection("small", as_csv(tmp_path, rows))
    assert list(result.texts()) == ['a "b"\nc, d', ""]
    table = [{"id": "a", "title": None}, {"id": "b", "title": "x"}]
    result, _ = import_collection("other", as_parquet(tmp_path, table))
    assert list(result.texts()) == ["", "x"]


def test_lists_of_a_parquet_file_are_their_words_and_an_id_may_be_0(tmp_path, data_dir):
    rows = [{"id": 0, "tags": ["dog", "red car"]}, {"id": 1, "tags": None}, {"id": 2, "tags": []}]
    result, _ = import_collection("lists", as_parquet(tmp_path, rows))
    assert result.ids() == ["0", "1", "2"]
    assert pq.read_table(result.folder / "texts.parquet")["tags"].to_pylist() == ["dog red car", "", ""]


@pytest.mark.parametrize(
    ("rows", "error", "says"),
    [
        (
            [{"id": "a", "title": "x"}, {"id": "a", "title": "y"}],
            InputError,
            "row 2: the id 'a' comes",
        ),
        ([{"id": "", "title": "x"}], InputError, "row 1: the id is empty"),
        (
            [{"name": "a", "title": "x"}],
            FormatError,
            "has the columns 'name, title'; expected id, and",
        ),
        ([{"id": "a", "caption": "x"}], FormatError, "has the columns 'id, caption'"),
    ],
)
@pytest.mark.parametrize("write", [as_csv, as_parquet])
def test_what_is_wrong_is_named_and_leaves_nothing(tmp_path, data_dir, rows, error, says, write):
    with pytest.raises(error, match=says):
        import_collection("flickr1m", write(tmp_path, rows))
    assert weak_collections() == [] and not list((data_dir / "collections").iterdir())


def test_a_corpus_keeps_its_name_and_damaged_files_are_told(corpus, tmp_path):
    with pytest.raises(CommandError, match="'world' is the name of a corpus"):
        output_of("import_weak_collection", corpus, as_csv(tmp_path))
    with pytest.raises(CommandError, match="no such file"):
        output_of("import_weak_collection", "flickr1m", tmp_path / "none.csv")
    file = as_parquet(tmp_path)
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(CommandError, match=r"w.parquet: cannot be read"):
        output_of("import_weak_collection", "flickr1m", file)
    (tmp_path / "w.csv").write_text("id,title\na,x,y\n")
    with pytest.raises(CommandError, match=r"w.csv: cannot be read"):
        output_of("import_weak_collection", "flickr1m", tmp_path / "w.csv")


@pytest.fixture
def described(corpus: str, features: Path, tmp_path: Path) -> str:
    """Add features to the corpus, and a weak collection with features of the same name in another order."""
    output_of("import_features", corpus, features, "--name", "cnn")
    output_of("import_weak_collection", "flickr1m", as_csv(tmp_path))
    order = np.random.default_rng(0).permutation(IMAGES)
    np.savez(
        tmp_path / "weak.npz", vectors=vectors(IMAGES)[order], ids=np.array([ROWS[n]["id"] for n in order])
    )
    output_of("import_features", "flickr1m", tmp_path / "weak.npz", "--name", "cnn")
    return corpus


def test_a_system_learns_from_both_and_says_so(described, tmp_path):
    recipe = tmp_path / "sae.toml"
    recipe.write_text('extends = "SAE"\n[settings]\nfeatures = 40\nridges = [0.1, 1.0]\npowers = [1.0]\n')
    ask = ("--corpus", described, "--features", "cnn", "--weak", "flickr1m/title")
    output_of("train_system", "sae", "--recipe", recipe, *ask)
    metadata = System.objects.get().settings["weak"]
    assert (metadata["collection"], metadata["texts"], metadata["features"]) == (
        "flickr1m",
        ["title"],
        "cnn:1",
    )
    assert metadata["pairs"] == IMAGES
    output_of("rank", "sae", "--split", "test")
    output_of("freeze_qrels", "pool", "--corpus", described, "--protocol", "one caption", "--split", "test")
    scored = json.loads(output_of("score_run", "sae-search", "--qrels", "pool", "--json"))
    assert {measure["measure"]: measure["value"] for measure in scored["measures"]}["R@5"] > 0.7
    with pytest.raises(CommandError, match="'sae' already exists with a different recipe or other images"):
        output_of("train_system", "sae", "--recipe", recipe, *ask[:-1], "flickr1m")


@pytest.mark.parametrize(
    ("recipe", "more", "says"),
    [
        ("SAE", [], "--weak: Recipe SAE needs this."),
        ("nCCA", ["flickr1m"], "--weak: Recipe nCCA does not use this."),
        ("SAE", ["none"], "--weak: There is no weak collection “none” here; known: flickr1m."),
        ("SAE", ["flickr1m/captions"], "has no texts of kind 'captions'"),
    ],
)
def test_what_a_recipe_lacks_or_cannot_use_is_told_before_anything_is_read(described, recipe, more, says):
    ask = ("--corpus", described, "--features", "cnn", *(["--weak", *more] if more else []))
    with pytest.raises(CommandError, match=says):
        output_of("train_system", "mine", "--recipe", recipe, *ask)


def test_weak_pairs_of_images_that_are_no_training_images_are_refused(corpus, features, tmp_path):
    output_of("import_features", corpus, features, "--name", "cnn")
    for name, last in (("own", 36), ("every", 40)):
        rows = [{**row, "id": f"image{n:02}"} for n, row in enumerate(ROWS[:last])]
        (tmp_path / name).mkdir()
        output_of("import_weak_collection", name, as_csv(tmp_path / name, rows))
        np.savez(tmp_path / "weak.npz", vectors=vectors(last), ids=np.array([row["id"] for row in rows]))
        output_of("import_features", name, tmp_path / "weak.npz", "--name", "cnn")
    ask = ("--corpus", corpus, "--features", "cnn", "--recipe", "Weak-only", "--weak")
    output_of("train_system", "trained", *ask, "own")
    with pytest.raises(CommandError, match="'every' has 4 images of corpus 'world' that are .*'image36.png'"):
        output_of("train_system", "mine", *ask, "every")
    assert not System.objects.filter(name="mine").exists()


def test_both_need_features_of_one_name(described, features):
    ask = ("--corpus", described, "--recipe", "SAE", "--weak", "flickr1m")
    with pytest.raises(CommandError, match="--features: Expected a feature set that collection flickr1m"):
        output_of("train_system", "mine", *ask, "--features", features)
    output_of("import_features", described, features, "--name", "other")
    with pytest.raises(CommandError, match="--features: Expected a feature set that collection flickr1m"):
        output_of("train_system", "mine", *ask, "--features", "other")


def test_collections_are_listed_and_removed(described):
    (listed,) = json.loads(output_of("list_weak_collections", "--json"))["results"]
    assert (listed["name"], listed["kinds"], listed["features"]) == ("flickr1m", ["title", "tags"], ["cnn:1"])
    assert "cnn:1" in output_of("list_features", "--corpus", "flickr1m")
    output_of("remove_weak_collection", "flickr1m")
    assert output_of("list_weak_collections") == "none\n"


def test_the_page_offers_collections_and_asks_for_what_a_recipe_needs(described, features):
    ada = world.signed_in("ada", "researcher")
    page = ada.get("/evaluation/train/").content.decode()
    assert '<option value="flickr1m">flickr1m</option>' in page
    assert "SAE-phrases – lacks regions, a layer, word vectors" in page
    form = {"name": "sae", "recipe": "SAE", "corpus": described, "train": "train", "held_out": "val"}
    text = ada.post("/evaluation/train/", {**form, "features": "cnn:1"}).content.decode()
    assert "Recipe SAE needs this." in text
    output_of("import_features", described, features, "--name", "other")
    form |= {"features": "other:1", "weak": "flickr1m"}
    text = ada.post("/evaluation/train/", form).content.decode()
    assert "Expected a feature set that collection flickr1m has too: cnn." in text
    assert not Job.objects.exists()
    done = press(
        ada, "/evaluation/train/", "Train", name="sae", recipe="SAE", features="cnn:1", weak="flickr1m"
    )
    assert "Training the system." in messages_on(done)[0]
    assert Job.objects.get().arguments["weak"] == "flickr1m"
