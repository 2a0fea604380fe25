"""Simulated answers to questions that are only counted: pairs, pages, captions, regions.

A worker answers what a `Known` says is right, with the errors of their habits: each sentence of a page
is an item of its own. What they answer depends on the seed, their name and what is shown alone.

Where answers of real people are on record, what is right is what most of them said; or, asked for so,
each worker answers in the place of one of those people.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.protocol.dice import Dice
from annotation.protocol.grading import GRADES
from annotation.protocol.questions import Answer
from annotation.simulation.workers import HONEST, PERFECT, YES, Worker
from annotation.task_types.caption_writing.rules import CAPTION_WRITING, SPELLING
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from annotation.task_types.relevance.rules import RELEVANCE

#: A described part of an image: its box, [xmin, ymin, xmax, ymax], and its text.
Part = tuple[list[int], str]


@dataclass(frozen=True, slots=True)
class Known:
    """What is right: `images_of`, by a caption's text, the keys of the images it describes; `correct`,
    the sentences of the test that are written well; `captions` and `parts` of images, by their keys,
    and their sizes (width, height)."""

    images_of: Mapping[str, Collection[str]]
    correct: Collection[str] = frozenset()
    captions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    parts: Mapping[str, Sequence[Part]] = field(default_factory=dict)
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    recorded: Mapping[tuple[str, str], Sequence[float]] = field(default_factory=dict)
    in_place_of: int = 0

    def fits(self, image: str, caption: str) -> bool:
        """Whether the caption describes the image: more yes than no on record, or it is one of its own."""
        votes = self.recorded.get((image, caption))
        return 2 * sum(votes) > len(votes) if votes else image in self.images_of.get(caption, ())

    def grade(self, image: str, caption: str) -> int:
        """The grade of a pair: the middle one on record, the lower of two; or the best for an own caption."""
        votes = self.recorded.get((image, caption))
        if votes:
            return int(sorted(votes)[(len(votes) - 1) // 2])
        return GRADES[-1] if self.fits(image, caption) else GRADES[0]

    def vote(self, worker: Worker, image: str, caption: str) -> float | None:
        """What the person answered in whose place this worker is; None where they are in nobody's."""
        votes = self.recorded.get((image, caption))
        if not votes or not self.in_place_of or worker.habits is not PERFECT:
            return None
        place = (worker.number - 1) % self.in_place_of
        if len(votes) > self.in_place_of:
            return votes[(2 * place + 1) * len(votes) // (2 * self.in_place_of)]
        return votes[place % len(votes)]


def answer(worker: Worker, kind: str, image: str, content: Mapping[str, Any], known: Known) -> Answer:
    """What `worker` answers to a question about `image` (its key); `content` as the API tells it."""
    if kind == RELEVANCE:
        ticked = [
            [_ticks(worker, block["image"], caption, known) for caption in block["captions"]]
            for block in content["blocks"]
        ]
        return Answer("judged", content={"ticked": ticked})
    if kind == GRADED_RELEVANCE:
        return Answer(_grade(worker, image, content["caption"], known))
    if kind == CAPTION_WRITING and content.get("sentence"):
        return Answer(_spelling(worker, content["sentence"], known))
    if kind == CAPTION_WRITING:
        return Answer("written", content={"text": _caption(worker, image, known)})
    return Answer("described", content={"regions": _regions(worker, image, content["regions"], known)})


def _ticks(worker: Worker, image: str, caption: str, known: Known) -> bool:
    dice = Dice(worker.seed, worker.name, RELEVANCE, image, caption)
    if (vote := known.vote(worker, image, caption)) is not None:
        return vote > 0
    if worker.habits.style == HONEST:
        return known.fits(image, caption) != _errs(worker, RELEVANCE, dice)
    return worker.habits.style == YES or dice.chance(0.5)


def _grade(worker: Worker, image: str, caption: str, known: Known) -> str:
    dice = Dice(worker.seed, worker.name, GRADED_RELEVANCE, image, caption)
    right = known.grade(image, caption)
    if (vote := known.vote(worker, image, caption)) is not None:
        return str(int(vote))
    if worker.habits.style == YES:
        return str(GRADES[-1])
    if worker.habits.style == HONEST and not _errs(worker, GRADED_RELEVANCE, dice):
        return str(right)
    wrong = [grade for grade in GRADES if worker.habits.style != HONEST or grade != right]
    return str(dice.choice(wrong))


def _spelling(worker: Worker, sentence: str, known: Known) -> str:
    dice = Dice(worker.seed, worker.name, "spelling", sentence)
    correct = sentence in known.correct
    if worker.habits.style == YES:
        return "correct"
    if worker.habits.style != HONEST:
        return dice.choice(SPELLING)
    return SPELLING[0] if correct != _errs(worker, CAPTION_WRITING, dice) else SPELLING[1]


def _caption(worker: Worker, image: str, known: Known) -> str:
    """One of the captions that the image has, as if it were theirs."""
    captions = known.captions.get(image) or ("Something can be seen here.",)
    return Dice(worker.seed, worker.name, CAPTION_WRITING, image).choice(list(captions))


def _regions(worker: Worker, image: str, number: int, known: Known) -> list[dict[str, Any]]:
    """Known parts first, then boxes anywhere; no two alike."""
    dice = Dice(worker.seed, worker.name, REGION_DESCRIPTION, image)
    width, height = known.sizes.get(image, (100, 100))
    parts = list(known.parts.get(image, ())) if worker.habits.style == HONEST else []
    found: dict[tuple[int, ...], str] = {tuple(box): text for box, text in parts[:number]}
    while len(found) < number:
        left, top = 1 + dice.below(max(1, width - 1)), 1 + dice.below(max(1, height - 1))
        right = left + dice.below(max(1, width - left + 1))
        bottom = top + dice.below(max(1, height - top + 1))
        found.setdefault((left, top, right, bottom), "a part")
    return [{"box": list(box), "text": text, "way": ""} for box, text in found.items()]


def _errs(worker: Worker, kind: str, dice: Dice) -> bool:
    return worker.habits is not PERFECT and dice.chance(worker.habits.rate(kind))
