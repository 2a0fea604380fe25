"""Fixtures for the pages of evaluation: a DATA_DIR of one's own, and a researcher."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from tests.web import world


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings) -> Path:
    """A DATA_DIR that only this test knows."""
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR


@pytest.fixture
def ada(db: None) -> Client:
    """A signed-in researcher."""
    return world.signed_in("ada", "researcher")
