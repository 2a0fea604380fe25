"""A caption and four buttons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from annotation.task_types.base import TASK_TYPES, Choice, Page, TaskType
from annotation.task_types.displayed import DisplayedImage, caption_text
from tests.plugged_in.caption_fluency.rules import CAPTION_FLUENCY


class CaptionFluency(TaskType):
    """Content: {"caption": [image, number]}."""

    key = CAPTION_FLUENCY
    title = "How well is it written?"
    summary = "A sentence: how well is it written?"
    name = "fluency"
    question_words = "how fluent?"
    answer_words = {"1": "1: broken", "2": "2: clumsy", "3": "3: fair", "4": "4: fluent"}
    choices = (Choice("4", "Fluent"), Choice("3", "Fair"), Choice("2", "Clumsy"), Choice("1", "Broken"))

    def page(self, content: Mapping[str, Any], image: DisplayedImage) -> Page:
        return Page(choices=self.choices, about=caption_text(*content["caption"]))

    def words_of_item(self, content: Mapping[str, Any], known: Any) -> tuple[str, ...]:
        return (caption_text(*content["caption"]),)

    def api_content(
        self, content: Mapping[str, Any], image: Callable[[DisplayedImage], Any]
    ) -> dict[str, Any]:
        return {"caption": caption_text(*content["caption"])}


TASK_TYPES.register(CaptionFluency.key, CaptionFluency())
