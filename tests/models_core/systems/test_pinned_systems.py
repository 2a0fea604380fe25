"""Stored systems give the same scores as when they were stored, and recipes have the same digests.

`pinned/` contains two trained systems, `scores.npz` their scores of twelve new images with captions, and
`digests.json` the digests of the thirty recipes.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from models_core.estimators.base import DIRECTIONS
from models_core.systems.recipe import of_dict
from models_core.systems.table11 import TABLE_11
from models_core.systems.trained_system import TrainedSystem
from tests.models_core.systems.worlds import material

PINNED = Path(__file__).with_name("pinned")


@pytest.mark.parametrize("name", ["BoW5", "NN5-F1-idf"])
def test_a_stored_system_scores_as_it_did(name: str, tmp_path: Path) -> None:
    expected = np.load(PINNED / "scores.npz")
    new = material(60).take(range(48, 60))
    system = TrainedSystem.load(PINNED / name)
    for direction in DIRECTIONS:
        result = system.score_pairs(new.features, new.single_captions(), direction=direction)
        np.testing.assert_allclose(result, expected[f"{name}.{direction}"], rtol=1e-9, atol=1e-9)
    system.save(tmp_path / "again")
    ours, theirs = (
        json.loads((folder / "manifest.json").read_text()) for folder in (tmp_path / "again", PINNED / name)
    )
    assert (ours["settings"], ours["sha256"]) == (theirs["settings"], theirs["sha256"])


def test_the_thirty_recipes_have_their_digests() -> None:
    digests = json.loads((PINNED / "digests.json").read_text())
    assert {name: recipe.digest for name, recipe in TABLE_11.items()} == digests


def test_a_recipe_is_read_from_its_stored_words() -> None:
    for name in ("BoW5", "NN5-F1-idf"):
        stored = json.loads((PINNED / name / "manifest.json").read_text())["settings"]["recipe"]
        assert of_dict(name, stored).as_dict() == stored
