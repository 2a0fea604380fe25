"""Campaigns over generated scenes with gold, with known items or without: what tests of trust start from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.models import Campaign, Layer
from annotation.sample.generate import generate
from tests.queue.world import World

#: Everybody is let in; known items come as the rules have it.
OPEN_DOOR: dict[str, Any] = {"trust": {"qualification": False}}


def scenes(
    images: int = 6, *, settings: Mapping[str, Any] = OPEN_DOOR, workers: int = 4, name: str = "scenes"
) -> World:
    """An open campaign over `images` generated scenes."""
    records = list(generate(images, seed=1, out=None))
    return World(records, settings=settings, name=name, workers=workers)


def gold(campaign: Campaign) -> Layer:
    return campaign.corpus.layers.get(name="import")
