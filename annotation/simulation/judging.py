"""What simulated workers know where questions are only counted: pairs, pages, captions, regions.

A worker answers what a `CrowdKnowledge` says is right, with the errors of their habits; how, the kind says
(`kinds.SimulatedKind.judge`). What they answer depends on the seed, their name and what is shown alone.

Where answers of real people are on record, what is right is what most of them said; or, asked for so,
each worker answers in the place of one of those people.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from annotation.protocol.grading import GRADES
from annotation.protocol.rng import SeededRng

#: A described part of an image: its box, [xmin, ymin, xmax, ymax], and its text.
_Part = tuple[list[int], str]


class SimulatedJudge(Protocol):
    """What a kind of question sees of a simulated worker.

    `honest`: they look at what is shown; else they click at random, or say yes to everything (`affirms`).
    `exact`: they never err. `number`: which of their sort they are, from 1.
    """

    @property
    def name(self) -> str:
        """Their pseudonym."""
        ...

    @property
    def seed(self) -> int:
        """Of their random numbers."""
        ...

    @property
    def number(self) -> int:
        """Their place in the crowd, from 0."""
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
        """Whether they err this time, at a question of this kind; `rng` decides, unless they are exact."""
        ...


@dataclass(frozen=True, slots=True)
class CrowdKnowledge:
    """What is right: `images_of`, by a caption's text, the keys of the images it describes; `captions` and
    `parts` of images, by their keys, and their sizes (width, height).

    `recorded`: by (image's key, caption's text) the answers on record, and `in_place_of`: of how many people
    who answered each; 0: nobody answers in a person's place.
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
        """The grade of a pair: the middle one on record, the lower of two; or the best for an own caption."""
        votes = self.recorded.get((image, caption))
        if votes:
            return int(sorted(votes)[(len(votes) - 1) // 2])
        return GRADES[-1] if self.fits(image, caption) else GRADES[0]

    def vote(self, worker: SimulatedJudge, image: str, caption: str) -> float | None:
        """What the person answered in whose place this worker is; None where they are in nobody's."""
        votes = self.recorded.get((image, caption))
        if not votes or not self.in_place_of or not worker.exact:
            return None
        index = (worker.number - 1) % self.in_place_of
        if len(votes) > self.in_place_of:
            return votes[(2 * index + 1) * len(votes) // (2 * self.in_place_of)]
        return votes[index % len(votes)]
