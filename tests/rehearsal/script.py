"""A crowd whose answers do not depend on the worker, only on the question and the number of its vote. So two
drivers that give tasks to different workers can be compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from annotation.protocol.contents import question_content
from annotation.protocol.gold import Truth
from annotation.protocol.questions import FLAGS, Question
from annotation.protocol.rng import SeededRng
from annotation.protocol.terms import Box, CaptionRecord, ImageRecord, Mention
from annotation.simulation.driver import Crowd, SimulationCost
from annotation.simulation.standin import stand_in
from annotation.simulation.workers import Habits, SimulatedWorker

#: Bad enough that chains are refused, rounds have no result and reviewers have work.
ERRING = Habits("erring", error=0.2, jitter=0.1)

_HEADS = {"people": ("man", "woman"), "clothing": ("hat",), "scene": ("park",), "other": ("ball", "cup")}


@dataclass(frozen=True)
class Script:
    """The answers of one play. About one in `flagged` questions gets two flags first."""

    seed: int
    flagged: int = 0

    def reply(self, question: Question, truth: Truth, ordinal: int) -> tuple[str, Box | None, str]:
        """Return answer, box and flag of vote number `ordinal` (from 0) on a question."""
        text = json.dumps(question_content(question))
        if self.flagged and SeededRng(self.seed, "flag", question.kind, text).below(self.flagged) == 0:
            if ordinal < 2:
                return "", None, FLAGS[ordinal]
        voter = SimulatedWorker(f"vote {ordinal}", ERRING, self.seed)
        answer, box = voter.answer(replace(question, key=f"{question.kind} {text}"), truth)
        return answer, box, ""


class Scripted(Crowd):
    """A crowd for the pure driver: a new worker for every vote, who answers as the script says."""

    def __init__(self, script: Script) -> None:
        super().__init__([SimulatedWorker("nobody", ERRING, 0)], seed=0)
        self.script = script
        self.votes: Counter[tuple[str, str]] = Counter()

    def someone(
        self, question: Question, image: str, cost: SimulationCost, *, also_barred: Iterable[str] = ()
    ) -> SimulatedWorker | None:
        ordinal = self.votes[image, question.key]
        self.votes[image, question.key] += 1
        return Speaker(f"pure-{len(self.votes)}-{ordinal}", ERRING, 0, self.script, ordinal)


@dataclass(frozen=True, slots=True)
class Speaker(SimulatedWorker):
    """A worker who gives the vote with this number."""

    script: Script
    ordinal: int

    def answer(self, question: Question, truth: Truth) -> tuple[str, Box | None]:
        answer, box, flag = self.script.reply(question, truth, self.ordinal)
        assert not flag
        return answer, box


def pictured(number: int) -> ImageRecord:
    """Return a made-up image of three captions and about six mentions, with gold."""
    rng = SeededRng("pictured", number)
    mentions: list[Mention] = []
    captions = []
    for caption in range(3):
        words: list[str] = []
        for _ in range(1 + rng.below(3)):
            category = rng.choice(sorted(_HEADS))
            phrase = ("a", rng.choice(_HEADS[category]))
            mentions.append(Mention(caption, len(words), len(words) + 2, phrase, (category,)))
            words += [*phrase, "and"]
        captions.append(CaptionRecord(" ".join(words)))
    gold = stand_in(mentions, size=(400, 300), seed=5, image=str(number))
    return ImageRecord(f"p{number}", f"p{number}.jpg", tuple(captions), width=400, height=300, layer=gold)
