"""The right answer to any question about an image, from its gold layer, and the errors that people make.

Like `image`, this module is specific to the chain: it knows its six questions. Control items are drawn with
it, and the simulator answers from it.

Workers see a chain by its representative mention, so a question about boxes is about the gold chain of that
mention, even if the current chain contains mentions of other gold chains.
"""

from collections.abc import Iterable, Iterator, Sequence

from annotation.protocol import questions as q
from annotation.protocol.image import Fold
from annotation.protocol.questions import Judgment, Question
from annotation.protocol.rng import SeededRng
from annotation.protocol.terms import Box, LayerRecord, Mention, representative

#: Minimum IoU at which an accepted box covers a gold box.
COVERS = 0.5
#: Minimum IoU of a good drawn box: "tightly drawn around the entire entity" (section 2.2).
TIGHT = 0.7
#: Simulated answerers of the questions about some images: their number, the error rate of each, and the
#: standard deviation of each side of their boxes, as a share of the box's extent.
ANSWERERS, ERROR, JITTER = 12, 0.20, 0.05

#: An image's name, its (width, height) in pixels and its gold layer.
Gold = tuple[str, tuple[int, int], LayerRecord]


class Truth:
    """The gold answers of one image.

    `image` is its name, which makes random draws of equal questions about different images independent.
    `size` is (width, height) in pixels; if it is unknown, the extent of the gold boxes, or 500 x 375, is
    used.
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
        """Return the gold chain that a question about these mentions is about."""
        return self.chain_of[representative(self.mentions[m] for m in mentions).id]

    def uncovered(self, chain: str, accepted: Sequence[Box]) -> list[Box]:
        """Return gold boxes of `chain` that no accepted box covers; each accepted box covers at most one."""
        left = list(self.boxes[chain])
        for box in accepted:
            best = max(left, key=box.iou, default=None)
            if best is not None and box.iou(best) >= COVERS:
                left.remove(best)
        return left

    def answer(self, question: Question) -> tuple[str, Box | None]:
        """Return the right answer, with the box to draw if it is "drawn"."""
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


def questions_about(golds: Iterable[Gold], *, seed: int) -> Iterator[tuple[str, Question, Truth]]:
    """Yield the questions that arise when a few careless workers annotate these images, without duplicates,
    so that every answer is right for some.

    With each question come the image's name and the truth about it.
    """
    for image, size, gold in golds:
        truth = Truth(gold, image=f"control {image}", size=size)
        fold = Fold(gold.mentions)
        judgments: list[Judgment] = []
        seen: set[str] = set()
        workers = [f"control-{i}" for i in range(ANSWERERS)]
        while questions := fold(judgments).questions:
            before = len(judgments)
            for question in questions:
                if question.key not in seen:
                    seen.add(question.key)
                    yield image, question, truth
                worker = next((name for name in workers if name not in question.barred), None)
                if worker is not None:
                    rng = SeededRng(seed, worker, truth.image, question.key)
                    answer, box = erring(question, truth, rng, error=ERROR, jitter=JITTER)
                    judgments.append(Judgment(str(len(judgments)), question.key, worker, answer, box))
            if len(judgments) == before:
                break


def erring(
    question: Question, truth: Truth, rng: SeededRng, *, error: float, jitter: float
) -> tuple[str, Box | None]:
    """Return the answer of an honest worker with error rate `error`, with a box if it is "drawn".

    `jitter`: the standard deviation of each side of their boxes, as a share of the box's extent.
    """
    right, box = truth.answer(question)
    if not rng.chance(error):
        return right, _jittered(box, jitter, truth, rng) if box else None
    if question.kind == q.BOX_DRAWING:
        return _misdrawn(right, box, truth, rng)
    return rng.choice([answer for answer in q.ANSWERS[question.kind] if answer != right]), None


def _misdrawn(right: str, box: Box | None, truth: Truth, rng: SeededRng) -> tuple[str, Box | None]:
    """Return a wrong answer to drawing: "none" while boxes are missing, a loose box, or a box of nothing."""
    if box is None or right == "none":
        return "drawn", anywhere(truth, rng)
    mistake = rng.below(3)
    if mistake == 0:
        return "none", None
    return "drawn", _jittered(box, 0.4, truth, rng) if mistake == 1 else anywhere(truth, rng)


def _jittered(box: Box, jitter: float, truth: Truth, rng: SeededRng) -> Box:
    """Return `box` with each side moved by a normal share of its extent, within the picture."""
    if not jitter:
        return box
    left = box.xmin + jitter * box.width * rng.normal()
    right = box.xmax + jitter * box.width * rng.normal()
    top = box.ymin + jitter * box.height * rng.normal()
    bottom = box.ymax + jitter * box.height * rng.normal()
    return _inside(left, top, right, bottom, truth)


def anywhere(truth: Truth, rng: SeededRng) -> Box:
    """Return a random box that is unrelated to the question."""
    wide, high = (0.1 + 0.4 * rng.uniform()) * truth.width, (0.1 + 0.4 * rng.uniform()) * truth.height
    left, top = rng.uniform() * (truth.width - wide), rng.uniform() * (truth.height - high)
    return _inside(left + 1, top + 1, left + wide, top + high, truth)


def _inside(left: float, top: float, right: float, bottom: float, truth: Truth) -> Box:
    left, right = sorted((left, right))
    top, bottom = sorted((top, bottom))
    xmin = min(max(1, round(left)), truth.width)
    ymin = min(max(1, round(top)), truth.height)
    return Box(
        xmin, ymin, max(xmin, min(round(right), truth.width)), max(ymin, min(round(bottom), truth.height))
    )
