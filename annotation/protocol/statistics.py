"""Statistics of a layer: the figures that Plummer et al. report for theirs.

Definitions (Plummer et al. 2015, section 2.4 and Table 1; where the paper leaves a choice open, ours is the
one under which its own figures add up):

- A chain counts in each of its categories, and once in the total: Table 1's rows sum to
  256,446 chains, its total is 244,035. Mentions that are not visual (chain 0) count nowhere
  but in `not_visual`, chains without mentions nowhere but in `unmentioned`.
- The mentions of a category are all mentions of its chains.
- A box counts once in each category of which it depicts a chain, and once in the total; boxes
  per chain is boxes over chains. So print's total is 275,775 / 244,035 = 1.13.
- Shares of chains with one, several or no box, and with several mentions: over the chains of
  the category; a box that depicts two chains is a box of both.
- Images are those that the layer covers; an image mentions a category where one of its mentions
  has it. Mentions per caption is over all captions of those images.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.protocol.terms import (
    ANIMALS,
    BODYPARTS,
    CATEGORIES,
    CLOTHING,
    INSTRUMENTS,
    NOT_VISUAL,
    OTHER,
    PEOPLE,
    SCENE,
    VEHICLES,
    LayerRecord,
)

TOTAL = "total"

#: Table 1: chains, mentions per chain, boxes per chain.
_TABLE_1 = {
    PEOPLE: (59_766, 3.17, 1.95),
    CLOTHING: (42_380, 1.76, 1.44),
    BODYPARTS: (12_809, 1.50, 1.42),
    ANIMALS: (5_086, 3.63, 1.44),
    VEHICLES: (5_561, 2.77, 1.21),
    INSTRUMENTS: (1_827, 2.85, 1.61),
    SCENE: (46_919, 2.03, 0.62),
    OTHER: (82_098, 1.94, 1.04),
}
#: Section 2.4: share of images that mention each category.
_IMAGES = {
    PEOPLE: 0.942,
    CLOTHING: 0.699,
    BODYPARTS: 0.280,
    ANIMALS: 0.120,
    VEHICLES: 0.138,
    INSTRUMENTS: 0.043,
    SCENE: 0.797,
    OTHER: 0.918,
}
#: Figures of Flickr30k Entities in Plummer et al. 2015, under the names of `Statistics.figures`.
PRINTED_STATISTICS: dict[str, Any] = {
    "images": 31_783,
    "captions": 158_915,
    "mentions_per_image": 513_644 / 31_783,
    "mentions_per_caption": 3.2,
    "chains_per_image": 7.7,
    "boxes_per_image": 8.7,
    "categories": {
        category: {
            "chains": chains,
            "mentions_per_chain": mentions,
            "boxes_per_chain": boxes,
            "images": _IMAGES[category],
        }
        for category, (chains, mentions, boxes) in _TABLE_1.items()
    },
    TOTAL: {
        "chains": 244_035,
        "mentions": 513_644,
        "boxes": 275_775,
        "mentions_per_chain": 2.10,
        "boxes_per_chain": 1.13,
        "one_box": 0.591,
        "several_boxes": 0.200,
        "no_box": 0.209,
        "several_mentions": 0.486,
    },
}


@dataclass(slots=True)
class _Tally:
    """Counts over the chains of one category, or over all."""

    chains: int = 0
    mentions: int = 0
    boxes: int = 0
    one_box: int = 0
    several_boxes: int = 0
    no_box: int = 0
    several_mentions: int = 0
    words: int = 0
    images: int = 0

    def figures(self, images: int) -> dict[str, int | float | None]:
        """Return the counts with their ratios; None if the denominator is 0.

        `images` is the number of images that the layer covers.
        """
        return {
            "chains": self.chains,
            "mentions": self.mentions,
            "boxes": self.boxes,
            "mentions_per_chain": _ratio(self.mentions, self.chains),
            "boxes_per_chain": _ratio(self.boxes, self.chains),
            "words_per_mention": _ratio(self.words, self.mentions),
            "one_box": _ratio(self.one_box, self.chains),
            "several_boxes": _ratio(self.several_boxes, self.chains),
            "no_box": _ratio(self.no_box, self.chains),
            "several_mentions": _ratio(self.several_mentions, self.chains),
            "images": _ratio(self.images, images),
        }


@dataclass(slots=True)
class Statistics:
    """Statistics over a stream of images, in constant memory."""

    images: int = 0
    captions: int = 0
    not_visual: int = 0
    unmentioned: int = 0
    total: _Tally = field(default_factory=_Tally)
    categories: dict[str, _Tally] = field(default_factory=lambda: {c: _Tally() for c in CATEGORIES})

    def add(self, layer: LayerRecord, *, captions: int) -> None:
        """Count one image's part of the layer, and its number of captions."""
        self.images += 1
        self.captions += captions
        depicted = layer.depicted()
        held: dict[str, tuple[str, ...]] = {}
        mentioned: set[str] = set()
        for chain in layer.chains:
            if chain.id == NOT_VISUAL:
                self.not_visual += 1
                continue
            if not chain.mentions:
                self.unmentioned += 1
                continue
            held[chain.id] = chain.categories
            mentioned.update(chain.categories)
            boxes = len(depicted.get(chain.id, ()))
            words = sum(mention.end - mention.start for mention in chain.mentions)
            for tally in (self.total, *map(self._of, chain.categories)):
                tally.chains += 1
                tally.mentions += len(chain.mentions)
                tally.words += words
                tally.one_box += boxes == 1
                tally.several_boxes += boxes > 1
                tally.no_box += boxes == 0
                tally.several_mentions += len(chain.mentions) > 1
        self.total.images += bool(held)
        for category in mentioned:
            self._of(category).images += 1
        for thing in layer.objects:
            if thing.box is not None:
                self.total.boxes += 1
                for category in {c for chain in thing.chains for c in held.get(chain, ())}:
                    self._of(category).boxes += 1

    def figures(self) -> dict[str, Any]:
        """Return all figures as plain data; ratios are None if the denominator is 0."""
        return {
            "images": self.images,
            "captions": self.captions,
            "mentions_per_image": _ratio(self.total.mentions, self.images),
            "mentions_per_caption": _ratio(self.total.mentions, self.captions),
            "chains_per_image": _ratio(self.total.chains, self.images),
            "boxes_per_image": _ratio(self.total.boxes, self.images),
            "not_visual_mentions": self.not_visual,
            "chains_without_mentions": self.unmentioned,
            "categories": {name: tally.figures(self.images) for name, tally in self.categories.items()},
            TOTAL: self.total.figures(self.images),
        }

    def _of(self, category: str) -> _Tally:
        return self.categories.setdefault(category, _Tally())


