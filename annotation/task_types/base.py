"""The interface of a task type: how it shows a question, and how it parses answers.

A task type decides nothing: it turns a lease's content into a `Page` for its template, and the data of a form
or of the API into a `questions.Answer`. Each kind's folder has one in `type.py`, which registers itself under
the key of its question.

Source: Plummer et al. 2015, sections 2.1 and 2.2, for the questions and what is shown with them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from pydantic import Field
from typing_extensions import TypedDict

from annotation.common.operations import OneOf
from annotation.protocol.kinds import BadContent, kind_of
from annotation.protocol.questions import DRAWING_WAYS, FLAGS, Answer, answers_to
from annotation.protocol.terms import Box, Mention, representative
from annotation.task_types.displayed import DisplayedImage
from phrasebox.registry import Registry

TranslatableText = str | Promise

#: Maximum number of characters of a comment.
LONGEST_COMMENT = 2000
#: Maximum side of a picture in pixels.
LARGEST_EDGE = 1_000_000
#: A box in the API.
BoxCorners = Annotated[
    list[Annotated[int, Field(ge=1, le=LARGEST_EDGE)]],
    Field(min_length=4, max_length=4, description="xmin, ymin, xmax, ymax in pixels, from 1, inclusive"),
]
#: How a box was drawn.
WayText = Annotated[str, OneOf(lambda: dict.fromkeys(("", *DRAWING_WAYS)))]


class BadAnswer(ValueError):
    """Data that is no answer to the question; `field` is the invalid one."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field


class TaskImage(TypedDict):
    """An image for workers' programs; `width` and `height` are 0 if unknown."""

    name: str
    width: int
    height: int
    picture: str | None


class Choice(NamedTuple):
    """An answer as a button: its word in the protocol, its label, and a line below it."""

    value: str
    label: TranslatableText
    hint: TranslatableText = ""


class Pointed(NamedTuple):
    """A mention to be marked in its caption, with its number and colour in the question."""

    mention: Mention
    number: int
    hue: int


@dataclass(frozen=True, slots=True)
class Page:
    """A question's data for a template.

    `captions` are the numbers of those to be shown, in order; `pointed` the mentions marked in them; `boxes`
    the accepted ones; `pending` the box in question. `about` is data for the kind's own template.
    """

    captions: tuple[int, ...] = ()
    pointed: tuple[Pointed, ...] = ()
    boxes: tuple[Box, ...] = ()
    pending: Box | None = None
    choices: tuple[Choice, ...] = ()
    about: Any = None


