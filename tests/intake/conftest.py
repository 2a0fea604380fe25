"""What the intake tests share: a DATA_DIR of their own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings) -> Path:
    """A DATA_DIR that only this test knows."""
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR
