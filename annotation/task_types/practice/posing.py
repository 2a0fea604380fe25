"""An item of practice as a question page shows it."""

from __future__ import annotations

from annotation.task_types.base import TASK_TYPES, Page
from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from annotation.task_types.practice.records import Item
from annotation.task_types.practice.scenes import scene
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from annotation.task_types.relevance.rules import RELEVANCE
from annotation.task_types.relevance.type import ShownBlock, field_of
from annotation.task_types.shown import ShownImage


def posed(kind: str, item: Item) -> tuple[Page, ShownImage]:
    """What a question's page shows of `item`, and over which picture."""
    type, image = TASK_TYPES.get(kind), scene(item.scene).image
    if kind == RELEVANCE:
        blocks = tuple(
            ShownBlock(
                scene(name).image,
                tuple((field_of(place, number), text) for number, (text, _fits) in enumerate(sentences)),
            )
            for place, (name, sentences) in enumerate(item.blocks)
        )
        return Page(choices=type.choices, about=blocks), image
    if kind == GRADED_RELEVANCE:
        return Page(choices=type.choices, about=item.sentence), image
    content: dict[str, object] = {}
    if kind == CAPTION_WRITING:
        content = {"sentence": item.sentence} if item.sentence else {}
    elif kind == REGION_DESCRIPTION:
        content = {"regions": len(item.regions)}
    else:
        content = {
            "mentions": list(item.mentions),
            "boxes": [list(corners) for corners in item.boxes],
            "pending": list(item.pending) if item.pending else None,
        }
    return type.page(content, image), image