class TaskType:
    """One kind of question.

    `key` is its name in the protocol, `title` its name in a worker's list, `summary` one sentence on the
    work. For staff there are `name` (a noun, for tables), `question_words` (the question, in short), `yields`
    (the result of a campaign; "" if not described) and `answer_words` (labels of answers, by the protocol's
    word). `schema_version` increases when the form of the answer changes, and is stored with each judgment.
    `task_fields` (of the result of `api_content`) and `answer_fields` (of the input of `parse`) are the types
    of this kind's own fields in the API's tasks and answers. `annotation.instructions` has its instructions
    for workers, in versions, under the same key.
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
        """Name of the kind's `task.html` (`annotation.task_types.files`)."""
        return f"task_types/{self.key}/task.html"

    @property
    def sign(self) -> str:
        """Its icon, the kind's `sign.svg`, among the static files."""
        return f"annotation/signs/{self.key}.svg"

    def page(self, content: Mapping[str, Any], image: DisplayedImage) -> Page:
        """Return what to show of a lease's `content` (as in `protocol.contents`) over its image."""
        mentions = _mentions_of(content, image)
        pointed = self.point(mentions)
        return Page(
            captions=tuple(dict.fromkeys(pointed_at.mention.caption for pointed_at in pointed)),
            pointed=pointed,
            # In an order that does not reveal when they were drawn.
            boxes=tuple(sorted(Box(*corners) for corners in content["boxes"])),
            pending=Box(*content["pending"]) if content["pending"] else None,
            choices=self.choices_for(content),
        )

    def point(self, mentions: Sequence[Mention]) -> tuple[Pointed, ...]:
        """Return the mentions to mark: of a chain only its representative (section 2.2)."""
        return (Pointed(representative(mentions), 1, 1),)

    def choices_for(self, content: Mapping[str, Any]) -> tuple[Choice, ...]:
        """Return the buttons, if they depend on what is shown."""
        return self.choices

    def parse(self, data: Mapping[str, Any]) -> Answer:
        """Return the answer in `data`, as parsed by `answer_in`, if it is valid for this question. Raises
        BadAnswer."""
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

    def parse_for(self, data: Mapping[str, Any], number: Callable[[str], int]) -> Answer:
        """Return the answer in `data`, if a campaign with these numbers accepts it. Raises BadAnswer."""
        answer = self.parse(data)
        try:
            if answer.content:
                kind_of(self.key).check(answer.content, number)
        except BadContent as error:
            raise BadAnswer(error.field, _(error.text) % error.params) from error
        return answer

    def api_content(
        self, content: Mapping[str, Any], image: Callable[[DisplayedImage], Any]
    ) -> dict[str, Any]:
        """Return the kind's own fields of a lease's `content` in the API; `image` converts an image."""
        return {}

    def limits(self, number: Callable[[str], int]) -> str:
        """Return what the numbers of a campaign require of an answer, for the instructions; "" if nothing."""
        return ""

    def words_of_item(self, content: Mapping[str, Any], known: Any) -> tuple[str, ...] | None:
        """Return the words that a control item is about, for lists of staff; None if it is about mentions."""
        return None

    def from_form(self, form: Mapping[str, str]) -> dict[str, Any]:
        """Return a page's form as data for `parse`. Raises BadAnswer."""
        return {name: form.get(name, "") for name in ("answer", "flag", "comment")}

    def to_form(self, answer: Answer) -> dict[str, str]:
        """Return the fields of a page's form for `answer`, whose content is as in its judgment."""
        return {"answer": answer.answer, "flag": answer.flag, "comment": answer.comment}


TASK_TYPES: Registry[TaskType] = Registry("task type")


def answer_in(data: Mapping[str, Any]) -> Answer:
    """Return the answer in `data`, for any question: `answer`, `box` and `way`, or `flag` and `comment`.

    Missing fields may also be null or ""; a box is [xmin, ymin, xmax, ymax] in pixels, 1-based and inclusive,
    and `way`, one of DRAWING_WAYS, only comes with it. `TaskType.parse`, or `submission.submit`, checks
    whether the answer is valid for the question. Raises BadAnswer.
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
    """Return the text of a field, "" if it is missing or null. Raises BadAnswer for anything else."""
    value = data.get(field)
    if value is None:
        return ""
    if not isinstance(value, str) or "\0" in value:  # no database stores it
        raise BadAnswer(field, _("“%(field)s” must be text.") % {"field": field})
    return value


def box_in(value: Any) -> Box:
    """Return the box [xmin, ymin, xmax, ymax]. Raises BadAnswer."""
    if not isinstance(value, list) or len(value) != 4:
        raise BadAnswer("box", _("A box has four edges: [xmin, ymin, xmax, ymax]."))
    if not all(type(edge) is int and 1 <= edge <= LARGEST_EDGE for edge in value):
        raise BadAnswer("box", _("The edges of a box are whole numbers of pixels, counted from 1."))
    xmin, ymin, xmax, ymax = value
    if xmin > xmax or ymin > ymax:
        raise BadAnswer("box", _("This is not a box: left must come before right, and top before bottom."))
    return Box(xmin, ymin, xmax, ymax)


def _mentions_of(content: Mapping[str, Any], image: DisplayedImage) -> tuple[Mention, ...]:
    """Return the mentions of a content by their ids, in caption order."""
    mentions = []
    for name in content["mentions"]:
        caption, _colon, span = name.partition(":")
        start, end = map(int, span.split("-"))
        words = image.captions[int(caption)].words[start:end]
        mentions.append(Mention(int(caption), start, end, words, ()))
    return tuple(sorted(mentions, key=lambda mention: mention.span))
