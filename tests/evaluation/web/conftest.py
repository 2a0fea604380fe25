"""Fixtures for the pages of evaluation: a DATA_DIR of one's own, and a researcher."""

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
    """A DATA_DIR that only this test knows."""
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    """Figures kept from another test would answer for this one's rows."""
    cache.clear()


@pytest.fixture
def ada(db: None) -> Client:
    """A signed-in researcher."""
    return world.signed_in("ada", "researcher")


@pytest.fixture
def eve(db: None) -> Client:
    """A signed-in researcher of a corpus `own`, and of nothing else."""
    account = world.account("eve")
    granting.grant(account=account, role="researcher", corpus=a_corpus("own", some_images(2)))
    client = Client()
    client.force_login(account)
    return client
