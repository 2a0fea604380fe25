"""What each kind of question has to practise on, entered by the kind's own `practice.py`.

Items come in the order in which they are registered with their kind. Each says in one sentence why its answer
is the right one: of this picture and this phrase, not in general. A test compares what is said to be right
with the scenes' gold. Sentences are English, as captions are; why an answer is right is told in the reader's
language.
"""

from dataclasses import dataclass, replace

from annotation.protocol.questions import Answer
from annotation.protocol.terms import Box
from annotation.task_types.base import TASK_TYPES, Page, TaskType
from annotation.task_types.practice.records import NamedBox, PracticeExample, PracticeItem, Verdict
from annotation.task_types.practice.scenes import practice_scene
from annotation.task_types.shown import ShownImage
from phrasebox.registry import Registry


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

    def posed(self, item: PracticeItem) -> tuple[Page, ShownImage]:
        """What a question's page shows of `item`, and over which picture."""
        image = practice_scene(item.scene).image
        return self.page(item, image), image

    def page(self, item: PracticeItem, image: ShownImage) -> Page:
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
