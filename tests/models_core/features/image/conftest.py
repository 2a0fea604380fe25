"""Two kinds of drawn pictures, which visual words can distinguish."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from models_core.features.image.vocabulary import CodebookSettings, Vocabulary, learn

SMALL = CodebookSettings(longer_side=64, pictures=6, points=300, words=(8, 10, 12), seed=3)


def draw(path: Path, kind: str, seed: int, size: tuple[int, int] = (80, 60)) -> Path:
    """Draw red stripes, or blue noise, as a PNG."""
    rng = np.random.default_rng(seed)
    field = np.zeros((size[1], size[0], 3))
    if kind == "stripes":
        field[..., 0] = 150 + 90 * np.sin(np.arange(size[0]) / 2 + seed)
    else:
        field[..., 2] = rng.uniform(40, 250, field.shape[:2])
    Image.fromarray((field + rng.uniform(0, 5, field.shape)).astype(np.uint8)).save(path)
    return path


@pytest.fixture(scope="session")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("pictures")
    kinds = ("stripes", "noise") * 4
    return [draw(folder / f"{index}.png", kind, index) for index, kind in enumerate(kinds)]


@pytest.fixture(scope="session")
def vocabulary(paths: list[Path]) -> Vocabulary:
    return learn(paths, SMALL)
