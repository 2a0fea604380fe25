"""Simulated workers find every sentence fluent, or err."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.protocol.questions import Answer
from annotation.protocol.rng import SeededRng
from annotation.simulation.judging import CrowdKnowledge, SimulatedJudge
from annotation.simulation.kinds import SIMULATED, SimulatedKind, fields
from tests.plugged_in.caption_fluency.rules import CAPTION_FLUENCY, GRADES


def _judge(worker: SimulatedJudge, image: str, content: Mapping[str, Any], known: CrowdKnowledge) -> Answer:
    rng = SeededRng(worker.seed, worker.name, CAPTION_FLUENCY, image, content["caption"])
    return Answer(GRADES[0] if worker.errs(CAPTION_FLUENCY, rng) else GRADES[-1])


SIMULATED.register(
    CAPTION_FLUENCY,
    SimulatedKind(key=CAPTION_FLUENCY, seconds=6.0, content=fields("caption"), judge=_judge),
)
