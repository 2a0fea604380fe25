"""How simulated workers tick texts: each text of a page is an item of its own."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from annotation.protocol.questions import Answer
from annotation.protocol.rng import SeededRng
from annotation.simulation.judging import CrowdKnowledge, SimulatedJudge
from annotation.simulation.kinds import SimulatedKind


def ticking(kind: str, seconds: float) -> SimulatedKind:
    """Return how pages of `kind` are ticked, with this mean time in seconds."""
    return SimulatedKind(key=kind, seconds=seconds, content=_content, judge=partial(_judge, kind))


def _content(data: Mapping[str, Any], key_of: Callable[[str], str]) -> dict[str, Any]:
    return {"blocks": [{**block, "image": key_of(block["image"]["name"])} for block in data["blocks"]]}


def _judge(
    kind: str, worker: SimulatedJudge, image: str, content: Mapping[str, Any], known: CrowdKnowledge
) -> Answer:
    ticked = [
        [_ticks(kind, worker, block["image"], caption, known) for caption in block["captions"]]
        for block in content["blocks"]
    ]
    return Answer("judged", content={"ticked": ticked})


def _ticks(kind: str, worker: SimulatedJudge, image: str, caption: str, known: CrowdKnowledge) -> bool:
    rng = SeededRng(worker.seed, worker.name, kind, image, caption)
    if (vote := known.vote(worker, image, caption)) is not None:
        return vote > 0
    if worker.honest:
        return known.fits(image, caption) != worker.errs(kind, rng)
    return worker.affirms or rng.chance(0.5)
