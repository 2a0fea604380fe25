"""The pictures beside the built-in instructions: `{% examples text %}`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from annotation import instructions
from annotation.instructions import Text
from annotation.protocol.terms import Box
from annotation.task_types.base import Page
from annotation.task_types.practice import EXAMPLES, Example, posed
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from annotation.task_types.relevance.rules import RELEVANCE
from annotation.task_types.shown import ShownImage
from annotation.web.annotator.task_page import Bit, bits, boxes_of
from annotation.web.common.overlay import DrawnBox, Frame

register = template.Library()


@dataclass(frozen=True, slots=True)
class Drawn:
    """An example laid out; `answer` is what the button that was pressed says, where there are several."""

    example: Example
    image: ShownImage
    boxes: list[DrawnBox]
    captions: list[list[Bit]]
    sentence: str
    answer: Any


@register.simple_tag
def examples(text: Text) -> SafeString:
    """Good and bad answers as pictures, where the text is ours: beside another one they might be wrong."""
    language = get_language()
    if text.kind not in EXAMPLES or not instructions.is_built_in(text, language):
        return mark_safe("")
    return _rendered(text.kind, language or "")


@lru_cache(maxsize=64)
def _rendered(kind: str, language: str) -> SafeString:
    """The same on every page of a kind and language: laid out once."""
    shown = [_drawn(kind, example) for example in EXAMPLES[kind]]
    return render_to_string("annotation/tasks/_examples.html", {"examples": shown})


def _drawn(kind: str, example: Example) -> Drawn:
    item = example.item
    page, image = (Page(), posed(kind, item)[1]) if kind == RELEVANCE else posed(kind, item)
    sentence = item.sentence
    if kind == REGION_DESCRIPTION:
        (corners, sentence), *_others = item.regions
        page = replace(page, pending=Box(*corners))
    elif item.pending:
        page = replace(page, pending=Box(*item.pending))
    captions = [
        bits(image.captions[number], [each for each in page.pointed if each.mention.caption == number])
        for number in page.captions
    ]
    labels = {choice.value: choice.label for choice in page.choices}
    return Drawn(
        example,
        image,
        boxes_of(page, Frame(image.width, image.height)),
        captions,
        sentence,
        labels.get(item.right, "") if item.pending is None or item.right != "drawn" else "",
    )
