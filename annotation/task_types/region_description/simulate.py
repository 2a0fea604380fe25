"""How simulated workers describe parts of a picture. Seconds: our estimate."""

from collections.abc import Mapping
from typing import Any

from annotation.protocol.questions import Answer
from annotation.protocol.rng import SeededRng
from annotation.simulation.judging import CrowdKnowledge, SimulatedJudge
from annotation.simulation.kinds import SIMULATED, SimulatedKind, fields
from annotation.task_types.region_description.rules import REGION_DESCRIPTION


def _judge(worker: SimulatedJudge, image: str, content: Mapping[str, Any], known: CrowdKnowledge) -> Answer:
    return Answer("described", content={"regions": _regions(worker, image, content["regions"], known)})


def _regions(worker: SimulatedJudge, image: str, number: int, known: CrowdKnowledge) -> list[dict[str, Any]]:
    """Known parts first, then boxes anywhere; no two alike."""
    rng = SeededRng(worker.seed, worker.name, REGION_DESCRIPTION, image)
    width, height = known.sizes.get(image, (100, 100))
    parts = list(known.parts.get(image, ())) if worker.honest else []
    regions_of: dict[tuple[int, ...], str] = {tuple(box): text for box, text in parts[:number]}
    while len(regions_of) < number:
        left, top = 1 + rng.below(max(1, width - 1)), 1 + rng.below(max(1, height - 1))
        right = left + rng.below(max(1, width - left + 1))
        bottom = top + rng.below(max(1, height - top + 1))
        regions_of.setdefault((left, top, right, bottom), "a part")
    return [{"box": list(box), "text": text, "way": ""} for box, text in regions_of.items()]


SIMULATED.register(
    REGION_DESCRIPTION,
    SimulatedKind(key=REGION_DESCRIPTION, seconds=150.0, content=fields("regions"), judge=_judge),
)
