"""How simulated workers tick sentences: each of a page is an item of its own. Seconds: our estimate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from annotation.protocol.dice import Dice
from annotation.protocol.questions import Answer
from annotation.simulation.judging import CrowdKnowledge, SimulatedJudge
from annotation.simulation.kinds import SIMULATED, SimulatedKind
from annotation.task_types.relevance.rules import RELEVANCE


def _content(data: Mapping[str, Any], key_of: Callable[[str], str]) -> dict[str, Any]:
    return {"blocks": [{**block, "image": key_of(block["image"]["name"])} for block in data["blocks"]]}


def _judge(worker: SimulatedJudge, image: str, content: Mapping[str, Any], known: CrowdKnowledge) -> Answer:
    ticked = [
        [_ticks(worker, block["image"], caption, known) for caption in block["captions"]]
        for block in content["blocks"]
    ]
    return Answer("judged", content={"ticked": ticked})


def _ticks(worker: SimulatedJudge, image: str, caption: str, known: CrowdKnowledge) -> bool:
    dice = Dice(worker.seed, worker.name, RELEVANCE, image, caption)
    if (vote := known.vote(worker, image, caption)) is not None:
        return vote > 0
    if worker.honest:
        return known.fits(image, caption) != worker.errs(RELEVANCE, dice)
    return worker.affirms or dice.chance(0.5)


SIMULATED.register(RELEVANCE, SimulatedKind(key=RELEVANCE, seconds=120.0, content=_content, judge=_judge))
