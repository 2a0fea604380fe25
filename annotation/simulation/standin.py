"""A substitute for gold if a corpus has none: plausible chains and boxes over its mentions.

With it, real captions without annotation can be sent through all questions of the chain. It says nothing
about the pictures; it is never exported as gold, only used for answers.
"""

from collections.abc import Sequence

from annotation.protocol.boxes import DRAWN_AT_ONCE
from annotation.protocol.coreference import lanes, may_corefer
from annotation.protocol.merging import canonical_layer, merge_layer
from annotation.protocol.rng import SeededRng
from annotation.protocol.terms import SCENE, Box, Chain, LayerRecord, Mention

#: Boxes per chain: Table 1 has 1.13 on average, 20 % of chains with several.
_SEVERAL = 0.2
#: Section 2.4: the shares of chains without a box among those that may have none.
_NO_BOX = {True: 0.6, False: 0.3}


def stand_in(mentions: Sequence[Mention], *, size: tuple[int, int], seed: int, image: str) -> LayerRecord:
    """Return chains and boxes for `mentions`, a function of (seed, image) and the mentions.

    `size` is (width, height) in pixels, (0, 0) if unknown (then 500 x 375). Mentions with the same head noun
    mostly corefer; others join a chain of their lane one time in four.
    """
    rng = SeededRng(seed, image, "stand-in")
    width, height = size[0] or 500, size[1] or 375
    groups = []
    for lane in lanes(mentions):
        chains: list[list[Mention]] = []
        for mention in lane:
            open_to = [chain for chain in chains if may_corefer(mention, chain)]
            alike = [chain for chain in open_to if any(m.head == mention.head for m in chain)]
            if alike and rng.chance(0.9):
                alike[0].append(mention)
            elif open_to and rng.chance(0.25):
                rng.choice(open_to).append(mention)
            else:
                chains.append([mention])
        groups.extend(chains)
    triples: list[tuple[Chain, tuple[Box, ...], str]] = []
    for group in groups:
        chain = Chain(group[0].id, tuple(group))
        is_scene = SCENE in chain.categories
        if not DRAWN_AT_ONCE.intersection(chain.categories) and rng.chance(_NO_BOX[is_scene]):
            kind, count = "scene" if is_scene else "none", 0
        else:
            kind, count = "", 2 + rng.below(3) if rng.chance(_SEVERAL) else 1
        triples.append((chain, _boxes(count, width, height, rng), kind))
    # A fixed point of merging, so that an errorless crowd reproduces it.
    record, log = merge_layer(canonical_layer(triples))
    while log:
        record, log = merge_layer(record)
    return record


def _boxes(count: int, width: int, height: int, rng: SeededRng) -> tuple[Box, ...]:
    """Return `count` boxes of different sizes side by side, so that they are distinguishable."""
    strip = width // max(count, 1)
    boxes = []
    for i in range(count):
        wide = max(1, int(strip * (0.3 + 0.6 * rng.uniform())))
        high = max(1, int(height * (0.2 + 0.6 * rng.uniform())))
        left = 1 + i * strip + rng.below(max(1, strip - wide))
        top = 1 + rng.below(max(1, height - high))
        boxes.append(Box(left, top, min(width, left + wide - 1), min(height, top + high - 1)))
    return tuple(boxes)
