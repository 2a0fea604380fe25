"""What the right answer to any question about an image is, given its gold layer.

Workers are shown a chain by its representative mention, so a question about boxes is about
the gold chain of that mention, even where the chain at hand holds strangers.
"""

from __future__ import annotations

from collections.abc import Sequence

from annotation.protocol import questions as q
from annotation.protocol.questions import Question
from annotation.protocol.terms import Box, LayerRecord, Mention, representative

#: An accepted box stands for a gold box from this IoU on.
COVERS = 0.5
#: A drawn box is good from this IoU on: "tightly drawn around the entire entity" (section 2.2).
TIGHT = 0.7


class Truth:
    """The gold answers of one image.

    `image` is its name, by which chance tells equal questions about different images apart.
    `size` is (width, height) in pixels; where it is unknown, the extent of the gold boxes, or
    500 x 375, serves.
    """

    def __init__(self, gold: LayerRecord, *, image: str = "", size: tuple[int, int] = (0, 0)) -> None:
        self.image = image
        self.mentions: dict[str, Mention] = {}
        self.chain_of: dict[str, str] = {}
        for number, chain in enumerate(gold.chains):
            for mention in chain.mentions:
                self.mentions[mention.id] = mention
                self.chain_of[mention.id] = f"{number} {chain.id}"
        self.boxes: dict[str, tuple[Box, ...]] = {}
        self.kinds: dict[str, str] = {}
        depicted = gold.depicted()
        scenes = {name for obj in gold.objects if obj.scene for name in obj.chains}
        for number, chain in enumerate(gold.chains):
            name = f"{number} {chain.id}"
            self.boxes[name] = depicted.get(chain.id, ())
            self.kinds[name] = "scene" if chain.id in scenes else "none"
        every = [box for boxes in self.boxes.values() for box in boxes]
        self.width = size[0] or max((box.xmax for box in every), default=500)
        self.height = size[1] or max((box.ymax for box in every), default=375)

    def chain(self, mentions: Sequence[str]) -> str:
        """The gold chain that a question about these mentions is about."""
        return self.chain_of[representative(self.mentions[m] for m in mentions).id]

    def uncovered(self, chain: str, accepted: Sequence[Box]) -> list[Box]:
        """Gold boxes of `chain` that no accepted box stands for, each accepted box standing for one."""
        left = list(self.boxes[chain])
        for box in accepted:
            best = max(left, key=box.iou, default=None)
            if best is not None and box.iou(best) >= COVERS:
                left.remove(best)
        return left

    def answer(self, question: Question) -> tuple[str, Box | None]:
        """The right answer, with the box to draw where it is "drawn"."""
        if question.kind in (q.COREF_LINK, q.CHAIN_VERIFICATION):
            same = len({self.chain_of[m] for m in question.mentions}) == 1
            yes, no = q.ANSWERS[question.kind]
            return (yes if same else no), None
        chain = self.chain(question.mentions)
        if question.kind == q.BOX_REQUIREMENT:
            return ("box" if self.boxes[chain] else self.kinds[chain]), None
        left = self.uncovered(chain, question.boxes)
        if question.kind == q.BOX_DRAWING:
            return ("drawn", left[0]) if left else ("none", None)
        if question.kind == q.BOX_QUALITY:
            assert question.pending is not None
            return ("good" if any(question.pending.iou(box) >= TIGHT for box in left) else "bad"), None
        if question.kind == q.BOX_COVERAGE:
            return ("more" if left else "complete"), None
        raise ValueError(f"no truth is known for question {question.kind!r}")
