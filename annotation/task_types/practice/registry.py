"""What each kind of question has to practise on: items, examples, and what is said to an answer. The kind's
own `practice.py` enters them.

Items come in the order in which they are registered with their kind. Each says in one sentence why its answer
is the right one: of this picture and this phrase, not in general. A test compares what is said to be right
with the scenes' gold. Sentences are English, as captions are; why an answer is right is told in the reader's
language.
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


@dataclass(frozen=True, eq=False)
class Practice:
    """Items and examples of one kind: how they are shown, and how an answer is judged.

    As it stands it suits questions about a chain that are answered by a word; others override what differs.
    """

    kind: str
    items: tuple[PracticeItem, ...]
    examples: tuple[PracticeExample, ...]

    @property
    def type(self) -> TaskType:
        """The type of the kind that is practised."""
        return TASK_TYPES.get(self.kind)

    def posed(self, item: PracticeItem) -> tuple[Page, DisplayedImage]:
        """What a question's page shows of `item`, and over which picture."""
        image = practice_scene(item.scene).image
        return self.page(item, image), image

    def page(self, item: PracticeItem, image: DisplayedImage) -> Page:
        """What the question's page shows of `item`."""
        return self.type.page(self.content(item), image)

    def content(self, item: PracticeItem) -> dict[str, object]:
        """`item` as the content of a lease, for `TaskType.page`."""
        return {
            "mentions": list(item.mentions),
            "boxes": [list(corners) for corners in item.boxes],
            "pending": list(item.pending) if item.pending else None,
        }

    def pictured(self, item: PracticeItem) -> tuple[Page, str]:
        """What the picture of an example shows: the page, with the box in question, and the sentence."""
        page, _image = self.posed(item)
        return (replace(page, pending=Box(*item.pending)) if item.pending else page), item.sentence

    def judged(self, item: PracticeItem, answer: Answer) -> Verdict:
        """The verdict on an answer that `TaskType.parse` took."""
        return Verdict(answer.answer == item.right if item.right else None)

    def named_boxes(self, item: PracticeItem, answer: Answer) -> tuple[NamedBox, ...]:
        """Boxes with names and words, shown with the verdict instead of the question's; usually none."""
        return ()


PRACTICE: Registry[Practice] = Registry("practice")
