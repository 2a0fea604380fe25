"""A corpus of a small world in the database, with features of its images in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from annotation.datasets.importing import import_records
from annotation.protocol.terms import CaptionRecord, ImageRecord
from tests import worlds
from tests.evaluation.systems.localizing import give_words, train
from tests.evaluation.systems.scenes import make_scenes
from tests.models_core.systems.worlds import examples, vectors

IMAGES = 60
SPLITS = ("train",) * 36 + ("val",) * 12 + ("test",) * 12


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings) -> Path:
    """A DATA_DIR for this test only."""
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR


@pytest.fixture
def corpus(db: None, data_dir: Path) -> str:
    records = [
        ImageRecord(
            id=example.name.removesuffix(".png"),
            filename=example.name,
            captions=tuple(CaptionRecord(caption) for caption in example.captions),
            split=split,
        )
        for example, split in zip(examples(IMAGES), SPLITS, strict=True)
    ]
    import_records(name="world", records=records, format="jsonl", source="memory")
    return "world"


@pytest.fixture
def features(tmp_path: Path) -> Path:
    file = tmp_path / "features.npy"
    np.save(file, vectors(IMAGES).astype(np.float32))
    ids = tmp_path / "features.ids.txt"
    ids.write_text("".join(f"{example.name}\n" for example in examples(IMAGES)))
    return file


@pytest.fixture
def own_recipe(tmp_path: Path) -> Path:
    """A recipe file that uses the feature file."""
    file = tmp_path / "own.toml"
    file.write_text('extends = "BoW5"\n[image]\nkernel = "linear"\npower = 1\n')
    return file


@pytest.fixture
def scenes(request: pytest.FixtureRequest, db: None, data_dir: Path, tmp_path: Path) -> str:
    if "grounded" in request.fixturenames:  # it makes them too
        request.getfixturevalue("grounded")
        return "scenes"
    return make_scenes(tmp_path)


@pytest.fixture
def grounded(db: None, data_dir: Path, tmp_path: Path) -> str:
    """A system that aligns phrases and regions; word vectors distinguish the things."""

    def build() -> str:
        make_scenes(tmp_path)
        give_words(tmp_path)
        train("grounded")
        return "grounded"

    return worlds.again("grounded", build, folder=tmp_path)
