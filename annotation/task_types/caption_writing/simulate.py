"""How simulated workers answer the test of spelling, and write captions. Seconds: our estimate."""

from collections.abc import Mapping
from typing import Any

from annotation.protocol.questions import Answer
from annotation.protocol.rng import SeededRng
from annotation.simulation.judging import CrowdKnowledge, SimulatedJudge
from annotation.simulation.kinds import SIMULATED, SimulatedKind, fields
from annotation.task_types.caption_writing.rules import (
    CAPTION_WRITING,
    CORRECT,
    FEWEST_CAPTION_WORDS,
    MOST_CAPTION_WORDS,
    SPELLING,
    sentence_words,
)


def _judge(worker: SimulatedJudge, image: str, content: Mapping[str, Any], known: CrowdKnowledge) -> Answer:
    if sentence := content.get("sentence"):
        return Answer(_spelling(worker, sentence))
    text = _caption(worker, image, known)
    missing = content.get(FEWEST_CAPTION_WORDS, 1) - len(sentence_words(text))
    words = [*text.split(), *["here"] * missing]
    return Answer("written", content={"text": " ".join(words[: content.get(MOST_CAPTION_WORDS)])})


def _spelling(worker: SimulatedJudge, sentence: str) -> str:
    rng = SeededRng(worker.seed, worker.name, "spelling", sentence)
    if worker.affirms:
        return SPELLING[0]
    if not worker.honest:
        return rng.choice(SPELLING)
    return SPELLING[0] if (sentence in CORRECT) != worker.errs(CAPTION_WRITING, rng) else SPELLING[1]


def _caption(worker: SimulatedJudge, image: str, known: CrowdKnowledge) -> str:
    """Return one of the image's captions, as if it were the worker's."""
    captions = known.captions.get(image) or ("Something can be seen here.",)
    return SeededRng(worker.seed, worker.name, CAPTION_WRITING, image).choice(list(captions))


SIMULATED.register(
    CAPTION_WRITING,
    SimulatedKind(
        key=CAPTION_WRITING,
        seconds=40.0,
        content=fields("sentence", FEWEST_CAPTION_WORDS, MOST_CAPTION_WORDS),
        judge=_judge,
    ),
)
