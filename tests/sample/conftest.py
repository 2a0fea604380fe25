"""Three hundred scenes of three seeds, painted once for all tests of this folder."""

from __future__ import annotations

import pytest

from annotation.protocol.terms import ImageRecord
from annotation.sample.generate import scene

SEEDS = (1, 2, 77)
PER_SEED = 100


@pytest.fixture(scope="package")
def scenes() -> list[ImageRecord]:
    return [scene(index, seed=seed)[0] for seed in SEEDS for index in range(PER_SEED)]
