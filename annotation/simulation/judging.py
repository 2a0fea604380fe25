"""Knowledge of simulated workers for counted questions: pairs, pages, captions, regions.

A worker gives the right answer of a `CrowdKnowledge`, with the errors of their habits, as implemented by the
kind (`kinds.SimulatedKind.judge`). Answers depend only on the seed, the worker's name and what is shown.

If answers of real people are recorded, the majority is right; or, on request, each worker replays the answers
of one of these people.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from annotation.protocol.grading import GRADES
from annotation.protocol.rng import SeededRng

#: A described region of an image: its box, [xmin, ymin, xmax, ymax], and its text.
_Part = tuple[list[int], str]


class SimulatedJudge(Protocol):
    """A simulated worker in the view of a kind of question.

    `honest`: they look at what is shown; otherwise they click at random, or say yes to everything
    (`affirms`). `exact`: they never err. `number`: their number among their sort, from 1.
    """

    @property
    def name(self) -> str:
        """Their pseudonym."""
        ...

    @property
    def seed(self) -> int:
        """Seed of their random numbers."""
        ...

    @property
    def number(self) -> int:
        """Their index in the crowd, from 0."""
        ...

    @property
    def honest(self) -> bool:
        """Whether they try to answer rightly."""
        ...

    @property
    def affirms(self) -> bool:
        """Whether they say yes to everything."""
        ...

    @property
    def exact(self) -> bool:
        """Whether they never err."""
        ...

    def errs(self, kind: str, rng: SeededRng) -> bool:
        """Whether they err this time, at a question of this kind; random by `rng`, unless they are exact."""
        ...


@dataclass(frozen=True, slots=True)
class CrowdKnowledge:
    """The right answers: `images_of`, by a caption's text, the keys of the images it describes; `captions`
    and `parts` of images, by their keys, and their sizes (width, height).

    `recorded`: the recorded answers by (image's key, caption's text), and `in_place_of`: the number of people
    who answered each; 0: nobody is replayed.
    """

    images_of: Mapping[str, Collection[str]]
    captions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    parts: Mapping[str, Sequence[_Part]] = field(default_factory=dict)
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    recorded: Mapping[tuple[str, str], Sequence[float]] = field(default_factory=dict)
    in_place_of: int = 0

    def fits(self, image: str, caption: str) -> bool:
        """Whether the caption describes the image: more yes than no on record, or it is one of its own."""
        votes = self.recorded.get((image, caption))
        return 2 * sum(votes) > len(votes) if votes else image in self.images_of.get(caption, ())

    def grade(self, image: str, caption: str) -> int:
        """Return the grade of a pair: the median on record, the lower of two; or the best for an own
        caption."""
        votes = self.recorded.get((image, caption))
        if votes:
            return int(sorted(votes)[(len(votes) - 1) // 2])
        return GRADES[-1] if self.fits(image, caption) else GRADES[0]

    def vote(self, worker: SimulatedJudge, image: str, caption: str) -> float | None:
        """Return the answer of the person whom this worker replays; None if there is none."""
        votes = self.recorded.get((image, caption))
        if not votes or not self.in_place_of or not worker.exact:
            return None
        index = (worker.number - 1) % self.in_place_of
        if len(votes) > self.in_place_of:
            return votes[(2 * index + 1) * len(votes) // (2 * self.in_place_of)]
        return votes[index % len(votes)]
