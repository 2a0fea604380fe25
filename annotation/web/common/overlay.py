"""Boxes drawn over a picture: their positions in per cent, and the positions of their tags.

All positions are shares of the picture, so that the same SVG fits every screen; only tags have a size in CSS
pixels. No script is needed to place anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from annotation.models import Box
from annotation.task_types.base import Page

#: Number of colours in static/annotation/tokens.css, which repeat after these.
HUES = 8


def hue(number: int) -> int:
    """Return the colour of the chain with `number` (from 1)."""
    return (number - 1) % HUES + 1


def letters(index: int) -> str:
    """Return a, b, ... z, aa, ab, ...: the suffix of a box of a chain with several; `index` is from 0."""
    name = ""
    index += 1
    while index:
        index, letter = divmod(index - 1, 26)
        name = chr(ord("a") + letter) + name
    return name


#: The number of the phrase, if there is one; the colour and the name of the box in question.
PHRASE, ASKED_OF_WORKER, MARK = 1, 2, "?"
#: In CSS pixels: a tag's height, and the terms of its width `TAG_PAD + TAG_LETTER * letters`.
TAG_HEIGHT, TAG_PAD, TAG_LETTER = 20, 10, 8
#: Width, in CSS pixels, for which tags are placed without covering each other.
NOMINAL_WIDTH = 450.0
#: Maximum enlargement of a picture on a large screen.
ENLARGED = 5
#: Length in pixels of one colour in the outline of a box that several chains share.
DASH = 14


@dataclass(frozen=True, slots=True)
class Frame:
    """The picture's size in its own pixels, the reference of boxes."""

    width: int
    height: int

    @property
    def natural(self) -> tuple[int, int]:
        """Maximum size, in CSS pixels, at which the picture is shown."""
        return self.width * ENLARGED, self.height * ENLARGED


@dataclass(frozen=True, slots=True)
class Tag:
    """A chain's name on a box: its number, and a letter if the chain has several boxes ("3b")."""

    chain: int
    name: str

    @property
    def hue(self) -> int:
        """The number of its chain's colour."""
        return hue(self.chain)

    @property
    def width(self) -> int:
        """Width in pixels."""
        return TAG_PAD + TAG_LETTER * len(self.name)


@dataclass(frozen=True, slots=True)
class PlacedTag:
    """A tag at `dx`, `dy` CSS pixels from the corner that its box's tags are attached to."""

    tag: Tag
    dx: int
    dy: int

    @property
    def middle(self) -> str:
        """Its horizontal middle, with a decimal point in any language."""
        return f"{self.tag.width / 2:.1f}"


@dataclass(frozen=True, slots=True)
class Outline:
    """One chain's part of a box's outline: `dash` and `offset` interleave the colours of several."""

    hue: int
    dash: str = ""
    offset: int = 0


@dataclass(slots=True)
class DrawnBox:
    """A box for the template; all four measures are percentages with a decimal point."""

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
        """The same, separated by spaces, for scripts."""
        return " ".join(map(str, self.numbers))

    @property
    def outlines(self) -> Iterator[Outline]:
        """An outline in each chain's colour; those of several are interleaved dashes."""
        many = len(self.tags)
        for i, tag in enumerate(self.tags):
            dash = f"{DASH} {DASH * (many - 1)}" if many > 1 else ""
            yield Outline(tag.hue, dash, -DASH * i)


def draw_overlay(boxes: list[tuple[Box, list[Tag]]], frame: Frame) -> list[DrawnBox]:
    """Lay `boxes` over `frame`, the largest first so that the small ones can be reached.

    Tags go to the first position around their box where they cover no other tag: above it, then inside its
    corners, then below it.
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


def boxes_of(page: Page, frame: Frame) -> list[DrawnBox]:
    """Return the accepted boxes, A or A1, A2, ..., after the phrase's name, and the box in question."""
    name = letters(PHRASE - 1).upper()
    several = len(page.boxes) > 1
    tagged: list[tuple[Any, list[Tag]]] = [
        (box, [Tag(PHRASE, f"{name}{number}" if several else name)])
        for number, box in enumerate(page.boxes, 1)
    ]
    if page.pending:
        tagged.append((page.pending, [Tag(ASKED_OF_WORKER, MARK)]))
    return draw_overlay(tagged, frame)


def _percent(share: float) -> str:
    """Return a share as a percentage for SVG, independent of the language's decimal sign."""
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
    """Choose the corner and side for the box's tags, and reserve their area."""
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
    # If all are taken, the tags cover another; on a picture smaller than its tags, they go to the box's
    # corner.
    chosen = (free or inside or [2])[0]
    x, y, dx, dy = places[chosen]
    placed.append(patches[chosen])
    drawn_box.corner_x, drawn_box.corner_y = _percent(x), _percent(y)
    for tag in drawn_box.tags:
        drawn_box.placed.append(PlacedTag(tag, dx, dy))
        dx += tag.width
