"""Template tags of task pages: a marked phrase inside a translated sentence."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation.models import WorkerMessage
from annotation.task_types.box_drawing.type import EDGES
from annotation.task_types.region_description.type import LONGEST_REGION_TEXT, region_field_name
from annotation.web.annotator.task_page import TaskPage
from annotation.web.common.marking import CaptionPiece, as_printed
from annotation.web.common.overlay import ASKED_OF_WORKER, MARK, hue
from annotation.workers import messages

register = template.Library()
register.filter(as_printed)


@register.filter
def phrase(bit: CaptionPiece) -> SafeString:
    """Render a marked phrase with its name and colour, as in the captions."""
    return format_html(
        '<mark class="mention hue-{}"><span class="words">'
        '<span class="bound"><b class="chip">{}</b>{}</span>{}</span></mark>',
        bit.hue,
        bit.name,
        bit.first,
        bit.rest,
    )


@register.filter
def is_clipped(caption: Sequence[CaptionPiece]) -> bool:
    """Whether a part of a caption is shown only on request."""
    return any(bit.cut for bit in caption)


@register.simple_tag
def question_box() -> SafeString:
    """Render the name of the box in question, in its colour."""
    return format_html('<b class="chip hue-{}">{}</b>', ASKED_OF_WORKER, MARK)


register.filter(messages.rejected_answers)


@register.simple_tag(takes_context=True)
def unread(context: dict[str, Any]) -> list[WorkerMessage]:
    """Return the messages of researchers that the caller has not read yet."""
    user = context["request"].user
    return messages.unread_of_account(user.pk) if user.is_authenticated else []


class RegionRow(NamedTuple):
    """One region of a form: its position from 0, the prefix of its fields' names, its input; for each edge
    its name, its value and its maximum."""

    position: int
    name: str
    text: str
    way: str
    edges: tuple[tuple[str, str, int | None], ...]

    @property
    def number(self) -> int:
        """Its number on the page, from 1."""
        return self.position + 1

    @property
    def hue(self) -> int:
        """The number of its colour."""
        return hue(self.number)

    @property
    def longest(self) -> int:
        """Maximum number of characters of its text."""
        return LONGEST_REGION_TEXT


@register.simple_tag(takes_context=True)
def region_rows(context: dict[str, Any]) -> list[RegionRow]:
    """Return a row for each region of the task."""
    task: TaskPage = context["task"]
    most = {"xmin": task.image.width, "xmax": task.image.width}

    def entered(number: int, name: str) -> str:
        return task.entered.get(region_field_name(number, name), "")

    return [
        RegionRow(
            number,
            f"region-{number}",
            entered(number, "text"),
            entered(number, "way"),
            tuple((e, entered(number, e), most.get(e, task.image.height) or None) for e in EDGES),
        )
        for number in range(task.page.about)
    ]
