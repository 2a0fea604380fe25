"""A small corpus in the database, files with judgments of it, and calls of commands."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command

from annotation.common.operations import OperationContext
from annotation.datasets.importing import import_records
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.services.judgments.freezing import freeze_qrels
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments

IMAGES = ("a", "b", "c")


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings) -> Path:
    """A DATA_DIR for this test only."""
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR


@pytest.fixture
def corpus(db: None) -> str:
    """Three images with three captions each, named a.jpg to c.jpg."""
    records = [
        ImageRecord(
            id=key,
            filename=f"{key}.jpg",
            captions=tuple(CaptionRecord(f"caption {n} of {key}") for n in range(3)),
        )
        for key in IMAGES
    ]
    import_records(name="small", records=records, format="jsonl", source="memory")
    return "small"


@pytest.fixture
def crowd(tmp_path: Path) -> Path:
    """Yes or no on caption 2; c.jpg with its own caption was not judged."""
    file = tmp_path / "crowd.txt"
    rows = [("a", "a", 3, 0), ("a", "b", 1, 2), ("a", "c", 2, 1), ("b", "b", 0, 3), ("b", "c", 0, 3)]
    rows.append(("c", "a", 2, 1))
    file.write_text(
        "".join(
            f"{image}.jpg\t{value}.jpg#2\t{yes / (yes + no)}\t{yes}\t{no}\n" for image, value, yes, no in rows
        )
    )
    return file


@pytest.fixture
def qrels(corpus: str, crowd: Path) -> str:
    """The qrels of the judgments of `crowd`."""
    import_judgments(JudgmentsImport(corpus=corpus, file=crowd, format="flickr8k-crowd"), OperationContext())
    freeze_qrels(name="q", corpus=corpus, judgments="flickr8k-crowd")
    return "q"


@pytest.fixture
def pooled_runs(data_dir: Path, tmp_path: Path) -> list[str]:
    """The runs of two systems over scenes."""
    from tests.evaluation.database.pooled_world import two_systems  # it needs `matrix_file` from here

    return two_systems(tmp_path)


def output_of(*arguments: Any) -> str:
    """Return the output of a command."""
    out = StringIO()
    call_command(*map(str, arguments), stdout=out)
    return out.getvalue()


def matrix_file(folder: Path, name: str, scores: Any, images: list[str], captions: list[str]) -> Path:
    file = folder / f"{name}.npz"
    np.savez(file, scores=scores, images=np.array(images), captions=np.array(captions))
    return file
