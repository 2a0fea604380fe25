"""Data of whole rounds: a painted corpus with features, a truth for judgments, workers of both deliveries."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from annotation.datasets.importing import import_records
from annotation.protocol.terms import ImageRecord
from config.sample import sample_records
from tests.factories import put_on_server
from tests.jobs.conftest import broker, installation
from tests.models_core.features.image.networks import colours

__all__ = ["broker", "installation"]

CORPUS = "painted"
#: A corpus of few and small pictures, whose features take little time.
SMALL = "small"
IMAGES = 72
#: A third of the images is ranked, a third is for training, a third for control items.
SPLITS = ("test", "train", "val")
#: Number of the caption that protocols rank.
CAPTION_NUMBER = 2
RANKED = f"#{CAPTION_NUMBER}"
#: Words that do not describe a picture.
EMPTY = frozenset(
    "a an and are at be by for from his her in is its of on one or the their there to up with".split()
)


@dataclass(frozen=True)
class World:
    """The imported records, and files about them. `truth` is by image and caption's image."""

    records: tuple[ImageRecord, ...]
    judged_images: tuple[str, ...]
    truth: NDArray[np.bool_]
    votes: dict[tuple[str, str], tuple[int, ...]]
    features: Path
    ids: Path
    judgments: Path
    network: Path


@pytest.fixture(scope="session")
def painted(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Pictures, their features, and recorded votes on each pair of test image and ranked caption."""
    folder = tmp_path_factory.mktemp("painted")
    created = sample_records(IMAGES, seed=3, out=folder / "images")
    records = tuple(replace(record, split=SPLITS[n % 3]) for n, record in enumerate(created))
    features, ids, judgments = folder / "features.npy", folder / "ids.txt", folder / "truth.csv"
    np.save(features, np.stack([_described(record) for record in records]))
    ids.write_text("".join(f"{record.filename}\n" for record in records))
    filenames = tuple(record.filename for record in records if record.split == "test")
    truth = _truth([record for record in records if record.split == "test"])
    rng = Random(3)
    votes = {
        (image, caption): _votes(bool(truth[i, j]), rng)
        for i, image in enumerate(filenames)
        for j, caption in enumerate(filenames)
    }
    with judgments.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["image", "caption", "yes", "no"])
        rows.writerows(
            [image, f"{caption}{RANKED}", sum(vote), len(vote) - sum(vote)]
            for (image, caption), vote in votes.items()
        )
    network = colours(folder / "network.onnx")
    return World(records, filenames, truth, votes, features, ids, judgments, network)


@pytest.fixture
def data_dir(tmp_path: Path, settings) -> Path:
    """The DATA_DIR of this test and of its workers."""
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR


@pytest.fixture
def world(transactional_db: None, data_dir: Path, painted: World) -> World:
    """The painted corpus in the database."""
    import_records(name=CORPUS, records=painted.records, format="jsonl", source="painted")
    few = [
        replace(record, picture=_shrunk(record), width=100, height=100, layer=None)
        for record in painted.records[:4]
    ]
    import_records(name=SMALL, records=few, format="jsonl", source="painted")
    return painted


def _described(record: ImageRecord) -> NDArray[np.float32]:
    """Return a picture's coarse colours."""
    assert record.picture is not None
    with Image.open(record.picture) as picture:
        small = picture.convert("RGB").resize((6, 6))
    return (np.asarray(small).ravel() / 255).astype(np.float32)


def _shrunk(record: ImageRecord) -> Path:
    """Return the picture in 100 by 100 pixels."""
    assert record.picture is not None
    file = record.picture.with_suffix(".png")
    with Image.open(record.picture) as picture:
        picture.resize((100, 100)).save(file)
    return file


def _truth(records: list[ImageRecord]) -> NDArray[np.bool_]:
    """Return the truth: a ranked caption fits an image whose captions have half of its words, and its own."""
    reported = [{w for caption in record.captions for w in _words(caption.text)} for record in records]
    ranked = [_words(record.captions[CAPTION_NUMBER].text) for record in records]
    fits = np.array([[2 * len(words & value) >= len(words) for words in ranked] for value in reported])
    return fits | np.eye(len(records), dtype=bool)


def _words(text: str) -> set[str]:
    return {word for word in text.lower().split() if word.isalpha()} - EMPTY


def _votes(right: bool, rng: Random) -> tuple[int, ...]:
    """Return three votes; one pair in five has a dissenting vote."""
    votes = [int(right)] * 3
    if rng.random() < 0.2:
        votes[rng.randrange(3)] ^= 1
    return tuple(votes)


@pytest.fixture
def recipes(tmp_path: Path, world: World) -> dict[str, str]:
    """Recipes of the feature file, nearest neighbour and KCCA, and a small alignment of regions."""
    result = {}
    for name, base in (("near", "NN5-F1-idf"), ("kcca", "BoW5")):
        file = tmp_path / f"{name}.toml"
        file.write_text(f'extends = "{base}"\n[image]\nkernel = "linear"\npower = 1\n')
        result[name] = put_on_server("recipes", file)
    aligned = tmp_path / "alignment.toml"
    settings = "size = 8\nword_size = 8\nrates = [0.001]\nepochs = 3\nbatch = 20\n"
    aligned.write_text(f'extends = "BRNN"\n[text]\nleast_count = 2\n[settings]\n{settings}')
    return {**result, "alignment": put_on_server("recipes", aligned)}
