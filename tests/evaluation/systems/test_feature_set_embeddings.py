"""Vectors of images and captions in one space, as feature sets: they rank without training, here and in other
corpora, like an upload of the same vectors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from django.core.cache import cache
from django.core.management import CommandError

from annotation import jobs
from annotation.datasets.importing import import_records
from annotation.models import Job
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.models import Run, System
from evaluation.services.features.importing import FeatureImport, import_features
from models_core.folds import make_folds
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.conftest import IMAGES
from tests.models_core.systems.worlds import examples, vectors
from tests.web import world
from tests.web.staff import press, words

NAMES = [example.name for example in examples(IMAGES)]
CAPTION_NAMES = [f"{name}#{number}" for name in NAMES for number in range(5)]
pytestmark = pytest.mark.django_db


def caption_vectors(*, seed: int = 7) -> np.ndarray:
    """Return a vector near its image for each caption."""
    noise = np.random.default_rng(seed).standard_normal((IMAGES * 5, 8))
    return np.repeat(vectors(IMAGES), 5, axis=0) + 0.4 * noise


def store_features(folder: Path, corpus: str, name: str, kind: str, ids: list[str], rows: np.ndarray) -> str:
    """Store the vectors as a set of the corpus."""
    np.savez(folder / f"{name}.npz", vectors=rows.astype(np.float32), ids=np.array(ids))
    file = folder / f"{name}.npz"
    return import_features(FeatureImport(corpus=corpus, name=name, path=file, kind=kind)).set.label  # type: ignore[arg-type]


@pytest.fixture
def sets(corpus: str, tmp_path: Path) -> tuple[str, str]:
    """Vectors of images and of captions, 8 numbers each."""
    images = store_features(tmp_path, corpus, "clip-images", "image", NAMES, vectors(IMAGES))
    return images, store_features(tmp_path, corpus, "clip-texts", "caption", CAPTION_NAMES, caption_vectors())


def trained(name: str, *more: object, recipe: str = "Embeddings") -> dict[str, object]:
    return json.loads(
        output_of(
            *("train_system", name, "--recipe", recipe, "--corpus", "world"),
            *("--features", "clip-images", "--text", "clip-texts", "--json", *more),
        )
    )


def scores_by_hand(similarity: str, places: list[int]) -> np.ndarray:
    """Return scores of images with the third caption of each, shape (images, captions)."""
    x = vectors(IMAGES).astype(np.float32)[places].astype(np.float64)
    y = caption_vectors().astype(np.float32)[2::5][places].astype(np.float64)
    if similarity == "cosine":
        x, y = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (x, y))
    if similarity == "euclidean":
        return -np.square(x[:, None] - y[None]).sum(axis=2) / 2
    return x @ y.T


def ranked(system: str, folder: Path, *more: object) -> dict[str, dict[str, float]]:
    """Return query -> the score of each item, in both directions."""
    output_of("rank", system, "--depth", "0", "--name", folder.name, *more)
    result: dict[str, dict[str, float]] = {}
    folder.mkdir()
    for direction in ("annotation", "search"):
        file = folder / direction
        output_of("export_run", f"{folder.name}-{direction}", "--out", file)
        for line in file.read_text().splitlines():
            query, _, item, _, score, _ = line.split()
            result.setdefault(query, {})[item] = float(score)
    return result


@pytest.mark.parametrize(
    ("recipe", "similarity"),
    [("Embeddings", "cosine"), ("Embeddings-dot", "dot"), ("Embeddings-distance", "euclidean")],
)
def test_they_rank_by_what_the_recipe_says(
    sets: tuple[str, str], tmp_path: Path, recipe: str, similarity: str
) -> None:
    system = trained("clip", recipe=recipe)
    assert (system["training"], system["excluded"]) == (36, 0)
    places = list(range(48, 60))
    expected = scores_by_hand(similarity, places)
    scores = ranked("clip", tmp_path / "runs", "--split", "test")
    for row, image in enumerate(places):
        for column, caption in enumerate(places):
            name, called = NAMES[image], f"{NAMES[caption]}#2"
            assert scores[name][called] == pytest.approx(expected[row, column], abs=1e-5)
            assert scores[called][name] == pytest.approx(expected[row, column], abs=1e-5)
    assert len(scores) == 24


def test_given_vectors_learn_nothing_from_the_images_that_they_are_checked_on(sets: tuple[str, str]) -> None:
    trained("clip")
    output = output_of("rank", "clip", "--split", "train")
    assert "Learned from none of these 36 images, and chose no settings on them." in output
    assert "Not known which images the features 'clip-texts:1' learned from." in output


def test_an_upload_of_the_same_vectors_ranks_the_same(sets: tuple[str, str], tmp_path: Path) -> None:
    trained("clip")
    np.savez(
        tmp_path / "both.npz",
        images=vectors(IMAGES).astype(np.float32),
        captions=caption_vectors().astype(np.float32),
        image_ids=np.array(NAMES),
        caption_ids=np.array(CAPTION_NAMES),
    )
    output_of("add_system", "uploaded", tmp_path / "both.npz", "--corpus", "world")
    ours, theirs = (
        ranked(name, tmp_path / f"runs-{name}", "--split", "test") for name in ("clip", "uploaded")
    )
    assert ours == theirs
    assert System.objects.get(name="clip").origin == "recipe"
    assert System.objects.get(name="uploaded").origin == "embeddings"


def test_images_and_captions_of_another_corpus_are_ranked_by_its_sets_of_the_same_names(
    sets: tuple[str, str], tmp_path: Path
) -> None:
    trained("clip")
    records = [
        ImageRecord(f"n{index}", f"n{index}.png", captions=tuple(CaptionRecord(f"dog {n}") for n in range(5)))
        for index in range(12)
    ]
    import_records(name="elsewhere", records=records, format="jsonl", source="memory")
    with pytest.raises(
        CommandError, match="unknown feature set 'clip-.*' of corpus 'elsewhere'; known: none"
    ):
        output_of("rank", "clip", "--corpus", "elsewhere")
    names = [f"n{index}.png" for index in range(12)]
    called = [f"{name}#{number}" for name in names for number in range(5)]
    x, y = vectors(IMAGES)[48:], caption_vectors()[240:]
    store_features(tmp_path, "elsewhere", "clip-images", "image", names, x)
    store_features(tmp_path, "elsewhere", "clip-texts", "caption", called, y)
    new = ranked("clip", tmp_path / "new", "--corpus", "elsewhere")
    values = ranked("clip", tmp_path / "own", "--split", "test")
    renamed = dict(zip(NAMES[48:], names, strict=True))

    def another(name: str) -> str:
        image, mark, number = name.partition("#")
        return renamed[image] + mark + number

    assert new == {
        another(query): {another(item): score for item, score in items.items()}
        for query, items in values.items()
    }
    store_features(tmp_path, "elsewhere", "turned", "caption", called, -y)
    provided = ("--features", "clip-images", "--text", "turned")
    turned = ranked("clip", tmp_path / "turned", "--corpus", "elsewhere", *provided)
    assert turned["n0.png"]["n0.png#2"] == pytest.approx(-new["n0.png"]["n0.png#2"])
    with pytest.raises(CommandError, match=r"give a feature set of the captions of corpus 'elsewhere' too"):
        output_of("rank", "clip", "--corpus", "elsewhere", "--features", "clip-images")
    # Existing runs are not attributed to other sets, nor to a newer version of the same ones.
    stored = ("rank", "clip", "--corpus", "elsewhere", "--name", "kept")
    output_of(*stored, *provided)
    assert "with features clip-images, text turned" in Run.objects.get(name="kept-annotation").source
    with pytest.raises(CommandError, match="'kept-annotation' already exists with other rankings"):
        output_of(*stored)
    assert "already exists, nothing changed" in output_of(*stored, *provided)
    output_of(*stored[:-1], "usual")
    store_features(tmp_path, "elsewhere", "clip-texts", "caption", called, -y)
    with pytest.raises(CommandError, match="'usual-annotation' already exists with other rankings"):
        output_of(*stored[:-1], "usual")


def test_no_image_need_be_held_out_where_nothing_is_selected(sets: tuple[str, str], own_recipe: Path) -> None:
    system = trained("clip", "--train", "test", "--held-out", "none")
    assert (system["training"], system["held_out"]) == (12, 0)
    with pytest.raises(CommandError, match="--held-out: Recipe nCCA needs this."):
        output_of(
            *("train_system", "a", "--recipe", "nCCA", "--corpus", "world"),
            *("--features", "clip-images", "--held-out", "none"),
        )


@pytest.mark.parametrize("recipe", ["VSE++-given", "InfoNCE-given"])
def test_heads_learn_on_given_vectors_and_say_from_which_images(
    sets: tuple[str, str], tmp_path: Path, recipe: str
) -> None:
    """The sets need not be of one space: here captions have five numbers, images eight."""
    pytest.importorskip("torch", exc_type=ImportError)
    store_features(tmp_path, "world", "narrow", "caption", CAPTION_NAMES, caption_vectors()[:, :5])
    changes = ("settings.rates=[0.01]", "settings.size=8", "settings.batch=24", "settings.hidden=6")
    system = trained("heads", "--text", "narrow", "--changes", *changes, recipe=recipe)
    assert system["training"] == 36
    scores = ranked("heads", tmp_path / "runs", "--split", "test")
    places = [
        sum(score >= of[f"{query}#2"] for score in of.values())
        for query, of in scores.items()
        if "#" not in query
    ]
    assert len(places) == 12 and np.mean(places) < 4, "6.5 is by chance"
    output = output_of("rank", "heads", "--split", "train")
    assert "Learned from 36 of these 36 images" in output


def test_what_does_not_fit_is_named(sets: tuple[str, str], tmp_path: Path, own_recipe: Path) -> None:
    with pytest.raises(CommandError, match="--text: Recipe Embeddings needs this."):
        output_of(
            "train_system", "a", "--recipe", "Embeddings", "--corpus", "world", "--features", "clip-images"
        )
    with pytest.raises(CommandError, match="--text: Recipe own does not use this."):
        trained("a", recipe=str(own_recipe))
    with pytest.raises(CommandError, match="feature set 'clip-images:1' is of images; give one of captions"):
        trained("a", "--text", "clip-images")
    store_features(tmp_path, "world", "narrow", "caption", CAPTION_NAMES, caption_vectors()[:, :5])
    with pytest.raises(
        CommandError, match="images have vectors of 8 numbers, captions of 5; expected those of one space"
    ):
        trained("a", "--text", "narrow")
    assert not System.objects.exists()
    some = CAPTION_NAMES[1:]  # the first image lacks one
    store_features(tmp_path, "world", "some", "caption", some, caption_vectors()[1:])
    assert trained("part", "--text", "some")["excluded"] == 1
    with pytest.raises(CommandError, match="feature set 'some:1' is used by part; remove the systems first"):
        output_of("remove_features", "world", "some")


def test_a_job_and_the_pages_do_the_same(sets: tuple[str, str], data_dir: Path) -> None:
    cache.clear()
    ada = world.signed_in("ada", "researcher")
    page = ada.get("/evaluation/train/").content.decode()
    assert '<option value="Embeddings-dot">' in page and "lacks vectors of captions" not in page
    provided = {"name": "clip", "recipe": "Embeddings", "features": sets[0]}
    response = press(ada, "/evaluation/train/", "Train", **provided)
    assert "Recipe Embeddings needs this." in words(response)
    press(ada, "/evaluation/train/", "Train", **provided, text=sets[1])
    assert jobs.run_queued_job(Job.objects.get().pk) == Job.DONE
    page_text = words(ada.get("/evaluation/systems/clip/"))
    assert "clip-texts:1" in page_text and "recipe.settings.similarity cosine" in page_text
    press(ada, "/evaluation/systems/clip/", "Rank", split="test")
    assert jobs.run_queued_job(Job.objects.latest("pk").pk) == Job.DONE
    assert Run.objects.filter(name__startswith="clip-").count() == 2


def test_given_embeddings_are_cross_validated_beside_recipes(sets: tuple[str, str]) -> None:
    report = json.loads(
        output_of(
            *("cross_validate", "world", "Embeddings", "NN5-F1", "--folds", 3),
            *("--features", "clip-images", "--text", "clip-texts", "--resamples", 20, "--json"),
        )
    )["report"]
    figures = {system["system"]: system["figures"]["search"]["R@1"]["value"] for system in report["systems"]}
    # Every image is ranked among those of its fold, whichever the fold: given vectors are not trained.
    hits = 0
    for fold in make_folds(IMAGES, 3, seed=0):
        scores = scores_by_hand("cosine", fold.tolist())
        hits += int((scores.argmax(axis=0) == np.arange(len(fold))).sum())
    assert figures["Embeddings"] == pytest.approx(hits / IMAGES)
    assert report["images"] == IMAGES and set(figures) == {"Embeddings", "NN5-F1"}
