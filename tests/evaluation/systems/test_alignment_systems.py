"""Alignments of regions and words as systems: trained by command, job and page, stopped, ranked, refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError
from django.urls import reverse
from django.utils import translation

from annotation import jobs
from annotation.common.operations import OperationContext
from annotation.models import Job
from evaluation.models import System
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.systems import registry, training
from evaluation.services.systems.listing import LearnedEpoch, learning_curve
from evaluation.services.systems.training import Trained, system_folder
from evaluation.services.systems.training_requests import TrainingRequest, checked_training
from evaluation.web.systems.learning_curves import CurvePlot
from models_core import checkpoints, storage
from models_core.phase_cache import PhaseProgress, no_progress
from models_core.processes import Processes
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.conftest import IMAGES
from tests.models_core.systems.worlds import examples, vectors
from tests.web import world
from tests.web.staff import press

pytest.importorskip("torch", exc_type=ImportError)
pytestmark = pytest.mark.django_db
NAMES = [example.name for example in examples(IMAGES)]
SMALL = """
extends = "BRNN"
[text]
least_count = 2
[settings]
size = 24
word_size = 12
rates = [0.002, 0.004]
grid_steps = 0
trial_epochs = 1
epochs = 4
batch = 30
dropout = 0.2
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path / "small.toml"


def stored(folder: Path, corpus: str, name: str, rows: np.ndarray, ids: list[str], kind: str) -> str:
    arrays = {"vectors": rows.astype(np.float32), "ids": np.array(ids)}
    if kind == "region":
        arrays["boxes"] = np.tile([[1, 1, 4, 4]], (len(ids), 1))
    np.savez(folder / f"{name}.npz", **arrays)  # type: ignore[arg-type]
    features = import_features(
        FeatureImport(corpus=corpus, name=name, path=folder / f"{name}.npz", kind=kind)  # type: ignore[arg-type]
    )
    return features.set.label


@pytest.fixture
def regions(corpus: str, tmp_path: Path) -> str:
    """Make regions: one of each image shows its scene, one to three others are noise."""
    rng, scenes = np.random.default_rng(2), vectors(IMAGES)
    rows, ids = [], []
    for index, name in enumerate(NAMES):
        others = rng.standard_normal((int(rng.integers(1, 4)), 8)) / 2
        rows += [*others, scenes[index]]
        ids += [name] * (len(others) + 1)
    return stored(tmp_path, corpus, "boxes", np.array(rows), ids, "region")


def test_it_is_trained_and_ranks_by_regions_or_by_whole_images(corpus, regions, recipe, tmp_path):
    whole = stored(tmp_path, corpus, "cnn", vectors(IMAGES), NAMES, "image")
    output_of("freeze_qrels", "pool", "--corpus", corpus, "--protocol", "one caption", "--split", "test")
    for name, ask in (("parts", ("--regions", "boxes")), ("pictures", ("--features", "cnn"))):
        train = ("--recipe", recipe, "--corpus", corpus, *ask)
        trained = json.loads(output_of("train_system", name, *train, "--json"))
        assert (trained["training"], trained["held_out"], trained["unchanged"]) == (36, 12, False)
        assert json.loads(output_of("train_system", name, *train, "--json"))["unchanged"]
        output_of("rank", name, "--split", "test")
        for direction in ("annotation", "search"):
            scored = json.loads(output_of("score_run", f"{name}-{direction}", "--qrels", "pool", "--json"))
            values = {measure["measure"]: measure["value"] for measure in scored["measures"]}
            # By chance 5 of 12; a scene has two or three of the images.
            assert values["R@5"] >= 0.75, (name, direction)
    assert System.objects.get(name="parts").settings["regions"] == regions
    with pytest.raises(CommandError, match=f"feature set '{regions}' is used by parts"):
        output_of("remove_features", corpus, regions)
    with pytest.raises(CommandError, match=f"feature set '{whole}' is used by pictures"):
        output_of("remove_features", corpus, whole)
    assert not (system_folder("parts").parent / ".training-parts").exists()


def test_a_training_that_was_stopped_ends_as_one_that_was_not(corpus, regions, recipe, monkeypatch):
    """Stopped between two batches and again in the next epoch, with checkpoints in between."""
    monkeypatch.setattr(checkpoints, "SECONDS_BETWEEN", 0.0)

    def train(name: str, progress: PhaseProgress) -> Trained:
        request = TrainingRequest(name=name, recipe=str(recipe), corpus=corpus, regions=regions, seed=4)
        requested = checked_training(request, OperationContext(by_path=True))
        return training._train(requested, Processes(), registry.BY_COMMAND, progress)

    whole = train("whole", no_progress)
    seen: list[tuple[str, int, int]] = []

    def stop(phase: str, done: int, total: int) -> None:
        seen.append((phase, done, total))
        if phase == "learning" and done in (8, 14) and seen.count((phase, done, total)) == 1:
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            train("stopped", stop)
        assert not system_folder("stopped").exists()
    learned = [done for phase, done, _ in seen if phase == "learning"]
    result = train("stopped", stop)
    more = [done for phase, done, _ in seen if phase == "learning"][len(learned) :]
    assert min(more) >= 14, "it went on where it was stopped"
    assert result.sha256 == whole.sha256


def test_a_full_disk_leaves_no_system_and_the_checkpoint_before(corpus, regions, recipe, monkeypatch):
    """The checkpoint of the second epoch cannot be written; then there is room again."""
    ask = ("train_system", "mine", "--recipe", recipe, "--corpus", corpus, "--regions", "boxes", "--json")
    whole = json.loads(output_of("train_system", "whole", *ask[2:]))
    saves: list[Any] = []

    def fill(*arguments: Any, **more: Any) -> None:
        saves.append(arguments)
        if len(saves) == 4:
            raise storage.SafetensorError("No space left on device (os error 28)")
        save_model(*arguments, **more)

    save_model = storage.save_model
    monkeypatch.setattr(storage, "save_model", fill)
    with pytest.raises(CommandError, match=r"no checkpoint could be written \(No space left on device"):
        output_of(*ask)
    assert not System.objects.filter(name="mine").exists() and not system_folder("mine").exists()
    assert [epoch.epoch for epoch in learning_curve("mine").epochs] == [1]
    monkeypatch.undo()
    assert json.loads(output_of(*ask))["sha256"] == whole["sha256"]


def test_it_begins_with_word_vectors(corpus, regions, recipe, tmp_path):
    words = sorted({w for e in examples(IMAGES) for c in e.captions for w in c.lower().split() if w != "."})
    provided = np.random.default_rng(0).standard_normal((len(words), 6))
    stored(tmp_path, corpus, "own", provided, words, "word")
    output_of(
        *("train_system", "begun", "--recipe", recipe, "--corpus", corpus),
        *("--regions", "boxes", "--words", "own"),
    )
    assert System.objects.get(name="begun").settings["words"] == "own:1"
    with pytest.raises(CommandError, match="feature set 'own:1' is used by begun"):
        output_of("remove_features", corpus, "own:1")


