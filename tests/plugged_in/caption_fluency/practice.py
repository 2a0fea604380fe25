"""Two sentences to practise on."""

from __future__ import annotations

from annotation.task_types.base import Page
from annotation.task_types.displayed import DisplayedImage
from annotation.task_types.practice import PRACTICE, Practice, PracticeExample, PracticeItem
from tests.plugged_in.caption_fluency.rules import CAPTION_FLUENCY

_WELL = PracticeItem(
    "frisbee", "Nothing is wrong with it.", "4", sentence="A boy throws a frisbee for his dog."
)
_BADLY = PracticeItem("wedding", "Words are missing.", "1", sentence="Bride groom cake stand.")


class FluencyPractice(Practice):
    """The sentence of an item is its own."""

    def page(self, item: PracticeItem, image: DisplayedImage) -> Page:
        return Page(choices=self.type.choices, about=item.sentence)


PRACTICE.register(
    CAPTION_FLUENCY,
    FluencyPractice(
        CAPTION_FLUENCY, (_WELL, _BADLY), (PracticeExample(True, _WELL), PracticeExample(False, _BADLY))
    ),
)
