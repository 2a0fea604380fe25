"""Questions for workers, their content keys, and the judgments on them.

There are the six of the chain, whose answers determine the next questions (`image.Fold`), and counted kinds,
each question of which gets a fixed number of answers (`counted.CountedFold`). The properties of kinds are in
`kinds`.

A key describes the content of a question, not its row: two questions with the same key are one question,
whenever they occur, so that an earlier answer is reused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from annotation.protocol import kinds
from annotation.protocol.terms import Box, Mention

COREF_LINK = "coref_link"
CHAIN_VERIFICATION = "chain_verification"
BOX_REQUIREMENT = "box_requirement"
BOX_DRAWING = "box_drawing"
BOX_QUALITY = "box_quality"
BOX_COVERAGE = "box_coverage"

#: The six questions of the chain, in the order of the workflow, with their answers.
ANSWERS: dict[str, tuple[str, ...]] = {
    COREF_LINK: ("yes", "no"),
    CHAIN_VERIFICATION: ("true", "false"),
    BOX_REQUIREMENT: ("box", "scene", "none"),
    BOX_DRAWING: ("drawn", "none"),
    BOX_QUALITY: ("good", "bad"),
    BOX_COVERAGE: ("more", "complete"),
}
QUESTIONS = tuple(ANSWERS)

#: What a worker may flag instead of answering.
FLAGS = ("chunk_wrong", "image_missing", "offensive")

#: How a box was drawn: dragged, as the hull of four extreme points (Papadopoulos et al. 2017), placed by
#: keys, or typed as numbers. Later changes do not affect this.
DRAWING_WAYS = ("drag", "extreme", "keys", "fields")

VOTE = "vote"
CONTROL = "control"
DOUBLE_CHECK = "double_check"
#: Given late, when others had given or leased all answers of the question: superseded, and paid.
EXTRA = "extra"


class BadJudgment(ValueError):
    """A judgment whose answer is not among those of its question; names both. `field` is the invalid one."""

    def __init__(self, text: str, field: str = "answer") -> None:
        super().__init__(text)
        self.field = field


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer that a worker sends: one of the question's answers, with a box if it is "drawn"; or a flag.

    `way` is one of DRAWING_WAYS if it is known; it is stored and has no effect. `content` is what was ticked,
    written or described, as plain data, if the answer's word is not all.
    """

    answer: str = ""
    box: Box | None = None
    flag: str = ""
    comment: str = ""
    way: str = ""
    content: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Judgment:
    """One worker's answer to one question.

    `answer` is one of ANSWERS of the key's question, with `box` if it is "drawn"; or it is empty and `flag`
    is one of FLAGS. Only votes enter the fold, and only if not `withdrawn`; control answers, double checks
    and extra answers are stored beside it. `by_model`: a model annotator gave it.
    """

    id: str
    key: str
    worker: str
    answer: str = ""
    box: Box | None = None
    flag: str = ""
    role: str = VOTE
    withdrawn: bool = False
    by_model: bool = False

    @property
    def question(self) -> str:
        """The kind of the question."""
        return question_of(self.key)


@dataclass(frozen=True, slots=True)
class Question:
    """A question that an image waits for: an open task.

    `needed`: the number of answers needed in any case. `barred`: workers who must not get it, because they
    answered or flagged this key or drew the box in question. `mentions` are the ids concerned (a link's two;
    a chain's all, in caption order), `boxes` the boxes accepted so far, `pending` the box to be judged.
    """

    kind: str
    key: str
    needed: int
    barred: frozenset[str]
    mentions: tuple[str, ...]
    boxes: tuple[Box, ...] = ()
    pending: Box | None = None


def answers_to(kind: str) -> tuple[str, ...]:
    """Return the words that answer a question of `kind`; none if the kind does not exist."""
    return kinds.kind_of(kind).answers if kind in kinds.KINDS else ()


def question_of(key: str) -> str:
    """Return the question of a key: the word before the first bar."""
    return key[: key.index("|")] if "|" in key else key


def _corners(boxes: Iterable[Box]) -> str:
    return ";".join([corners_in_key(b.xmin, b.ymin, b.xmax, b.ymax) for b in boxes])


def link_key(a: Mention, b: Mention) -> str:
    """Return the key of "do these two refer to the same entities?", in either order."""
    first, second = sorted((a, b), key=lambda m: m.span)
    return f"{COREF_LINK}|{first.id}|{second.id}"


