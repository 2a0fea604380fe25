"""Shared fixtures of the intake tests: a separate DATA_DIR, and counts of its content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from PIL import Image as Picture

from annotation.datasets.importing import import_records


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings) -> Path:
    """A DATA_DIR for this test only."""
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR


def everything(data_dir: Path) -> dict[str, Any]:
    """Return rows by model of `annotation`, and the files under `data_dir`."""
    rows = {
        model.__name__: model._default_manager.count()
        for model in apps.get_app_config("annotation").get_models()
    }
    return {**rows, "files": sorted(str(f.relative_to(data_dir)) for f in data_dir.rglob("*") if f.is_file())}


def take(records, name: str = "corpus", **more):
    return import_records(name=name, records=records, format="test", source="the test", **more)


def a_picture(path: Path, colour: str = "navy", size: tuple[int, int] = (40, 30)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Picture.new("RGB", size, colour).save(path)
    return path
