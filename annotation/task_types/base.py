"""The contract of a task type: what it shows of a question, and how it reads what comes back.

A task type settles nothing: it turns a lease's content into a `Page` for its template, and the
data of a form or of the API into a `questions.Answer`. Each kind's folder has one in `type.py`, which
registers itself under the key of its question.

Source: Plummer et al. 2015, sections 2.1 and 2.2, for what is asked and what is shown with it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from pydantic import Field
from typing_extensions import TypedDict

from annotation.common.operations import OneOf
from annotation.protocol.questions import DRAWING_WAYS, FLAGS, Answer, answers_to
from annotation.protocol.terms import Box, Mention, representative
from annotation.task_types.displayed import DisplayedImage
from phrasebox.registry import Registry

TranslatableText = str | Promise

#: Characters of a comment, at most.
LONGEST_COMMENT = 2000
#: No picture has more pixels a side.
LARGEST_EDGE = 1_000_000
#: A box as programs send it and are told it.
BoxCorners = Annotated[
    list[Annotated[int, Field(ge=1, le=LARGEST_EDGE)]],
    Field(min_length=4, max_length=4, description="xmin, ymin, xmax, ymax in pixels, from 1, inclusive"),
]
#: How a box came about.
WayText = Annotated[str, OneOf(lambda: dict.fromkeys(("", *DRAWING_WAYS)))]


class BadAnswer(ValueError):
    """Data that is no answer to the question; `field` is the one to blame."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field


class TaskImage(TypedDict):
    """An image as programs of workers are told it; `width` and `height` are 0 where nobody knows."""

    name: str
    width: int
    height: int
    picture: str | None


class Choice(NamedTuple):
    """An answer as a button: its word in the protocol, what the button says, and a line below that."""

    value: str
    label: TranslatableText
    hint: TranslatableText = ""


class Pointed(NamedTuple):
    """A mention to be marked in its caption, with the number and the colour that the question names it by."""

    mention: Mention
    number: int
    hue: int


@dataclass(frozen=True, slots=True)
class Page:
    """What a template needs of a question.

    `captions` are the numbers of those to be shown, in order; `pointed` the mentions marked in
    them; `boxes` those accepted so far; `pending` the box in question. `about` is what only the
    kind's own template knows to show.
    """

    captions: tuple[int, ...] = ()
    pointed: tuple[Pointed, ...] = ()
    boxes: tuple[Box, ...] = ()
    pending: Box | None = None
    choices: tuple[Choice, ...] = ()
    about: Any = None


class TaskType:
    """One kind of question.

    `key` is its name in the protocol, `title` what a worker's list calls it, `summary` one
    sentence on what one does. Staff read `name` (a noun, for tables), `question_words` (what is asked, in
    short), `yields` (what a campaign that asks it gives; "" where nobody says) and `answer_words` (what was
    answered, by the protocol's word). `schema_version` rises when the form of the answer changes, and is kept
    with each judgment. `task_fields` (of what `api_content` returns) and `answer_fields` (of what `parse`
    reads) are the types of what the API's tasks and answers have of this kind alone.
    `annotation.instructions` holds what workers are told of it, in versions, under the same key.
    """

    key: ClassVar[str]
    title: ClassVar[TranslatableText]
    summary: ClassVar[TranslatableText]
    name: ClassVar[TranslatableText]
    question_words: ClassVar[TranslatableText]
    yields: ClassVar[TranslatableText] = ""
    answer_words: ClassVar[Mapping[str, TranslatableText]]
    choices: ClassVar[tuple[Choice, ...]]
    schema_version: ClassVar[int] = 1
    task_fields: ClassVar[Mapping[str, Any]] = {}
    answer_fields: ClassVar[Mapping[str, Any]] = {}

    @property
    def template(self) -> str:
        """The name of the kind's `task.html` (`annotation.task_types.files`)."""
        return f"task_types/{self.key}/task.html"

    @property
    def sign(self) -> str:
        """The picture that stands for it, the kind's `sign.svg`, among the static files."""
        return f"annotation/signs/{self.key}.svg"

    def page(self, content: Mapping[str, Any], image: DisplayedImage) -> Page:
        """What to show of a lease's `content` (as `protocol.contents` has it) over its image."""
        mentions = _mentions_of(content, image)
        pointed = self.point(mentions)
        return Page(
            captions=tuple(dict.fromkeys(pointed_at.mention.caption for pointed_at in pointed)),
            pointed=pointed,
            # In an order of their own: that in which they came about is no business of the question's.
            boxes=tuple(sorted(Box(*corners) for corners in content["boxes"])),
            pending=Box(*content["pending"]) if content["pending"] else None,
            choices=self.choices_for(content),
        )

    def point(self, mentions: Sequence[Mention]) -> tuple[Pointed, ...]:
        """Which mentions are marked: of a chain only the one that stands for it (section 2.2)."""
        return (Pointed(representative(mentions), 1, 1),)

    def choices_for(self, content: Mapping[str, Any]) -> tuple[Choice, ...]:
        """The buttons, where they depend on what is shown."""
        return self.choices

    def parse(self, data: Mapping[str, Any]) -> Answer:
        """The answer in `data`, as `answer_in` reads it, if it is one to this question. Raises BadAnswer."""
        answer = answer_in(data)
        if answer.flag:
            return answer
        if answer.answer not in answers_to(self.key):
            raise BadAnswer(
                "answer",
                _("“%(given)s” is not an answer to this question: expected one of %(known)s.")
                % {"given": answer.answer, "known": ", ".join(answers_to(self.key))},
            )
        if answer.box is None and answer.answer == "drawn":
            raise BadAnswer("box", _("Draw a box first."))
        if answer.box is not None and answer.answer != "drawn":
            raise BadAnswer("box", _("This answer cannot have a box."))
        return answer

    def api_content(
        self, content: Mapping[str, Any], image: Callable[[DisplayedImage], Any]
    ) -> dict[str, Any]:
        """What the API shows of a lease's `content`, beside what it shows of every question; `image` says
        how an image is told."""
        return {}

    def words_of_item(self, content: Mapping[str, Any], known: Any) -> tuple[str, ...] | None:
        """The words that a control item is about, for lists of staff; None where it is about mentions."""
        return None

    def from_form(self, form: Mapping[str, str]) -> dict[str, Any]:
        """What a page's form sends, as `parse` takes it. Raises BadAnswer."""
        return {name: form.get(name, "") for name in ("answer", "flag", "comment")}

    def to_form(self, answer: Answer) -> dict[str, str]:
        """The fields of a page's form that say `answer`, whose content is as its judgment keeps it."""
        return {"answer": answer.answer, "flag": answer.flag, "comment": answer.comment}


