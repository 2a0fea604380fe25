"""What practice is made of: items, examples, and what is said to an answer."""

from dataclasses import dataclass

from annotation.protocol.terms import Box
from annotation.task_types.base import TranslatableText
from annotation.task_types.practice.scenes import SCENE_DESCRIPTIONS, Corners


@dataclass(frozen=True, slots=True)
class PracticeItem:
    """One question about a scene, what is right, and why.

    `mentions` ("caption:start-end"), `boxes` (accepted so far) and `pending` (the one in question) are what
    the questions about chains show; `sentence` is what graded relevance and the test of spelling show;
    `blocks` a relevance page's: of each scene its sentences, and whether they fit. `right` is the answer's
    word; it is "" where nothing can be graded: then `models` are sentences, or `regions` boxes with their
    words, that would do. The right box of a drawing comes from the scene's gold.
    """

    scene: str
    why: TranslatableText
    right: str = ""
    mentions: tuple[str, ...] = ()
    boxes: tuple[Corners, ...] = ()
    pending: Corners | None = None
    sentence: str = ""
    blocks: tuple[tuple[str, tuple[tuple[str, bool], ...]], ...] = ()
    models: tuple[str, ...] = ()
    regions: tuple[tuple[Corners, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PracticeExample:
    """A picture beside the built-in instructions: an answer to an item, and whether that is good.

    The item's `right` is what was answered, its `why` what is good or bad in it.
    """

    good: bool
    item: PracticeItem

    @property
    def shows(self) -> TranslatableText:
        """What the picture shows: its alternative text."""
        return SCENE_DESCRIPTIONS[self.item.scene]


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


@dataclass(frozen=True, slots=True)
class NamedBox:
    """A box of a verdict's picture with its name and its words; `ours`: it comes from the item."""

    box: Box
    name: str
    words: str
    ours: bool
