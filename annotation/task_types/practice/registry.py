"""Practice of each kind of question: items, examples, and feedback. The kind's own `practice.py` registers
them.

Items are in the order of registration. Each explains in one sentence why its answer is right for this picture
and this phrase. A test compares the right answers with the scenes' gold. Sentences are English, as captions
are; explanations are in the reader's language.
"""

from dataclasses import dataclass, replace

from annotation.protocol.questions import Answer
from annotation.protocol.terms import Box
from annotation.task_types.base import TASK_TYPES, Page, TaskType, TranslatableText
from annotation.task_types.displayed import DisplayedImage
from annotation.task_types.practice.scenes import SCENE_DESCRIPTIONS, Corners, practice_scene
from phrasebox.registry import Registry


@dataclass(frozen=True, slots=True)
class PracticeItem:
    """One question about a scene, the right answer, and the reason.

    `mentions` ("caption:start-end"), `boxes` (accepted ones) and `pending` (the one in question) are the
    content of questions about chains; `sentence` is that of graded relevance and the test of spelling;
    `blocks` are those of a relevance page: for each scene its sentences, and whether they fit. `right` is the
    answer's word; it is "" if nothing can be graded: then `models` are good sentences, or `regions` good
    boxes with their words. The right box of a drawing comes from the scene's gold.
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

    The item's `right` is the answer, its `why` is what is good or bad in it.
    """

    good: bool
    item: PracticeItem

    @property
    def shows(self) -> TranslatableText:
        """The alternative text of the picture."""
        return SCENE_DESCRIPTIONS[self.item.scene]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Feedback of practice on an answer: `right` is None if nothing can be graded.

    `right_boxes` are the boxes that were still to be drawn, `overlap` the IoU of the drawn one with the
    nearest of them; `wrong_ticks` the wrongly judged sentences (block, number) of a relevance page.
    """

    right: bool | None
    right_boxes: tuple[Box, ...] = ()
    overlap: float | None = None
    wrong_ticks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class NamedBox:
    """A box of a verdict's picture with its name and its words; `ours`: it is the item's."""

    box: Box
    name: str
    words: str
    ours: bool


@dataclass(frozen=True, eq=False)
class Practice:
    """Items and examples of one kind: how they are shown, and how an answer is judged.

    The base class suits questions about a chain that are answered by a word; others override it.
    """

    kind: str
    items: tuple[PracticeItem, ...]
    examples: tuple[PracticeExample, ...]

    @property
    def type(self) -> TaskType:
        """The type of the practised kind."""
        return TASK_TYPES.get(self.kind)

    def posed(self, item: PracticeItem) -> tuple[Page, DisplayedImage]:
        """Return the page of `item`, and its picture."""
        image = practice_scene(item.scene).image
        return self.page(item, image), image

    def page(self, item: PracticeItem, image: DisplayedImage) -> Page:
        """Return what the question's page shows of `item`."""
        return self.type.page(self.content(item), image)

    def content(self, item: PracticeItem) -> dict[str, object]:
        """Return `item` as the content of a lease, for `TaskType.page`."""
        return {
            "mentions": list(item.mentions),
            "boxes": [list(corners) for corners in item.boxes],
            "pending": list(item.pending) if item.pending else None,
        }

    def pictured(self, item: PracticeItem) -> tuple[Page, str]:
        """Return what the picture of an example shows: the page, with the box in question, and the
        sentence."""
        page, _image = self.posed(item)
        return (replace(page, pending=Box(*item.pending)) if item.pending else page), item.sentence

    def judged(self, item: PracticeItem, answer: Answer) -> Verdict:
        """Return the verdict on an answer from `TaskType.parse`."""
        return Verdict(answer.answer == item.right if item.right else None)

    def named_boxes(self, item: PracticeItem, answer: Answer) -> tuple[NamedBox, ...]:
        """Return boxes with names and words, shown with the verdict instead of the question's; usually
        none."""
        return ()


PRACTICE: Registry[Practice] = Registry("practice")
