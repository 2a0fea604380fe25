"""Practice of describing parts of a picture."""

from dataclasses import replace

from django.utils.translation import gettext_lazy as _

from annotation.protocol.questions import Answer
from annotation.protocol.terms import Box
from annotation.task_types.base import Page
from annotation.task_types.practice.registry import (
    PRACTICE,
    NamedBox,
    Practice,
    PracticeExample,
    PracticeItem,
)
from annotation.task_types.region_description.type import RegionDescription

_ITEMS = (
    PracticeItem(
        "frisbee",
        _("The boxes hold three different things tightly, and two or three words say what each is."),
        regions=(
            ((79, 159, 179, 342), "boy in a brown hat"),
            ((318, 261, 401, 333), "white dog sitting"),
            ((211, 148, 259, 165), "pink frisbee"),
        ),
    ),
    PracticeItem(
        "wedding",
        _("Small parts count as well: the flowers lie within the box of the dress."),
        regions=(
            ((228, 161, 284, 302), "white wedding dress"),
            ((252, 183, 274, 205), "bunch of flowers"),
            ((352, 165, 429, 243), "purple wedding cake"),
        ),
    ),
)

_EXAMPLES = (
    PracticeExample(
        True,
        PracticeItem(
            "stage",
            _("tight, and the words set it apart from others"),
            regions=(((285, 132, 345, 206), "white shirt"),),
        ),
    ),
    PracticeExample(
        False,
        PracticeItem(
            "stage",
            _("nearly the whole picture, not a part of it"),
            regions=(((20, 20, 480, 320), "music"),),
        ),
    ),
)


class RegionPractice(Practice):
    """Descriptions cannot be graded: ours are shown beside the worker's."""

    def content(self, item: PracticeItem) -> dict[str, object]:
        return {"regions": len(item.regions)}

    def pictured(self, item: PracticeItem) -> tuple[Page, str]:
        """Return the only region of an example, and its words."""
        (corners, words), *_others = item.regions
        page, _image = self.posed(item)
        return replace(page, pending=Box(*corners)), words

    def named_boxes(self, item: PracticeItem, answer: Answer) -> tuple[NamedBox, ...]:
        """Return ours as A, B, C, then those of the answer as 1, 2, 3."""
        ours = [
            NamedBox(Box(*corners), "ABCDEFGH"[index], words, True)
            for index, (corners, words) in enumerate(item.regions)
        ]
        regions = (answer.content or {}).get("regions", ())
        theirs = [
            NamedBox(Box(*region["box"]), str(index), region["text"], False)
            for index, region in enumerate(regions, 1)
        ]
        return (*ours, *theirs)


PRACTICE.register(RegionDescription.key, RegionPractice(RegionDescription.key, _ITEMS, _EXAMPLES))
