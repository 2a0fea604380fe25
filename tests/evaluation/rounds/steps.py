"""The steps of a round: jobs of workers, external runs, and the questions stored in rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from annotation import jobs
from annotation.common.operations import OperationContext
from annotation.models import Item, Job, Judgment
from annotation.protocol.paging import PAGE_ROLES, ROLE_CONTROL, ROLE_WANTED
from evaluation.models import Batch
from evaluation.selectors import names_of
from evaluation.services.runs.files import RunImport, import_run
from tests.evaluation.database.conftest import matrix_file
from tests.evaluation.rounds.by_hand import Votes
from tests.evaluation.rounds.conftest import CAPTION_NUMBER, CORPUS, RANKED, World
from tests.factories import put_on_server
from tests.jobs.workers import wait_for

SETTINGS: dict[str, Any] = {"trust": {"qualification": False}}
#: Good judges never err: the pages that they get depend on ids, and judges who err on a control item are
#: excluded.
GOOD, BAD = {"perfect": 8}, {"always_yes": 2, "random": 2}
DEPTH = 4


def worked(kind: str, **arguments: Any) -> dict[str, Any]:
    """Let a worker do a job of this kind; return its result."""
    result = wait_for(jobs.enqueue(kind=kind, arguments=arguments), Job.DONE).result
    assert isinstance(result, dict)
    return result


def trained(world: World, name: str, recipe: str) -> list[str]:
    """Let a worker train a system on the split `train`; return its runs over `test`."""
    worked("train_system", **training(world, name, recipe))
    return [run["run"] for run in worked("rank", system=name, split="test")["runs"]]


def training(world: World, name: str, recipe: str) -> dict[str, Any]:
    """Return the request to train a system on the painted pictures' features."""
    files = {
        "features": put_on_server("features", world.features),
        "feature_ids": put_on_server("features", world.ids),
    }
    return {"name": name, "recipe": recipe, "corpus": CORPUS, **files}


def opening(name: str, runs: Sequence[str]) -> dict[str, Any]:
    """Return the request to open a batch."""
    usual = {"corpus": CORPUS, "depth": DEPTH, "threshold": 0, "campaign_settings": SETTINGS, "reuse": []}
    return {"name": name, "runs": list(runs), "known_from": "val", **usual}


def uploaded(folder: Path, name: str, world: World, *, truth: float, seed: int) -> list[str]:
    """Upload an external matrix of scores: a share of `truth`, and noise."""
    noise = np.random.default_rng(seed).standard_normal(world.truth.shape)
    captions = [f"{image}{RANKED}" for image in world.judged_images]
    file = matrix_file(folder, name, truth * world.truth + noise, list(world.judged_images), captions)
    runs = []
    for direction in ("annotation", "search"):
        run = f"{name}-{direction}"
        import_run(
            RunImport(name=run, corpus=CORPUS, file=file, format="scores", direction=direction, system=name),
            OperationContext(),
        )
        runs.append(run)
    return runs


def judged(names: Sequence[str], world: World) -> Votes:
    """Return the judges' votes on each pair of these batches, from the rows; and votes for own pairs."""
    call = names_of(CORPUS)
    by_place = {(call.owner[c], call.number[c]): call.caption_name[c] for c in call.owner}
    votes: Votes = {(image, f"{image}{RANKED}"): [] for image in world.judged_images}
    rows = Judgment.objects.filter(campaign__name__in=names, withdrawn=False, image__isnull=False)
    seen = set()
    for worker, content in rows.order_by("pk").values_list("worker", "content"):
        assert content is not None
        for block in content["blocks"]:
            for (owner, index), role, yes in zip(
                block["captions"], block["roles"], block["yes"], strict=True
            ):
                if PAGE_ROLES[role] == ROLE_CONTROL:
                    continue
                pair = (call.image_name[block["image"]], by_place[owner, index])
                if (worker, pair) not in seen:
                    seen.add((worker, pair))
                    votes.setdefault(pair, []).append(float(yes))
    return votes


def selected_pairs_of(batch: Batch) -> set[tuple[int, int]]:
    """Return (image, caption's image) of all pairs on pages of a batch that it selected."""
    contents = Item.objects.filter(task__campaign=batch.campaign).values_list("content", flat=True)
    result = set()
    for content in contents:
        for (owner, index), role in zip(content["captions"], content["roles"], strict=True):
            assert index == CAPTION_NUMBER
            if PAGE_ROLES[role] == ROLE_WANTED:
                result.add((content["image"], owner))
    return result
