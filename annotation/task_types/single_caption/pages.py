"""The page of a picture and one caption."""

from collections.abc import Callable, Mapping
from typing import Any

from annotation.task_types.base import Page, TaskType
from annotation.task_types.displayed import DisplayedImage, caption_text


class SingleCaption(TaskType):
    """A picture and one caption, written for it or for another.

    Content: {"caption": [image, number]}, with the id of the image that it was written for.
    """

    task_fields = {"caption": str}

    def page(self, content: Mapping[str, Any], image: DisplayedImage) -> Page:
        return Page(choices=self.choices, about=caption_text(*content["caption"]))

    def words_of_item(self, content: Mapping[str, Any], known: Any) -> tuple[str, ...]:
        return (caption_text(*content["caption"]),)

    def api_content(
        self, content: Mapping[str, Any], image: Callable[[DisplayedImage], Any]
    ) -> dict[str, Any]:
        return {"caption": caption_text(*content["caption"])}
