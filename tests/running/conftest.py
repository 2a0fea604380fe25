"""Each test counts again: figures are cached for a minute, by ids that test databases use again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.core.cache import cache
from django.utils import timezone


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR


class Clock:
    """The queue's time, which a test advances by hand."""

    def __init__(self) -> None:
        self.at = timezone.now()

    def __call__(self) -> datetime:
        return self.at

    def advance(self, **later: float) -> None:
        self.at += timedelta(**later)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    turned = Clock()
    monkeypatch.setattr("annotation.common.database.now", turned)
    return turned
