"""Phrases found in pictures: learned, predicted, kept, written as files and read again, scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotation.models import Layer
from evaluation.models import LocalizationSet, PhraseLocalization
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.localizations.sets import mentions_of
from tests.evaluation.database.conftest import said
from tests.evaluation.systems.scenes import BOXES, THINGS

pytestmark = pytest.mark.django_db


@pytest.fixture
def grounded(scenes: str, tmp_path: Path) -> str:
    """A system that learned which phrase means which region; word vectors tell the things apart."""
    give_words(tmp_path)
    train("grounded")
    return "grounded"


def give_words(folder: Path) -> None:
    words = [*THINGS, "small", "near", "unseen"]
    vectors = np.random.default_rng(3).standard_normal((len(words), 8)).astype(np.float32)
    np.savez(folder / "words.npz", vectors=vectors, ids=np.array(words))
    import_features(FeatureImport(corpus="scenes", name="words", path=folder / "words.npz", kind="word"))


def train(name: str, *options: Any, recipe: str = "Region-phrase-CCA") -> None:
    said(
        *("train_system", name, "--recipe", recipe, "--corpus", "scenes", "--regions", "parts"),
        *("--words", "words", "--layer", layer_name(), *options),
    )


def layer_name() -> str:
    return Layer.objects.get().name


def localized(system: str, *options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said("localize", system, *options, "--json"))
    return found


def test_phrases_are_localized_kept_and_better_than_by_chance(grounded):
    made = localized(grounded)
    assert (made["images"], made["mentions"], made["unchanged"]) == (15, 60, False)
    assert made["phrases"] == 13, "six things, each also small, and what is near"
    assert made["unknown"] == 0
    assert localized(grounded)["unchanged"]
    kept = LocalizationSet.objects.get()
    assert PhraseLocalization.objects.count() == 60
    rows = list(mentions_of(kept))
    assert all(len(one.regions) == len(BOXES) for one in rows)
    assert all((np.diff(one.regions[:, 4]) <= 0).all() for one in rows)
