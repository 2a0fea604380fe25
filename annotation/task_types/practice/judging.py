"""Whether an answer given in practice is right, and what would have been."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.protocol.questions import BOX_DRAWING, Answer
from annotation.protocol.terms import Box
from annotation.task_types.practice.records import Item
from annotation.task_types.practice.scenes import scene
from annotation.task_types.relevance.rules import RELEVANCE

#: From this overlap (IoU) on a drawn box is taken for right: what careful people reach, as for known items.
GOOD_FIT = 0.8


@dataclass(frozen=True, slots=True)
class Verdict:
    """What practice says to an answer: `right` is None where nothing can be graded.

    `right_boxes` are the boxes that were still to be drawn, `overlap` the IoU of the drawn one with the
    nearest of them; `wrong_ticks` the sentences (block, number) of a relevance page that were taken wrongly.
    """

    right: bool | None
    right_boxes: tuple[Box, ...] = ()
    overlap: float | None = None
    wrong_ticks: tuple[tuple[int, int], ...] = ()


def judged(kind: str, item: Item, answer: Answer) -> Verdict:
    """The verdict on an answer that `TaskType.parse` took."""
    if kind == BOX_DRAWING:
        return _drawn(item, answer)
    if kind == RELEVANCE:
        return _ticked(item, answer)
    return Verdict(answer.answer == item.right if item.right else None)


def _drawn(item: Item, answer: Answer) -> Verdict:
    taken = {Box(*corners) for corners in item.boxes}
    wanted = tuple(box for box in scene(item.scene).boxes(item.mentions[0]) if box not in taken)
    if answer.box is None:
        return Verdict(not wanted, wanted)
    overlap = max(map(answer.box.iou, wanted), default=None)
    return Verdict(overlap is not None and overlap >= GOOD_FIT, wanted, overlap)


def _ticked(item: Item, answer: Answer) -> Verdict:
    given = (answer.content or {}).get("ticked", [])
    wrong = tuple(
        (place, number)
        for place, (_name, sentences) in enumerate(item.blocks)
        for number, (_text, fits) in enumerate(sentences)
        if _at(given, place, number) != fits
    )
    return Verdict(not wrong, wrong_ticks=wrong)


def _at(ticked: list[list[bool]], place: int, number: int) -> bool:
    """Whether a sentence is ticked; a page that came in another shape has not ticked it."""
    return place < len(ticked) and number < len(ticked[place]) and ticked[place][number]
