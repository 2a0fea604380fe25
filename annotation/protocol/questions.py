"""Questions put to workers, their content keys, and the judgments given on them.

There are the six of the chain, whose answers settle what is asked next (`image.Fold`), and kinds that are
only counted: so many workers answer each, whatever they say (`counted.CountedFold`). What sets kinds apart is
in `kinds`.

A key says what a question is about, not which row asks it: two questions with one key are
one question, whenever they come up, so an answer once given is found again.
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

#: The six questions of the chain, in the order in which an image meets them, with their answers.
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

#: How a box came about: dragged, as the hull of four extreme points (Papadopoulos et al. 2017), put there
#: by keys, or typed as numbers. What was done to it afterwards does not change that.
DRAWING_WAYS = ("drag", "extreme", "keys", "fields")

VOTE = "vote"
CONTROL = "control"
DOUBLE_CHECK = "double_check"
#: Given late, while others held every place the question had: superseded, and paid.
EXTRA = "extra"


class BadJudgment(ValueError):
    """A judgment whose answer its question does not know; names both."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a worker sends: one of the question's answers, with a box where it is "drawn"; or a flag.

    `way` is one of WAYS where the box came about in a known one; it is stored and settles nothing.
    `content` is what was ticked, written or described, as plain data, where the answer's word does
    not say it all.
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

    `answer` is one of ANSWERS of the key's question, with `box` where it is "drawn"; or it is
    empty and `flag` is one of FLAGS. Only votes enter the fold, and not when `withdrawn`; control
    answers, double checks and extra answers are kept beside it. `by_model`: a model annotator gave it.
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
        """The kind of question that was answered."""
        return question_of(self.key)


@dataclass(frozen=True, slots=True)
class Question:
    """A question an image waits for: an open task.

    `needed`: answers needed whatever they say. `barred`: workers who may not be asked, because
    they answered or flagged this key or drew the box in question. `mentions` are the ids
    concerned (a link's two; a chain's all, in caption order), `boxes` those accepted so far,
    `pending` the box whose quality is asked.
    """

    kind: str
    key: str
    needed: int
    barred: frozenset[str]
    mentions: tuple[str, ...]
    boxes: tuple[Box, ...] = ()
    pending: Box | None = None


def answers_to(kind: str) -> tuple[str, ...]:
    """The words that answer a question of `kind`; none where there is no such kind."""
    return kinds.kind_of(kind).answers if kind in kinds.KINDS else ()


def question_of(key: str) -> str:
    """The question a key belongs to: the word before the first bar."""
    return key[: key.index("|")] if "|" in key else key


def _corners(boxes: Iterable[Box]) -> str:
    return ";".join([corners_in_key(b.xmin, b.ymin, b.xmax, b.ymax) for b in boxes])


def link_key(a: Mention, b: Mention) -> str:
    """The key of "do these two refer to the same entities?", in either order."""
    first, second = sorted((a, b), key=lambda m: m.span)
    return f"{COREF_LINK}|{first.id}|{second.id}"


def chain_key(kind: str, mentions: Sequence[Mention], boxes: Iterable[Box] = ()) -> str:
    """The key of a question about a mention set and the boxes accepted for it."""
    return set_key(kind, mention_set(mentions), boxes)


def mention_set(mentions: Sequence[Mention]) -> str:
    """The name of a mention set in keys: the ids in caption order."""
    return " ".join([m.id for m in sorted(mentions, key=lambda m: m.span)])


def set_key(kind: str, mentions: str, boxes: Iterable[Box] = ()) -> str:
    """`chain_key` for a mention set that is named already."""
    return f"{kind}|{mentions}|{_corners(sorted(boxes))}"


def quality_key(drawing: str, pending: Box, boxes: Iterable[Box]) -> str:
    """The key of "is this box good?": the judgment that drew it, the box, and the boxes beside it. Its drawer
    may change the box, and a verdict is on the one that was shown."""
    return f"{BOX_QUALITY}|{drawing}|{_corners([pending])}|{_corners(sorted(boxes))}"


def judged_box(key: str) -> tuple[str, str]:
    """What the key of a box's quality asks about: the name of the judgment that drew it, and its corners as
    `corners_in_key` writes them."""
    _, drawing, pending, _ = key.split("|")
    return drawing, pending


def corners_in_key(*corners: int) -> str:
    """Left, top, right and bottom of a box, as keys have them."""
    return ",".join(map(str, corners))


def pair_key(kind: str, image: str, caption: str) -> str:
    """The key of a question of `kind` about a pair: the image's key, and the caption's name, IMAGE#NUMBER."""
    return f"{kind}|{image}|{caption}"


def page_key(kind: str, batch: str, number: int) -> str:
    """The key of page `number` (from 1) of a batch of pairs."""
    return f"{kind}|{batch}|{number}"


def judgment_name(image: str, worker: str, key: str, attempt: int = 0) -> str:
    """The id of a worker's judgment on a key of an image: 18 hexadecimal digits. People answer a key once; a
    model annotator may propose several boxes for one, which `attempt` tells apart, from 0.

    It enters the key of a box's quality, and must therefore not depend on when it was given.
    """
    parts = (image, worker, key, str(attempt)) if attempt else (image, worker, key)
    return blake2b("\x1f".join(parts).encode(), digest_size=9).hexdigest()


def check_judgment(judgment: Judgment) -> None:
    """Raise BadJudgment unless the judgment is one its question can take."""
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
    """The judgments with those of `worker` on `question` withdrawn, in the same order."""
    return [
        replace(j, withdrawn=True) if j.worker == worker and j.question == question else j for j in judgments
    ]
