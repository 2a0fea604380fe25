"""How simulated workers grade pairs of image and caption. Seconds: our estimate."""

from collections.abc import Mapping
from typing import Any

from annotation.protocol.grading import GRADES
from annotation.protocol.questions import Answer
from annotation.protocol.rng import SeededRng
from annotation.simulation.judging import CrowdKnowledge, SimulatedJudge
from annotation.simulation.kinds import SIMULATED, SimulatedKind, fields
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE


def _judge(worker: SimulatedJudge, image: str, content: Mapping[str, Any], known: CrowdKnowledge) -> Answer:
    return Answer(_grade(worker, image, content["caption"], known))


def _grade(worker: SimulatedJudge, image: str, caption: str, known: CrowdKnowledge) -> str:
    rng = SeededRng(worker.seed, worker.name, GRADED_RELEVANCE, image, caption)
    right = known.grade(image, caption)
    if (vote := known.vote(worker, image, caption)) is not None:
        return str(int(vote))
    if worker.affirms:
        return str(GRADES[-1])
    if worker.honest and not worker.errs(GRADED_RELEVANCE, rng):
        return str(right)
    wrong_grades = [grade for grade in GRADES if not worker.honest or grade != right]
    return str(rng.choice(wrong_grades))


SIMULATED.register(
    GRADED_RELEVANCE,
    SimulatedKind(key=GRADED_RELEVANCE, seconds=8.0, content=fields("caption"), judge=_judge),
)
