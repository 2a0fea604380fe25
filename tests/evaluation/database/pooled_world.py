"""A corpus with three images per scene, runs that recognize scenes with noise, and a crowd.

The captions of a scene are the same sentences, so they are relevant to each image of the scene: this is the
simulated judges' truth. Scenes share words, so that the filter leaves some wrong pairs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from annotation.common.operations import OperationContext
from annotation.models import Campaign, Corpus, Item
from annotation.protocol.paging import PAGE_ROLES
from annotation.simulation.visits import Conduct
from annotation.simulation_driver import CrowdPlan, run_campaign_crowd
from evaluation.services.batches.planning import BatchRequest, Plan, plan
from evaluation.services.runs.files import RunImport, import_run
from tests import worlds
from tests.evaluation.database.conftest import matrix_file
from tests.factories import a_corpus, an_image

JUDGED, OTHERS, PER_SCENE, ACTS = 30, 40, 3, 7
UNTESTED: dict[str, Any] = {"trust": {"qualification": False}}
ORDERLY = Conduct(clicked_twice=0, answered_twice=0, returned=0)


def a_world() -> Corpus:
    """Import 30 images of the split `test` and 40 of `dev`, with five captions each."""
    return a_corpus(
        "quay",
        [
            an_image(
                f"i{n}",
                *(f"thing{n // PER_SCENE} act{(n // PER_SCENE + k) % ACTS} ." for k in range(5)),
                layered=False,
                split="test" if n < JUDGED else "dev",
            )
            for n in range(JUDGED + OTHERS)
        ],
    )


def runs(folder: Path, name: str, *, noise: float, seed: int) -> list[str]:
    """Import two runs of a system over the first caption of each image of `test`."""
    scene = np.arange(JUDGED) // PER_SCENE
    rng = np.random.default_rng(seed)
    scores = (scene[:, None] == scene[None, :]) + noise * rng.standard_normal((JUDGED, JUDGED))
    images = [f"i{n}.jpg" for n in range(JUDGED)]
    file = matrix_file(folder, name, scores, images, [f"{image}#0" for image in images])
    for direction in ("annotation", "search"):
        import_run(
            RunImport(
                name=f"{name}-{direction}",
                corpus="quay",
                file=file,
                format="scores",
                direction=direction,
                system=name,
            ),
            OperationContext(),
        )
    return [f"{name}-annotation", f"{name}-search"]


def two_systems(folder: Path) -> list[str]:
    """Import the world and a good and a bad system over it; return their runs, two each. DATA_DIR is in
    `folder`."""

    def build() -> list[str]:
        a_world()
        return [*runs(folder, "sharp", noise=0.3, seed=1), *runs(folder, "blunt", noise=1.0, seed=2)]

    return worlds.again("two systems", build, folder=folder)


def crowd(campaign: Campaign, mix: dict[str, int], *, seed: int = 1) -> Any:
    """Let a simulated crowd answer until there is no task left."""
    return run_campaign_crowd(
        campaign=campaign, plan=CrowdPlan(mix=mix, seed=seed, conduct=ORDERLY, patience=0)
    )


def planned(names: list[str], **also: Any) -> Plan:
    """Return a plan over the runs of these names, with a depth of four."""
    return plan(
        BatchRequest(**{"corpus": "quay", "runs": names, "depth": 4, "campaign_settings": UNTESTED, **also})
    )


def pairs_on_pages() -> dict[str, set[tuple[int, int]]]:
    """Return role -> the pairs (image, caption's image) on pages."""
    result: dict[str, set[tuple[int, int]]] = {}
    for content in Item.objects.values_list("content", flat=True):
        for (owner, index), role in zip(content["captions"], content["roles"], strict=True):
            assert index == 0
            result.setdefault(PAGE_ROLES[role], set()).add((content["image"], owner))
    return result


def scene(image: str) -> int:
    """Return the scene of an image of `a_world`."""
    return int(image.removeprefix("i").partition(".")[0]) // PER_SCENE