def chain_key(kind: str, mentions: Sequence[Mention], boxes: Iterable[Box] = ()) -> str:
    """Return the key of a question about a mention set and the boxes accepted for it."""
    return set_key(kind, mention_set(mentions), boxes)


def mention_set(mentions: Sequence[Mention]) -> str:
    """Return the name of a mention set in keys: the ids in caption order."""
    return " ".join([m.id for m in sorted(mentions, key=lambda m: m.span)])


def set_key(kind: str, mentions: str, boxes: Iterable[Box] = ()) -> str:
    """Like `chain_key`, for the name of a mention set."""
    return f"{kind}|{mentions}|{_corners(sorted(boxes))}"


def quality_key(drawing: str, pending: Box, boxes: Iterable[Box]) -> str:
    """Return the key of "is this box good?": the judgment that drew it, the box, and the accepted boxes.

    Its drawer may change the box, so a verdict is about the one that was shown.
    """
    return f"{BOX_QUALITY}|{drawing}|{_corners([pending])}|{_corners(sorted(boxes))}"


def judged_box(key: str) -> tuple[str, str]:
    """Return from a key of a box's quality the name of the judgment that drew it, and its corners in the form
    of `corners_in_key`."""
    _, drawing, pending, _ = key.split("|")
    return drawing, pending


def mentions_in(key: str, drawings: Mapping[str, str]) -> tuple[str, ...]:
    """Return the mentions that a question of the chain shows. `drawings` are keys by the name of a judgment:
    the question about a box's quality shows what its drawing did; none if that is unknown."""
    kind, first, *rest = key.split("|")
    about = kinds.kind_of(kind)
    if about.judges:
        return mentions_in(drawings[first], {}) if first in drawings else ()
    return (first, *rest[:1]) if about.mentions == (2, 2) else tuple(first.split())


def corners_in_key(*corners: int) -> str:
    """Return left, top, right and bottom of a box in the form of keys."""
    return ",".join(map(str, corners))


def pair_key(kind: str, image: str, caption: str) -> str:
    """Return the key of a question of `kind` about a pair: the image's key, and the caption's name,
    IMAGE#NUMBER."""
    return f"{kind}|{image}|{caption}"


def page_key(kind: str, batch: str, number: int) -> str:
    """Return the key of page `number` (from 1) of a batch of pairs."""
    return f"{kind}|{batch}|{number}"


def judgment_name(image: str, worker: str, key: str, attempt: int = 0) -> str:
    """Return the id of a worker's judgment on a key of an image: 18 hexadecimal digits.

    People answer a key once; a model annotator may propose several boxes for one, numbered by `attempt` from
    0. The id is part of the key of a box's quality, so it must not depend on the time of the judgment.
    """
    parts = (image, worker, key, str(attempt)) if attempt else (image, worker, key)
    return blake2b("\x1f".join(parts).encode(), digest_size=9).hexdigest()


def check_judgment(judgment: Judgment) -> None:
    """Raise BadJudgment unless the judgment is valid for its question."""
    kind = question_of(judgment.key)
    answers = answers_to(kind)
    if not answers:
        raise BadJudgment(f"judgment {judgment.id}: key {judgment.key!r} is of no known question")
    if judgment.flag:
        if judgment.flag not in FLAGS or judgment.answer or judgment.box:
            raise BadJudgment(
                f"judgment {judgment.id}: flag {judgment.flag!r}; expected one of {', '.join(FLAGS)} "
                "and no answer"
            )
        return
    if judgment.answer not in answers:
        expected = ", ".join(answers)
        raise BadJudgment(
            f"judgment {judgment.id}: answer {judgment.answer!r} to {kind}; expected {expected}"
        )
    if (judgment.box is not None) != (judgment.answer == "drawn"):
        raise BadJudgment(f"judgment {judgment.id}: a box comes with the answer 'drawn' and with no other")


def withdraw_judgments(judgments: Iterable[Judgment], *, worker: str, question: str) -> list[Judgment]:
    """Return the judgments with those of `worker` on `question` withdrawn, in the same order."""
    return [
        replace(j, withdrawn=True) if j.worker == worker and j.question == question else j for j in judgments
    ]
