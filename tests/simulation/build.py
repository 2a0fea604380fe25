"""Made-up images with gold, for tests of the simulator."""

from collections.abc import Iterator
from functools import cache

from annotation.protocol.gold import Truth
from annotation.protocol.rng import SeededRng
from annotation.protocol.terms import LayerRecord, Mention
from annotation.simulation.standin import stand_in

HEADS = {
    "people": ["man", "woman", "boy"],
    "other": ["ball", "cup"],
    "scene": ["park"],
    "clothing": ["hat"],
}


def photograph(number: int) -> list[Mention]:
    """Return a made-up image with about sixteen mentions."""
    rng = SeededRng("photograph", number)
    result = []
    for caption in range(5):
        start = 0
        for _ in range(2 + rng.below(3)):
            category = rng.choice(sorted(HEADS))
            head = rng.choice(HEADS[category])
            result.append(Mention(caption, start, start + 2, ("a", head), (category,)))
            start += 3
    return result


def world(count: int) -> Iterator[tuple[list[Mention], Truth, LayerRecord]]:
    """Yield the first `count` made-up images: mentions, truth, gold."""
    return map(_made_up, range(count))


@cache
def _made_up(number: int) -> tuple[list[Mention], Truth, LayerRecord]:
    mentions = photograph(number)
    gold = stand_in(mentions, size=(500, 400), seed=7, image=str(number))
    return mentions, Truth(gold, image=str(number), size=(500, 400)), gold
