"""Which queries figures are over: those that were asked, whatever was answered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluation.comparison.ranked_runs import pool_of
from evaluation.models import Batch, Run
from evaluation.relevance.pair_tasks import pair_tasks
from evaluation.relevance.pairs import JudgedPair
from evaluation.selectors import names_of, run_named, snapshot_named
from evaluation.services.batches.launching import launch
from evaluation.services.batches.planning import BatchRequest, plan
from evaluation.services.judgments.freezing import freeze_qrels
from evaluation.services.judgments.importing import (
    JudgmentsPlace,
    store_judgments,
)
from evaluation.services.runs.files import RunImport, import_run
from tests.evaluation.database.conftest import matrix_file
from tests.factories import a_corpus, an_image

pytestmark = pytest.mark.django_db

IMAGES, CAPTIONS = 7, 2


def a_world() -> list[str]:
    """Images of two captions each, which share words; their names."""
    images = [
        an_image(f"i{n}", *(f"thing{n // 2} act{(n + k) % 3} ." for k in range(CAPTIONS)), layered=False)
        for n in range(IMAGES)
    ]
    a_corpus("few", images)
    return [f"i{n}.jpg" for n in range(IMAGES)]


def some_runs(folder: Path, dice: np.random.Generator, images: list[str]) -> list[str]:
    """Runs of both directions, each over its own images and captions."""
    captions = [f"{image}#{k}" for image in images for k in range(CAPTIONS)]
    names = []
    for number, direction in enumerate((Run.ANNOTATION, Run.ANNOTATION, Run.SEARCH)):
        ours = sorted(dice.choice(images, int(dice.integers(2, IMAGES + 1)), replace=False).tolist())
        theirs = sorted(
            dice.choice(captions, int(dice.integers(3, len(captions) + 1)), replace=False).tolist()
        )
        scores = dice.random((len(ours), len(theirs)))
        own = [[image == caption.partition("#")[0] for caption in theirs] for image in ours]
        scores += np.array(own) * dice.choice([0.0, 2.0])  # some find all originals first
        name = f"run{number}"
        file = matrix_file(folder, name, scores, ours, theirs)
        import_run(RunImport(name=name, corpus="few", path=file, format="scores", direction=direction))
        names.append(name)
    return names


def judge(batch: Batch, pairs: list[JudgedPair], name: str) -> str:
    """Answers as if they had been collected from a batch."""
    place = JudgmentsPlace(
        corpus="few",
        name=name,
        format=f"batch-{batch.campaign.tasks}",
        source=f"batch {batch.name}",
        scale=pair_tasks(batch.campaign.tasks).scale,
    )
    return store_judgments(pairs, place).judgments


def queries_of(name: str, qrels: str) -> list[int]:
    """The queries of qrels in the direction of a run."""
    return pool_of(run_named(name), snapshot_named(qrels)).queries.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_the_queries_of_a_batch_do_not_depend_on_the_answers(tmp_path: Path, seed: int) -> None:
    dice = np.random.default_rng(seed)
    runs = some_runs(tmp_path, dice, a_world())
    threshold = None if seed % 2 else 0.25
    request = BatchRequest(corpus="few", runs=runs, depth=int(dice.integers(1, 4)), threshold=threshold)
    planned = plan(request)
    batch = launch(planned, "asked").batch
    names = names_of("few")
    ids = list(zip(*(part.tolist() for part in planned.pooled.ids(planned.asked)), strict=True))
    asked = [JudgedPair(names.image_name[i], names.caption_name[c], (0.0,) * 3) for i, c in ids]
    some = dice.permutation(len(asked))[: int(dice.integers(1, len(asked) + 1))].tolist()
    answers = {
        "no": asked,
        "yes": [replace(pair, grades=(1.0,) * 3) for pair in asked],
        "one": asked[:1],
        "some": [replace(asked[n], grades=(float(dice.integers(2)),)) for n in sorted(some)],
    }
    for number, (name, pairs) in enumerate(answers.items()):
        judgments = judge(batch, pairs, name)
        freeze_qrels(name=name, corpus="few", judgments=judgments, originals=bool((number + seed) % 2))
    for direction in (Run.ANNOTATION, Run.SEARCH):
        these = [run_named(name) for name in runs if run_named(name).direction == direction]
        column = "image" if direction == Run.ANNOTATION else "caption"
        ranked = sorted({query for run in these for query in run.rankings.values_list(column, flat=True)})
        for name in answers:
            assert queries_of(these[0].name, name) == ranked