TASK_TYPES: Registry[TaskType] = Registry("task type")


def answer_in(data: Mapping[str, Any]) -> Answer:
    """What `data` says, whatever the question: `answer`, `box` and `way`, or `flag` and `comment`.

    What is absent may also be null or ""; a box is [xmin, ymin, xmax, ymax] in pixels, 1-based and
    inclusive, and `way`, one of WAYS, comes with it alone. Whether the question takes the answer is for
    `TaskType.parse`, or for `submission.submit`, to say. Raises BadAnswer.
    """
    answer, flag, comment = (text_in(data, field) for field in ("answer", "flag", "comment"))
    box = box_in(data["box"]) if data.get("box") else None
    way = text_in(data, "way")
    if way and (way not in DRAWING_WAYS or not box):
        raise BadAnswer(
            "way",
            _("“%(given)s” is not a way of drawing: with a box, expected one of %(known)s.")
            % {"given": way, "known": ", ".join(DRAWING_WAYS)},
        )
    if not flag:
        return Answer(answer, box, way=way)
    if flag not in FLAGS:
        raise BadAnswer(
            "flag",
            _("“%(given)s” is not a known problem: expected one of %(known)s.")
            % {"given": flag, "known": ", ".join(FLAGS)},
        )
    if answer or box:
        raise BadAnswer("flag", _("Answer or report a problem, but not both."))
    if len(comment) > LONGEST_COMMENT:
        raise BadAnswer(
            "comment",
            _("The comment has %(length)d characters; at most %(most)d are allowed.")
            % {"length": len(comment), "most": LONGEST_COMMENT},
        )
    return Answer(flag=flag, comment=comment.strip())


def text_in(data: Mapping[str, Any], field: str) -> str:
    """The text of a field, "" where it is absent or null; BadAnswer where it is anything else."""
    value = data.get(field)
    if value is None:
        return ""
    if not isinstance(value, str) or "\0" in value:  # which no database stores
        raise BadAnswer(field, _("“%(field)s” must be text.") % {"field": field})
    return value


def box_in(value: Any) -> Box:
    """The box that [xmin, ymin, xmax, ymax] is. Raises BadAnswer."""
    if not isinstance(value, list) or len(value) != 4:
        raise BadAnswer("box", _("A box has four edges: [xmin, ymin, xmax, ymax]."))
    if not all(type(edge) is int and 1 <= edge <= LARGEST_EDGE for edge in value):
        raise BadAnswer("box", _("The edges of a box are whole numbers of pixels, counted from 1."))
    xmin, ymin, xmax, ymax = value
    if xmin > xmax or ymin > ymax:
        raise BadAnswer("box", _("This is not a box: left must come before right, and top before bottom."))
    return Box(xmin, ymin, xmax, ymax)


def _mentions_of(content: Mapping[str, Any], image: DisplayedImage) -> tuple[Mention, ...]:
    """The mentions that a content names by their ids, in caption order."""
    mentions = []
    for name in content["mentions"]:
        caption, _colon, span = name.partition(":")
        start, end = map(int, span.split("-"))
        words = image.captions[int(caption)].words[start:end]
        mentions.append(Mention(int(caption), start, end, words, ()))
    return tuple(sorted(mentions, key=lambda mention: mention.span))
