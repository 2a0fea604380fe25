"""The pictures beside the built-in instructions: `{% examples text %}`."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from annotation import instructions
from annotation.instructions import CampaignText
from annotation.protocol.kinds import draws
from annotation.task_types.displayed import DisplayedImage
from annotation.task_types.practice import PRACTICE, PracticeExample, practice_scene
from annotation.web.common.marking import CaptionPiece, caption_pieces
from annotation.web.common.overlay import DrawnBox, Frame, boxes_of

register = template.Library()


@dataclass(frozen=True, slots=True)
class _Drawn:
    """An example laid out; `answer` is the label of its button, if there are several."""

    example: PracticeExample
    image: DisplayedImage
    boxes: list[DrawnBox]
    captions: list[list[CaptionPiece]]
    sentence: str
    answer: Any


@register.simple_tag
def examples(text: CampaignText) -> SafeString:
    """Render good and bad answers as pictures for a built-in text: beside another text they might be
    wrong."""
    language = get_language()
    if text.kind not in PRACTICE or not instructions.is_built_in_text(text, language):
        return mark_safe("")
    return _rendered(text.kind, language or "")


@lru_cache(maxsize=64)
def _rendered(kind: str, language: str) -> SafeString:
    """The same on every page of a kind and language: rendered once."""
    examples = [_drawn(kind, example) for example in PRACTICE.get(kind).examples]
    return render_to_string("annotation/tasks/_examples.html", {"examples": examples})


def _drawn(kind: str, example: PracticeExample) -> _Drawn:
    item = example.item
    page, sentence = PRACTICE.get(kind).pictured(item)
    image = practice_scene(item.scene).image
    captions = [
        caption_pieces(
            image.captions[number], [mention for mention in page.pointed if mention.mention.caption == number]
        )
        for number in page.captions
    ]
    labels = {choice.value: choice.label for choice in page.choices}
    return _Drawn(
        example,
        image,
        boxes_of(page, Frame(image.width, image.height)),
        captions,
        sentence,
        # For a drawn box, the picture is the answer.
        "" if item.pending and draws(kind) else labels.get(item.right, ""),
    )
