"""Practice with a picture and one sentence."""

from annotation.task_types.base import Page
from annotation.task_types.displayed import DisplayedImage
from annotation.task_types.practice.registry import Practice, PracticeItem


class SentencePractice(Practice):
    """The sentence of an item is its own: no corpus has it."""

    def page(self, item: PracticeItem, image: DisplayedImage) -> Page:
        return Page(choices=self.type.choices, about=item.sentence)
