"""Fixtures for the pages of evaluation: a separate DATA_DIR, and a researcher."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.cache import cache
from django.test import Client

from annotation.workers.accounts import granting
from tests.factories import a_corpus, some_images
from tests.web import world


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings) -> Path:
    """A DATA_DIR for this test only."""
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    """Empty the cache: it may contain another test's figures."""
    cache.clear()


@pytest.fixture
def ada(db: None) -> Client:
    """A signed-in researcher."""
    return world.signed_in("ada", "researcher")


@pytest.fixture
def eve(db: None) -> Client:
    """A signed-in researcher of the corpus `own` only."""
    account = world.account("eve")
    granting.grant(account=account, role="researcher", corpus=a_corpus("own", some_images(2)))
    client = Client()
    client.force_login(account)
    return client
