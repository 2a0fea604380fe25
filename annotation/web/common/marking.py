"""A caption cut into pieces: plain text, and marked mentions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from annotation.models import Caption, Mention
from annotation.task_types.base import Pointed
from annotation.task_types.displayed import DisplayedCaption
from annotation.web.common.overlay import hue, letters

#: Punctuation that ends a piece, with the space before it that tokenised captions have.
POINT = re.compile(r" ?[.,;:!?]+(?=\s|$)")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a caption. For a `mention`, `number` is its chain's on the page, 0 without.

    `tail` is the punctuation after it, which must not begin a line.
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
        """The mention's categories, separated by commas; "" for plain text."""
        return ", ".join(self.mention.categories.split("/")) if self.mention else ""


@dataclass(frozen=True, slots=True)
class MarkedCaption:
    """A caption as pieces, and the mentions that overlap a marked one and are shown beside it."""

    caption: Caption
    pieces: list[Piece]
    beside: list[Piece]


def mark_words(caption: Caption, mentions: Sequence[Mention], numbers: Mapping[int, int]) -> MarkedCaption:
    """Cut `caption` at its `mentions`; `numbers` are the chains' by primary key.

    Noun-phrase chunks do not overlap, but imported ones may. The first, and of those that start together the
    longest, is marked in place.
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
        """The unchanged text."""

    @property
    def words(self) -> Sequence[str]:
        """The words of the text."""


def laid_out(caption: Worded) -> tuple[str, list[tuple[int, int]]]:
    """Return a caption's text and the span of each of its words in it.

    It is the text as written, if it contains the words one after the other; otherwise, if the tokeniser
    changed them, the words joined by spaces.
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


class CaptionPiece(NamedTuple):
    """A piece of a caption; `number` is 0 if it is not marked.

    `tail` is the punctuation after it, which must not begin a line; nor may the name end one. `cut` is the
    part of a long caption that is shown only on request; screen readers always have it.
    """

    text: str
    number: int = 0
    hue: int = 0
    tail: str = ""
    cut: bool = False

    @property
    def name(self) -> str:
        """The name of a marked phrase on the page: A, B, ..., since digits are the keys of answers."""
        return letters(self.number - 1).upper() if self.number else ""

    @property
    def first(self) -> str:
        """The first word."""
        return self.text.partition(" ")[0]

    @property
    def rest(self) -> str:
        """The text after the first word, with the space between."""
        return self.text[len(self.first) :]


def caption_pieces(caption: DisplayedCaption, pointed: Sequence[Pointed]) -> list[CaptionPiece]:
    """Cut a caption at its marked mentions. Of two that overlap, the later one follows the caption."""
    text, places = laid_out(caption)
    pieces: list[CaptionPiece] = []
    late: list[CaptionPiece] = []
    printed_to = 0
    for mention, number, colour in sorted(
        pointed, key=lambda pointed_mention: (pointed_mention.mention.start, -pointed_mention.mention.end)
    ):
        start, end = places[mention.start][0], places[mention.end - 1][1]
        if start < printed_to:
            late += [CaptionPiece(" … "), CaptionPiece(text[start:end], number, colour)]
            continue
        if start > printed_to:
            pieces.append(CaptionPiece(as_printed(text[printed_to:start])))
        point = POINT.match(text, end)
        pieces.append(CaptionPiece(text[start:end], number, colour, point[0].lstrip() if point else ""))
        printed_to = point.end() if point else end
    if printed_to < len(text):
        pieces.append(CaptionPiece(as_printed(text[printed_to:])))
    return pieces + late


def as_printed(text: str) -> str:
    """Return `text` without the space that corpora have before each full stop."""
    return POINT.sub(lambda point: point[0].lstrip(), text)
