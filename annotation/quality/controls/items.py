"""A control item as people write it, and the checked row that it becomes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from annotation.models import Campaign, Caption, Control, Image
from annotation.protocol import questions as q
from annotation.protocol.contents import corners, question_content
from annotation.protocol.grading import BadGoldAnswer, stratum
from annotation.protocol.kinds import MEASURED_ON_CONTROLS, BadItem, judging_kinds, kind_of
from annotation.protocol.questions import Question
from annotation.protocol.terms import Box, Mention
from annotation.quality.controls.pools import gold_from_json

_MENTION = re.compile(r"(\d+):(\d+)-(\d+)")


@dataclass(frozen=True, slots=True)
class ControlItem:
    """A question with its gold answer, as people write it.

    `image` is the image's key in the campaign's corpus; `mentions` are ids (caption:start-end, all from 0,
    end exclusive); `boxes` are the accepted ones, `pending` is the one to be judged. `known`: the answer's
    word, or for drawing the boxes still to be drawn. `key` is set if the question occurred in a campaign;
    else it is made from the rest.
    """

    kind: str
    purpose: str
    image: str
    mentions: tuple[str, ...]
    known: str | tuple[Box, ...]
    boxes: tuple[Box, ...] = ()
    pending: Box | None = None
    explanation: str = ""
    key: str = ""


class ControlItemName(NamedTuple):
    """The name of a control item for people: the kind of question, the image's key, and the answer."""

    kind: str
    image: str
    answer: str

    def __str__(self) -> str:
        return f"{self.kind} about image {self.image}: {self.answer}"


class Images:
    """Some images of a corpus by their key, with the words of their captions by id and number."""

    def __init__(self, corpus: int, keys: Iterable[str]) -> None:
        self.rows = {row.key: row for row in Image.objects.filter(corpus=corpus, key__in=set(keys))}
        self.words: dict[int, dict[int, list[str]]] = {row.pk: {} for row in self.rows.values()}
        for caption in Caption.objects.filter(image__in=self.words):
            self.words[caption.image_id][caption.number] = caption.words


def control_item_of(
    question: Question, *, image: str, purpose: str, known: str | tuple[Box, ...], **also: str
) -> ControlItem:
    """Return the control item that shows `question` about an image."""
    return ControlItem(
        question.kind,
        purpose,
        image,
        question.mentions,
        known,
        question.boxes,
        question.pending,
        **also,
    )


def gold_answer_json(known: str | Sequence[Box]) -> Any:
    """Return a gold answer in the form of its row."""
    return known if isinstance(known, str) else [corners(box) for box in known]


def control_row(item: ControlItem, *, campaign: Campaign, images: Images) -> Control:
    """Return the row of a control item, not stored yet, without its source. Raises BadItem."""
    if item.kind not in campaign.kinds:
        raise BadItem(f"unknown kind {item.kind!r}; known: {', '.join(campaign.kinds)}")
    if item.purpose not in Control.PURPOSES:
        raise BadItem(f"unknown purpose {item.purpose!r}; known: {', '.join(Control.PURPOSES)}")
    if item.purpose == Control.CONTROL and kind_of(item.kind).measured_on != MEASURED_ON_CONTROLS:
        raise BadItem(
            f"{item.kind} has no control items, its accuracy is measured on "
            f"{kind_of(item.kind).measured_on}; expected the purpose 'qualification'"
        )
    if item.image not in images.rows:
        raise BadItem(f"there is no image {item.image!r} in corpus {campaign.corpus.name!r}")
    image = images.rows[item.image]
    question = _question(item, image, images.words[image.pk])
    content = gold_answer_json(item.known)
    try:
        if isinstance(content, str) == kind_of(item.kind).draws:
            raise BadItem(f"gold answer {content!r} is not an answer to {item.kind}")
        answer = stratum(item.kind, gold_from_json(item.kind, content))
    except BadGoldAnswer as error:
        raise BadItem(f"{error}, which are the answers to {item.kind}") from error
    _check_boxes(image, item.known if not isinstance(item.known, str) else ())
    return Control(
        campaign=campaign,
        kind=item.kind,
        purpose=item.purpose,
        image=image,
        key=question.key,
        content=question_content(question),
        known=content,
        stratum=answer,
        explanation=item.explanation,
    )


def _question(item: ControlItem, image: Image, words: Mapping[int, list[str]]) -> Question:
    """Return the question of an item, under its key. Raises BadItem."""
    mentions = sorted((_mention(name, image, words) for name in item.mentions), key=lambda m: m.span)
    kind = kind_of(item.kind)
    least, most = kind.mentions
    if len({m.id for m in mentions}) < len(mentions):
        raise BadItem("a mention is named twice; expected each once")
    if len(mentions) < least or (most is not None and len(mentions) > most):
        raise BadItem(
            f"{len(mentions)} mentions for {item.kind}; expected {least}{'' if most else ' or more'}"
        )
    if item.boxes and not kind.shows_boxes:
        raise BadItem(f"{item.kind} shows no boxes; expected none")
    if kind.needs_boxes and not item.boxes:
        raise BadItem(
            f"{item.kind} asks whether boxes are missing beside those accepted; expected one or more"
        )
    if (item.pending is not None) != bool(kind.judges):
        judging = ", ".join(judging_kind for judging_kind, _ in judging_kinds())
        raise BadItem(f"a pending box belongs to {judging}, which needs one, and to nothing else")
    _check_boxes(image, (*item.boxes, *([item.pending] if item.pending else [])))
    if item.key:
        key = item.key
    elif kind.mentions == (2, 2):
        key = q.link_key(*mentions)
    elif item.pending is None:
        key = q.chain_key(item.kind, mentions, item.boxes)
    else:
        # Real ones contain the judgment that drew the box; nobody drew this one.
        about = q.chain_key(item.kind, mentions, (item.pending,))
        key = q.quality_key(q.judgment_name(image.key, "", about), item.pending, item.boxes)
    return Question(
        item.kind,
        key,
        1,
        frozenset(),
        tuple(m.id for m in mentions),
        tuple(sorted(item.boxes)) if not item.key else item.boxes,
        item.pending,
    )


def _mention(name: str, image: Image, words: Mapping[int, list[str]]) -> Mention:
    """Return the mention of that id, with its words. Raises BadItem if the image's captions have none."""
    match = _MENTION.fullmatch(name)
    if not match:
        raise BadItem(f"mention {name!r}: expected caption:start-end, as 0:3-5")
    caption, start, end = map(int, match.groups())
    if caption not in words:
        raise BadItem(f"mention {name!r}: image {image.key!r} has no caption {caption}")
    if not start < end <= len(words[caption]):
        raise BadItem(
            f"mention {name!r}: caption {caption} of image {image.key!r} has {len(words[caption])} words; "
            "expected start < end within them"
        )
    return Mention(caption, start, end, tuple(words[caption][start:end]), ("other",))


def _check_boxes(image: Image, boxes: Iterable[Box]) -> None:
    """Raise BadItem if a box extends beyond its image, if the image's size is known."""
    for box in boxes:
        if image.width and (box.xmax > image.width or box.ymax > image.height):
            raise BadItem(
                f"box {corners(box)} leaves image {image.key!r}, which has {image.width} x {image.height} "
                "pixels"
            )
