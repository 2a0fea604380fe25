"""A small corpus, a crowd's judgments of it, and files that import systems."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.common.operations import OperationContext
from annotation.datasets.importing import import_records
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.services.judgments.freezing import freeze_qrels
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments
from evaluation.services.runs.files import RunImport, import_run
from tests.evaluation.database.conftest import matrix_file

IMAGES = ("a", "b", "c")
PICTURES = [f"{image}.jpg" for image in IMAGES]
CAPTIONS = [f"{image}#{n}" for image in PICTURES for n in range(3)]
JUDGED = [f"{image}#2" for image in PICTURES]


def corpus() -> str:
    """Import three images of three captions each; a and b are `test`, c is `dev`."""
    records = [
        ImageRecord(
            id=key,
            filename=f"{key}.jpg",
            captions=tuple(CaptionRecord(f"caption {n} of {key}") for n in range(3)),
            split="dev" if key == "c" else "test",
        )
        for key in IMAGES
    ]
    import_records(name="small", records=records, format="jsonl", source="memory")
    return "small"


def qrels(folder: Path) -> str:
    """Import a crowd's judgments of caption 2: a's own and c's are relevant to a, b's own is not relevant to
    b."""
    rows = [("a", "a", 3, 0), ("a", "b", 1, 2), ("a", "c", 2, 1), ("b", "b", 0, 3), ("b", "c", 0, 3)]
    file = folder / "crowd.txt"
    file.write_text(
        "".join(f"{i}.jpg\t{value}.jpg#2\t{yes / (yes + no)}\t{yes}\t{no}\n" for i, value, yes, no in rows)
    )
    import_judgments(JudgmentsImport(corpus="small", file=file, format="flickr8k-crowd"), OperationContext())
    freeze_qrels(name="crowd", corpus="small", judgments="flickr8k-crowd")
    return "crowd"


def runs(folder: Path, *systems: str) -> list[str]:
    """Import runs of systems in both directions: `good` ranks originals first, any other last."""
    created = []
    for system in systems:
        scores = np.eye(3) if system == "good" else -np.eye(3) + np.arange(3) / 10
        file = matrix_file(folder, system, scores, PICTURES, JUDGED)
        for direction in ("annotation", "search"):
            name = f"{system}-{direction}"
            import_run(
                RunImport(
                    name=name, corpus="small", file=file, format="scores", direction=direction, system=system
                ),
                OperationContext(),
            )
            created.append(name)
    return created


def embeddings(name: str = "clip.npz", **spoilt: Any) -> SimpleUploadedFile:
    """Return a file of embeddings of both sides, in which captions equal their images."""
    held: dict[str, Any] = {
        "images": np.eye(3),
        "captions": np.repeat(np.eye(3), 3, axis=0),
        "image_ids": np.array(PICTURES),
        "caption_ids": np.array(CAPTIONS),
        **spoilt,
    }
    out = BytesIO()
    np.savez(out, **held)
    return SimpleUploadedFile(name, out.getvalue())


def trec(*rows: str) -> SimpleUploadedFile:
    """Return a run file: "QUERY ITEM SCORE" lines."""
    lines = []
    for index, row in enumerate(rows):
        query, item, score = row.split()
        lines.append(f"{query} Q0 {item} {index} {score} tag\n")
    return SimpleUploadedFile("run.trec", "".join(lines).encode())
