"""Fixtures for the pages: a small corpus, and an account that may view it."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.cache import cache
from django.test import Client

from annotation.models import Corpus
from tests.queue.world import World
from tests.web import desk, world


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    """Empty the cache: it may contain another test's figures."""
    cache.clear()


@pytest.fixture
def scenes(db: None, tmp_path: Path) -> Corpus:
    """Three images with pictures and the layer `import`."""
    return world.corpus(tmp_path / "drawn")


@pytest.fixture
def reader(db: None) -> Client:
    """A signed-in researcher."""
    return world.signed_in("ada", "researcher")


@pytest.fixture
def work(db: None, tmp_path: Path) -> World:
    """A campaign over drawn scenes, in which `ann` works."""
    return desk.campaign(tmp_path / "drawn")
