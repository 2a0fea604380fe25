"""What a question showed: the image and the content of an answer's task or control item."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotation.models import Item, Judgment
from annotation.protocol.kinds import is_page
from annotation.task_types.displayed import DisplayedImage, displayed_images


def shown_image(row: Judgment) -> int | None:
    """Return the corpus's image that an answer is about."""
    if row.image is not None:
        return row.image.image_id
    control = row.assignment.control if row.assignment is not None else None
    return control.image_id if control is not None else None


def shown_contents(rows: Sequence[Judgment]) -> dict[int, Mapping[str, Any]]:
    """Return what was shown with each answer, by its id; for a page, what its answer stores of it."""
    tasks = [row.assignment.task_id for row in rows if row.assignment is not None]
    items = Item.objects.filter(task__in=[task for task in tasks if task is not None], position=0)
    of_task = dict(items.values_list("task", "content"))
    contents: dict[int, Mapping[str, Any]] = {}
    for row in rows:
        if is_page(row.kind):
            contents[row.pk] = row.content or {}
        elif row.assignment is not None:
            control, task = row.assignment.control, row.assignment.task_id
            contents[row.pk] = control.content if control is not None else of_task.get(task or 0, {})
    return contents


def shown_with(
    rows: Sequence[Judgment],
) -> tuple[dict[int, Mapping[str, Any]], dict[int, int], dict[int, DisplayedImage]]:
    """Return the content and the image of each answer, by the answer's id, and all images shown, by their
    own; three queries at most."""
    contents = shown_contents(rows)
    image_of = {row.pk: image for row in rows if (image := shown_image(row)) is not None}
    beside = {image for content in contents.values() for image in images_in(content)}
    return contents, image_of, displayed_images(beside | set(image_of.values()))


def images_in(content: Mapping[str, Any]) -> Iterator[int]:
    """Yield the images of a content's captions, and of a page."""
    for block in content.get("blocks", ()):
        yield block["image"]
        yield from (image for image, _ in block["captions"])
    if "caption" in content:
        yield content["caption"][0]
