"""A caption cut into pieces: plain text, and mentions to be marked in it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from annotation.models import Caption, Mention
from annotation.web.common.overlay import hue

#: Punctuation that ends a stretch, with the space before it that tokenised captions have.
POINT = re.compile(r" ?[.,;:!?]+(?=\s|$)")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a caption. Where it is a `mention`, `number` is its chain's on the page, 0 without.

    `tail` is the punctuation behind it, which must not begin a line.
    """

    text: str
    mention: Mention | None = None
    number: int = 0
    tail: str = ""

    @property
    def hue(self) -> int:
        """The number of its chain's colour, 0 without a chain."""
        return hue(self.number) if self.number else 0

    @property
    def categories(self) -> str:
        """The mention's categories with commas between them; "" for plain text."""
        return ", ".join(self.mention.categories.split("/")) if self.mention else ""


@dataclass(frozen=True, slots=True)
class MarkedCaption:
    """A caption as pieces, and the mentions that overlap a marked one and so stand beside it."""

    caption: Caption
    pieces: list[Piece]
    beside: list[Piece]


def mark_words(caption: Caption, mentions: Sequence[Mention], numbers: Mapping[int, int]) -> MarkedCaption:
    """Cut `caption` at its `mentions`; `numbers` are the chains' by primary key.

    Noun-phrase chunks do not overlap; imports from elsewhere may bring some that do. The
    first, and of those that start together the longest, is marked in place.
    """
    text, places = laid_out(caption)
    pieces: list[Piece] = []
    beside: list[Piece] = []
    printed_to = 0
    for mention in sorted(mentions, key=lambda m: (m.start, -m.end)):
        if mention.end > len(places):
            continue
        start, end = places[mention.start][0], places[mention.end - 1][1]
        piece = Piece(text[start:end], mention, numbers.get(mention.chain_id or 0, 0))
        if start < printed_to:
            beside.append(piece)
            continue
        if start > printed_to:
            pieces.append(Piece(text[printed_to:start]))
        point = POINT.match(text, end)
        pieces.append(replace(piece, tail=point[0]) if point else piece)
        printed_to = point.end() if point else end
    if printed_to < len(text):
        pieces.append(Piece(text[printed_to:]))
    return MarkedCaption(caption, pieces, beside)


class Worded(Protocol):
    """A text and its words."""

    @property
    def text(self) -> str:
        """The text as it came."""

    @property
    def words(self) -> Sequence[str]:
        """The words into which it is cut."""


def laid_out(caption: Worded) -> tuple[str, list[tuple[int, int]]]:
    """A caption's text and where each of its words stands in it.

    The text as it was written, where the words are found in it one after the other; the words
    with single spaces between them where the tokeniser changed them.
    """
    places: list[tuple[int, int]] = []
    at = 0
    for word in caption.words:
        start = caption.text.find(word, at)
        if start < 0:
            break
        at = start + len(word)
        places.append((start, at))
    else:
        return caption.text, places
    places, at = [], 0
    for word in caption.words:
        places.append((at, at + len(word)))
        at += len(word) + 1
    return " ".join(caption.words), places
