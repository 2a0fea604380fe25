"""What ticked pages show, and how ticks are parsed; a kind adds its words.

Source: Hodosh et al. 2013, section 4.3.2.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from django.utils.translation import gettext as _
from pydantic import Field
from typing_extensions import TypedDict

from annotation.protocol.questions import Answer
from annotation.task_types.base import BadAnswer, Page, TaskImage, TaskType
from annotation.task_types.displayed import DisplayedImage, caption_text, displayed_image

#: Maximum number of images of a page, and of captions beside one.
_MOST = 100


class DisplayedBlock(NamedTuple):
    """One picture of a page with its sentences, each under the name of its checkbox."""

    image: DisplayedImage
    sentences: tuple[tuple[str, str], ...]


class TaskBlock(TypedDict):
    """One picture of a page, with the texts to be ticked."""

    image: TaskImage
    captions: list[str]


class TickedPages(TaskType):
    """A page of pictures, each with texts to be ticked: captions of the corpus, by image and index.

    Content: {"blocks": [{"image": id, "captions": [[image, number], ...]}, ...]} in the order shown; the
    answer's: {"ticked": [[bool, ...], ...]} in the same order.
    """

    task_fields = {"blocks": list[TaskBlock]}
    answer_fields = {
        "ticked": Annotated[
            list[Annotated[list[bool], Field(max_length=_MOST)]], Field(min_length=1, max_length=_MOST)
        ]
    }

    def page(self, content: Mapping[str, Any], image: DisplayedImage) -> Page:
        return Page(
            choices=self.choices,
            about=tuple(
                DisplayedBlock(
                    displayed_image(block["image"]),
                    tuple(
                        (checkbox_name(index, number), caption_text(*caption))
                        for number, caption in enumerate(block["captions"])
                    ),
                )
                for index, block in enumerate(content["blocks"])
            ),
        )

    def api_content(
        self, content: Mapping[str, Any], image: Callable[[DisplayedImage], Any]
    ) -> dict[str, Any]:
        return {
            "blocks": [
                {
                    "image": image(displayed_image(block["image"])),
                    "captions": [caption_text(*caption) for caption in block["captions"]],
                }
                for block in content["blocks"]
            ]
        }

    def parse(self, data: Mapping[str, Any]) -> Answer:
        answer = super().parse(data)
        return (
            answer if answer.flag else Answer(answer.answer, content={"ticked": _ticked(data.get("ticked"))})
        )

    def words_of_item(self, content: Mapping[str, Any], known: Any) -> tuple[str, ...]:
        """The true captions of the image."""
        (block,) = content["blocks"]
        return tuple(caption_text(*c) for c, true in zip(block["captions"], known, strict=True) if true)

    def from_form(self, form: Mapping[str, str]) -> dict[str, Any]:
        data = super().from_form(form)
        if data["answer"] != "judged":
            return data
        try:
            sizes = [int(size) for size in form.get("sizes", "").split(",")]
        except ValueError:
            sizes = []
        if not sizes or len(sizes) > _MOST or not all(0 < size <= _MOST for size in sizes):
            raise BadAnswer("ticked", _("This page is incomplete: reload it."))
        ticked = [
            [checkbox_name(index, number) in form for number in range(size)]
            for index, size in enumerate(sizes)
        ]
        return {**data, "ticked": ticked}

    def to_form(self, answer: Answer) -> dict[str, str]:
        form = super().to_form(answer)
        for index, block in enumerate((answer.content or {}).get("blocks", ())):
            ticked = [number for number, yes in enumerate(block.get("yes", ())) if yes]
            form |= {checkbox_name(index, number): "on" for number in ticked}
        return form


def checkbox_name(block: int, caption: int) -> str:
    """The name of a checkbox."""
    return f"tick-{block}-{caption}"


def _ticked(value: Any) -> list[list[bool]]:
    whole = (
        isinstance(value, Sequence)
        and 0 < len(value) <= _MOST
        and all(
            isinstance(row, list) and len(row) <= _MOST and all(isinstance(tick, bool) for tick in row)
            for row in value
        )
    )
    if not whole:
        raise BadAnswer("ticked", _("“ticked” must be a list for each picture: true or false for each text."))
    return [list(row) for row in value]
