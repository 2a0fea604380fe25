"""How simulated workers check captions. Seconds: our estimate."""

from collections.abc import Mapping
from typing import Any

from annotation.protocol.questions import Answer
from annotation.protocol.rng import SeededRng
from annotation.simulation.judging import CrowdKnowledge, SimulatedJudge
from annotation.simulation.kinds import SIMULATED, SimulatedKind, fields
from annotation.task_types.caption_check.rules import CAPTION_CHECK, GOOD, NOT_DESCRIBED, RULES


def _judge(worker: SimulatedJudge, image: str, content: Mapping[str, Any], known: CrowdKnowledge) -> Answer:
    rng = SeededRng(worker.seed, worker.name, CAPTION_CHECK, image, content["caption"])
    if worker.affirms:
        return Answer(GOOD)
    if not worker.honest:
        return Answer(rng.choice(RULES.answers))
    describes = known.fits(image, content["caption"]) != worker.errs(CAPTION_CHECK, rng)
    return Answer(GOOD if describes else NOT_DESCRIBED)


SIMULATED.register(
    CAPTION_CHECK,
    SimulatedKind(key=CAPTION_CHECK, seconds=8.0, content=fields("caption"), judge=_judge),
)
