"""Scenes of three seeds, painted once for all tests of this folder."""

from __future__ import annotations

import pytest

from annotation.protocol.terms import ImageRecord
from tests.sizes import sized
from tests.worlds import painted

SEEDS = (1, 2, 77)
#: Errors of a template show in most of these scenes; rare ones in a thorough run.
PER_SEED = sized(25, 100)


@pytest.fixture(scope="package")
def scenes() -> list[ImageRecord]:
    return [record for seed in SEEDS for record in painted(PER_SEED, seed=seed)]