def test_it_is_trained_by_page(corpus, regions, recipe, data_dir):
    (data_dir / "sources" / "recipes").mkdir(parents=True)
    (data_dir / "sources" / "recipes" / "small.toml").write_text(SMALL)
    ada = world.signed_in("ada", "researcher")
    text = ada.get("/evaluation/train/").content.decode()
    assert f'<option value="{regions}">' in text and "lacks vectors of images" in text
    assert "lacks regions or vectors" not in text
    page, ask = "/evaluation/train/", {"name": "mine", "recipe": "small.toml", "corpus": corpus}
    response = press(ada, page, "Train", **ask)
    assert "Recipe small needs this." in response.content.decode()
    press(ada, page, "Train", **ask, regions=regions)
    job = Job.objects.get()
    drawn: list[str] = []

    def look_twice() -> bool:
        """Check the page after two epochs, and later; the training continues."""
        row = Job.objects.get(pk=job.pk)
        if row.phase == "learning" and len(drawn) < 2 and len(learning_curve("mine").epochs) >= 2:
            drawn.append(ada.get(reverse("evaluation:systems")).content.decode())
        return False

    assert jobs.run_queued_job(job.pk, stopping=look_twice) == Job.DONE, job.error
    assert drawn and all("Training of mine so far" in page and "<polyline" in page for page in drawn)
    curve = learning_curve("mine").epochs
    assert [item.epoch for item in curve] == [1, 2, 3, 4] and curve[-1].loss < curve[0].loss
    assert "Training of mine so far" not in ada.get(reverse("evaluation:systems")).content.decode()
    detail = ada.get("/evaluation/systems/mine/").content.decode()
    assert detail.count("<polyline") == 2 and f"{curve[0].loss:.4g}" in detail
    press(ada, "/evaluation/systems/mine/", "Rank", split="test")
    assert jobs.run_queued_job(Job.objects.latest("pk").pk) == Job.DONE


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "--regions: Recipe \\S+ needs this."),
        (("--regions", "nothing"), "unknown feature set 'nothing' of corpus 'world'; known: boxes:1"),
        (("--regions", "cnn"), "feature set 'cnn:1' is of images; give one of regions"),
        (("--features", "boxes"), "feature set 'boxes:1' is of regions; give one of images"),
        (
            ("--regions", "boxes", "--words", "boxes"),
            "feature set 'boxes:1' is of regions; give one of words",
        ),
        (("--regions", "boxes", "--features", "cnn"), "--features: This cannot be combined with regions."),
        (("--recipe", "nCCA", "--regions", "boxes"), "--regions: Recipe nCCA does not use this."),
        (
            ("--recipe", "nCCA", "--features", "cnn", "--words", "own"),
            "--words: Recipe nCCA does not use this.",
        ),
        (("--recipe", "RARE", "--regions", "boxes"), "no word stands 5000 times in the training captions"),
    ],
)
def test_what_cannot_be_trained_is_named(corpus, regions, recipe, tmp_path, options, says):
    stored(tmp_path, corpus, "cnn", vectors(IMAGES), NAMES, "image")
    stored(tmp_path, corpus, "own", np.ones((2, 3)), ["dog", "man"], "word")
    rare = tmp_path / "rare.toml"
    rare.write_text(SMALL.replace("least_count = 2", "least_count = 5000"))
    provided = [rare if option == "RARE" else option for option in options]
    chosen = provided if "--recipe" in provided else ["--recipe", recipe, *provided]
    with pytest.raises(CommandError, match=says):
        output_of("train_system", "mine", "--corpus", corpus, *chosen)
    assert not System.objects.exists()


def test_other_regions_are_refused_when_it_ranks(corpus, regions, recipe, tmp_path):
    output_of("train_system", "mine", "--recipe", recipe, "--corpus", corpus, "--regions", "boxes")
    stored(tmp_path, corpus, "wide", np.ones((IMAGES, 9)), NAMES, "region")
    with pytest.raises(CommandError, match="regions of 9 dimensions against 8; expected the same"):
        output_of("rank", "mine", "--split", "test", "--regions", "wide")
    with pytest.raises(CommandError, match="reads captions as words, not as lemmas"):
        output_of("cross_validate", corpus, "BRNN", "--regions", "wide")
    with pytest.raises(CommandError, match="regions: Recipe NN5-F1-idf does not use this."):
        output_of("cross_validate", corpus, "NN5-F1-idf", "--regions", "wide")


@pytest.mark.parametrize(("language", "loss", "figure"), [("en", "4.404", "23.4"), ("de", "4,404", "23,4")])
def test_numbers_of_a_curve_are_those_of_the_readers_language(language: str, loss: str, figure: str):
    curve = CurvePlot("own", True, False, [LearnedEpoch(1, 4.40442, 23.44), LearnedEpoch(2, 2.5, 40)], "", "")
    with translation.override(language):
        assert curve.rows[0] == (1, loss, figure)
        assert (curve.first_loss, curve.best_figure) == (loss, figure)
