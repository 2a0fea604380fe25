"""Boxes drawn over a picture: where each stands in per cent, and where its name tags go.

Everything is told in shares of the picture, so that the same SVG fits a phone and a wall;
only tags have a size in CSS pixels. No script is needed to place anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from annotation.models import Box

#: Colours that static/annotation/tokens.css names; after these they come round again.
HUES = 8


def hue(number: int) -> int:
    """The colour of the chain with `number` (from 1)."""
    return (number - 1) % HUES + 1


def letters(index: int) -> str:
    """a, b, ... z, aa, ab, ...: what tells the boxes of one chain apart; `index` is from 0."""
    name = ""
    index += 1
    while index:
        index, letter = divmod(index - 1, 26)
        name = chr(ord("a") + letter) + name
    return name


#: CSS pixels: a tag's height, and its width as `TAG_PAD + TAG_LETTER * letters`.
TAG_HEIGHT, TAG_PAD, TAG_LETTER = 20, 10, 8
#: The width, in CSS pixels, for which tags are kept from covering each other.
NOMINAL_WIDTH = 450.0
#: How far a picture is blown up on a large screen, at most.
ENLARGED = 5
#: Pixels of one colour in the outline of a box that several chains share.
DASH = 14


@dataclass(frozen=True, slots=True)
class Frame:
    """What boxes are measured against: the picture's size in its own pixels."""

    width: int
    height: int

    @property
    def natural(self) -> tuple[int, int]:
        """The largest size, in CSS pixels, at which the picture is shown."""
        return self.width * ENLARGED, self.height * ENLARGED


@dataclass(frozen=True, slots=True)
class Tag:
    """A chain's name for a box: its number, and a letter where the chain has several boxes ("3b")."""

    chain: int
    name: str

    @property
    def hue(self) -> int:
        """The number of its chain's colour."""
        return hue(self.chain)

    @property
    def width(self) -> int:
        """Its width in pixels."""
        return TAG_PAD + TAG_LETTER * len(self.name)


@dataclass(frozen=True, slots=True)
class PlacedTag:
    """A tag at `dx`, `dy` CSS pixels from the corner that its box's tags hang on."""

    tag: Tag
    dx: int
    dy: int

    @property
    def middle(self) -> str:
        """With a point, whatever the page's language writes."""
        return f"{self.tag.width / 2:.1f}"


@dataclass(frozen=True, slots=True)
class Outline:
    """One chain's share of a box's outline: `dash` and `offset` interleave the colours of several."""

    hue: int
    dash: str = ""
    offset: int = 0


@dataclass(slots=True)
class DrawnBox:
    """A box ready for the template; all four measures are percentages with a point."""

    box: Box
    tags: list[Tag]
    x: str = ""
    y: str = ""
    width: str = ""
    height: str = ""
    corner_x: str = ""
    corner_y: str = ""
    placed: list[PlacedTag] = field(default_factory=list)

    @property
    def numbers(self) -> list[int]:
        """The numbers of the chains that have this box."""
        return [tag.chain for tag in self.tags]

    @property
    def chains(self) -> str:
        """The same, with spaces between them, as scripts read it."""
        return " ".join(map(str, self.numbers))

    @property
    def outlines(self) -> Iterator[Outline]:
        """An outline in each chain's colour; those of several take turns in dashes."""
        many = len(self.tags)
        for i, tag in enumerate(self.tags):
            dash = f"{DASH} {DASH * (many - 1)}" if many > 1 else ""
            yield Outline(tag.hue, dash, -DASH * i)


def draw_overlay(boxes: list[tuple[Box, list[Tag]]], frame: Frame) -> list[DrawnBox]:
    """Lay `boxes` over `frame`, the largest first so that the small ones can be reached.

    Tags go to the first place about their box where they cover no tag that stands already:
    above it, then inside its corners, then below it.
    """
    placed: list[_Patch] = []
    drawn = []
    for box, tags in sorted(boxes, key=lambda pair: -_area(pair[0])):
        drawn_box = DrawnBox(box, tags)
        left, top = (box.xmin - 1) / frame.width, (box.ymin - 1) / frame.height
        wide, high = (box.xmax - box.xmin + 1) / frame.width, (box.ymax - box.ymin + 1) / frame.height
        drawn_box.x, drawn_box.y, drawn_box.width, drawn_box.height = map(_percent, (left, top, wide, high))
        _hang(drawn_box, (left, top, wide, high), frame.height / frame.width, placed)
        drawn.append(drawn_box)
    return drawn


def _percent(share: float) -> str:
    """A share as SVG wants it, whatever the language's decimal sign."""
    return f"{100 * share:.3f}%"


def _area(box: Box) -> int:
    return (box.xmax - box.xmin + 1) * (box.ymax - box.ymin + 1)


@dataclass(frozen=True, slots=True)
class _Patch:
    """A rectangle in nominal pixels."""

    x: float
    y: float
    width: float
    height: float

    def covers(self, patch: _Patch) -> bool:
        apart = self.x + self.width <= patch.x or patch.x + patch.width <= self.x
        return not apart and self.y < patch.y + patch.height and patch.y < self.y + self.height


def _hang(
    drawn_box: DrawnBox, at: tuple[float, float, float, float], aspect: float, placed: list[_Patch]
) -> None:
    """Choose the corner and the side of it where the tags of `one` go, and keep the place."""
    left, top, wide, high = at
    row = sum(tag.width for tag in drawn_box.tags)
    deep = NOMINAL_WIDTH * aspect
    places = [
        (left, top, 0, -TAG_HEIGHT),
        (left + wide, top, -row, -TAG_HEIGHT),
        (left, top, 0, 0),
        (left + wide, top, -row, 0),
        (left, top + high, 0, 0),
        (left, top + high, 0, -TAG_HEIGHT),
        (left + wide, top + high, -row, -TAG_HEIGHT),
        (left + wide, top + high, -row, 0),
    ]
    patches = [_Patch(x * NOMINAL_WIDTH + dx, y * deep + dy, row, TAG_HEIGHT) for x, y, dx, dy in places]
    inside = [
        i
        for i, p in enumerate(patches)
        if p.x >= 0 and p.y >= 0 and p.x + p.width <= NOMINAL_WIDTH and p.y + p.height <= deep
    ]
    free = [i for i in inside if not any(patches[i].covers(patch) for patch in placed)]
    # Where all are taken, over another; on a picture smaller than its tags, in the box's corner.
    chosen = (free or inside or [2])[0]
    x, y, dx, dy = places[chosen]
    placed.append(patches[chosen])
    drawn_box.corner_x, drawn_box.corner_y = _percent(x), _percent(y)
    for tag in drawn_box.tags:
        drawn_box.placed.append(PlacedTag(tag, dx, dy))
        dx += tag.width
