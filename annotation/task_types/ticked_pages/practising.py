"""Practice of ticked pages: the texts of an item are its own, no corpus has them."""

from annotation.protocol.questions import Answer
from annotation.task_types.base import Page
from annotation.task_types.practice.records import PracticeItem, Verdict
from annotation.task_types.practice.registry import Practice
from annotation.task_types.practice.scenes import practice_scene
from annotation.task_types.shown import ShownImage
from annotation.task_types.ticked_pages.pages import ShownBlock, checkbox_name


class PagePractice(Practice):
    """A page is right where every text is ticked that fits, and no other."""

    def page(self, item: PracticeItem, image: ShownImage) -> Page:
        blocks = tuple(
            ShownBlock(
                practice_scene(name).image,
                tuple((checkbox_name(place, number), text) for number, (text, _fits) in enumerate(sentences)),
            )
            for place, (name, sentences) in enumerate(item.blocks)
        )
        return Page(choices=self.type.choices, about=blocks)

    def judged(self, item: PracticeItem, answer: Answer) -> Verdict:
        given = (answer.content or {}).get("ticked", [])
        wrong = tuple(
            (place, number)
            for place, (_name, sentences) in enumerate(item.blocks)
            for number, (_text, fits) in enumerate(sentences)
            if _at(given, place, number) != fits
        )
        return Verdict(not wrong, wrong_ticks=wrong)


def _at(ticked: list[list[bool]], place: int, number: int) -> bool:
    """Whether a text is ticked; a page that came in another shape has not ticked it."""
    return place < len(ticked) and number < len(ticked[place]) and ticked[place][number]
