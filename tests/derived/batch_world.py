"""The initial state of a run of acts: a corpus of eight images, two systems that rank them, and an open
batch."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from annotation.common.operations import OperationContext
from annotation.models import Worker
from evaluation.services.batches.launching import launch
from evaluation.services.batches.planning import BatchRequest, Plan, plan
from evaluation.services.runs.files import RunImport, import_run
from tests.evaluation.database.conftest import matrix_file
from tests.factories import a_corpus, an_image

CORPUS = "little"
#: Number of images with questions, and of others for control items; two images show the same scene.
JUDGED, OTHERS, PER_SCENE, ACTS = 8, 6, 2, 4
#: Of which each run ranks the first.
CAPTIONS = 2
PEOPLE = 4
SYSTEMS = {"sharp": 0.3, "blunt": 1.0}
DEPTHS = {"first": 2, "second": 4}
SETTINGS: dict[str, Any] = {
    "trust": {
        "qualification": False,
        "warm_up_items": 3,
        "warm_up_known": 1,
        "verdict_known": 2,
        "window": 3,
        "relevance_bar": 0.6,
        "page_slips": 0,
    },
    "page": {"images": 3, "captions": 4, "controls": 1},
    "answers": {"relevance": 2},
    "pay": {"basis": "item", "per_item": {"relevance": 0.02}},
}


def scene(number: int) -> int:
    return number // PER_SCENE


def words(number: int, caption: int) -> tuple[str, str]:
    """Return the words of a caption."""
    return f"thing{scene(number)}", f"act{(scene(number) + caption) % ACTS}"


def scores(system: str) -> np.ndarray:
    """Return a system's scores of each image and the first caption of each, shape (JUDGED, JUDGED)."""
    scenes = np.arange(JUDGED) // PER_SCENE
    noise = np.random.default_rng(len(system)).standard_normal((JUDGED, JUDGED))
    return (scenes[:, None] == scenes[None, :]) + SYSTEMS[system] * noise


def build() -> list[int]:
    """Create corpus, runs, and the first batch; return the ids of four judges."""
    a_corpus(
        CORPUS,
        [
            an_image(
                f"i{n}",
                *(f"{' '.join(words(n, k))} ." for k in range(CAPTIONS)),
                layered=False,
                split="test" if n < JUDGED else "dev",
            )
            for n in range(JUDGED + OTHERS)
        ],
    )
    images = [f"i{n}.jpg" for n in range(JUDGED)]
    with tempfile.TemporaryDirectory() as folder:
        for system in SYSTEMS:
            captions = [f"{image}#0" for image in images]
            file = matrix_file(Path(folder), system, scores(system), images, captions)
            for direction in ("annotation", "search"):
                import_run(
                    RunImport(
                        name=f"{system}-{direction}",
                        corpus=CORPUS,
                        file=file,
                        format="scores",
                        direction=direction,
                        system=system,
                    ),
                    OperationContext(),
                )
    launch(planned("first"), "first", known_from="dev")
    return [Worker.objects.create(pseudonym=f"judge-{n}").pk for n in range(PEOPLE)]


def runs() -> list[str]:
    return [f"{system}-{direction}" for system in SYSTEMS for direction in ("annotation", "search")]


def planned(batch: str) -> Plan:
    return plan(BatchRequest(corpus=CORPUS, runs=runs(), depth=DEPTHS[batch], campaign_settings=SETTINGS))


def pooled(depth: int) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Return pairs (number of the image, of the caption's image) among the best of any run, without
    originals: those that share a word, which are asked, and those that do not."""
    result = set()
    for system in SYSTEMS:
        table = scores(system)
        for n in range(JUDGED):
            result |= {(n, int(c)) for c in np.argsort(-table[n])[:depth]}
            result |= {(int(i), n) for i in np.argsort(-table[:, n])[:depth]}
    message = {n: {word for k in range(CAPTIONS) for word in words(n, k)} for n in range(JUDGED)}
    others = {pair for pair in result if pair[0] != pair[1]}
    likely = {(image, value) for image, value in others if message[image] & set(words(value, 0))}
    return likely, others - likely