def cost_figures(cost: Mapping[str, object]) -> dict[str, Any]:
    """Return the figures of a layer's `cost`, by question and in total; empty if there is none.

    `cost` has `judgments`, `controls`, `double_checks` (question to number of answers) and `seconds`
    (question to sum of the paid seconds), with `images` and `mentions`, the numbers of these in the campaign.
    `judgments` are those that the fold needed; controls and double checks are additional, and their overhead
    is relative to them. Paid minutes are all seconds over 60.
    """
    judgments = _counts(cost, "judgments")
    if not judgments:
        return {}
    images, mentions = cost.get("images"), cost.get("mentions")
    extra = {"controls": _counts(cost, "controls"), "double_checks": _counts(cost, "double_checks")}
    seconds = _counts(cost, "seconds")

    def row(answers: float, controls: float, checks: float, paid: float | None) -> dict[str, object]:
        return {
            "judgments": answers,
            "per_image": _ratio(answers, images),
            "per_mention": _ratio(answers, mentions),
            "control_overhead": _ratio(controls, answers),
            "double_check_overhead": _ratio(checks, answers),
            "paid_minutes": None if paid is None else paid / 60,
        }

    by_question = {
        question: row(
            number,
            extra["controls"].get(question, 0),
            extra["double_checks"].get(question, 0),
            seconds.get(question),
        )
        for question, number in judgments.items()
    }
    return {
        "images": images,
        "mentions": mentions,
        "questions": by_question,
        TOTAL: row(
            sum(judgments.values()),
            sum(extra["controls"].values()),
            sum(extra["double_checks"].values()),
            sum(seconds.values()) if seconds else None,
        ),
    }


def _counts(cost: Mapping[str, object], key: str) -> dict[str, float]:
    count = cost.get(key)
    return dict(count) if isinstance(count, Mapping) else {}


def _ratio(part: float, whole: object) -> float | None:
    return part / whole if isinstance(whole, int | float) and whole else None
