"""Practice of ticked pages: an item has its own texts, which are in no corpus."""

from annotation.protocol.questions import Answer
from annotation.task_types.base import Page
from annotation.task_types.displayed import DisplayedImage
from annotation.task_types.practice.registry import Practice, PracticeItem, Verdict
from annotation.task_types.practice.scenes import practice_scene
from annotation.task_types.ticked_pages.pages import DisplayedBlock, checkbox_name


class PagePractice(Practice):
    """A page is right if every fitting text is ticked, and no other."""

    def page(self, item: PracticeItem, image: DisplayedImage) -> Page:
        blocks = tuple(
            DisplayedBlock(
                practice_scene(name).image,
                tuple((checkbox_name(index, number), text) for number, (text, _fits) in enumerate(sentences)),
            )
            for index, (name, sentences) in enumerate(item.blocks)
        )
        return Page(choices=self.type.choices, about=blocks)

    def judged(self, item: PracticeItem, answer: Answer) -> Verdict:
        ticked_answer = (answer.content or {}).get("ticked", [])
        errors = tuple(
            (index, number)
            for index, (_name, sentences) in enumerate(item.blocks)
            for number, (_text, fits) in enumerate(sentences)
            if _at(ticked_answer, index, number) != fits
        )
        return Verdict(not errors, wrong_ticks=errors)


def _at(ticked: list[list[bool]], index: int, number: int) -> bool:
    """Return whether a text is ticked; False if the answer has another shape."""
    return index < len(ticked) and number < len(ticked[index]) and ticked[index][number]
