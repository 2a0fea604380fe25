"""The nouns of the protocol, as frozen records: mention, chain, box, layer, image.

All pure code in `annotation` uses these. They contain no ids of database rows: a mention is identified by its
position, a box by its corners, a chain by its printed id, so that the same records come from a file, from the
database, from the sample generator and from the simulator.

Source: Plummer et al. 2015, section 2.1 (mentions, chains, categories) and 2.2 (boxes).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

PEOPLE = "people"
CLOTHING = "clothing"
BODYPARTS = "bodyparts"
ANIMALS = "animals"
VEHICLES = "vehicles"
INSTRUMENTS = "instruments"
SCENE = "scene"
OTHER = "other"

#: The eight coarse types of section 2.1, in the order of Table 1.
CATEGORIES = (PEOPLE, CLOTHING, BODYPARTS, ANIMALS, VEHICLES, INSTRUMENTS, SCENE, OTHER)

#: The printed chain id of a mention that refers to nothing visible. Import only.
NOT_VISUAL = "0"

#: Minimum side in pixels of a box drawn by hand, and so of a picture with questions: anything smaller was a
#: slip, and cannot be pointed at. Boxes of programs have no minimum.
SMALLEST_SIDE = 4

#: Maximum number of captions of an image, and of words of a caption.
MOST_PER_IMAGE = 2**15 - 1


def is_too_small(width: int, height: int) -> bool:
    """Whether a picture, or a box, is too small for questions; sides of 0 pixels are unknown."""
    return 0 < width < SMALLEST_SIDE or 0 < height < SMALLEST_SIDE


#: Position of a phrase: the caption, its first word, and the word after its last, all counted from 0.
Span = tuple[int, int, int]


@dataclass(frozen=True, slots=True, order=True)
class Box:
    """A rectangle in pixels, 1-based and inclusive on all four sides.

    Raises ValueError if a side is not positive or the corners are crossed.
    """

    xmin: int
    ymin: int
    xmax: int
    ymax: int

    def __post_init__(self) -> None:
        if self.xmin < 1 or self.ymin < 1 or self.xmax < self.xmin or self.ymax < self.ymin:
            raise ValueError(
                f"box {self.xmin},{self.ymin},{self.xmax},{self.ymax} is not valid: expected 1 <= xmin <= "
                f"xmax and 1 <= ymin <= ymax"
            )

    @property
    def width(self) -> int:
        """Pixels from left to right, both edges included."""
        return self.xmax - self.xmin + 1

    @property
    def height(self) -> int:
        """Pixels from top to bottom, both edges included."""
        return self.ymax - self.ymin + 1

    @property
    def area(self) -> int:
        """Number of pixels; a box of one pixel has area 1."""
        return self.width * self.height

    def intersection(self, other: Box) -> int:
        """Return the number of pixels in both boxes."""
        wide = min(self.xmax, other.xmax) - max(self.xmin, other.xmin) + 1
        high = min(self.ymax, other.ymax) - max(self.ymin, other.ymin) + 1
        return wide * high if wide > 0 and high > 0 else 0

    def iou(self, other: Box) -> float:
        """Return intersection over union of the two pixel sets, in 0..1."""
        shared = self.intersection(other)
        return shared / (self.area + other.area - shared) if shared else 0.0


def mention_id(caption: int, start: int, end: int) -> str:
    """Return a mention's name within its image: `caption:start-end`, all counted from 0, end exclusive."""
    return f"{caption}:{start}-{end}"


@dataclass(frozen=True, slots=True)
class Mention:
    """A noun phrase: tokens `start` to `end` (exclusive) of caption number `caption` (from 0).

    `categories` keeps its order; it has at least one entry of CATEGORIES, or those of an import. `noun` is
    the head noun if it is not the last word. Equality is by position, words, categories and noun.
    """

    caption: int
    start: int
    end: int
    tokens: tuple[str, ...]
    categories: tuple[str, ...]
    noun: str = ""
    id: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end or self.caption < 0:
            raise ValueError(
                f"mention {self.caption}:{self.start}-{self.end} is empty or out of order: "
                "expected caption >= 0 and 0 <= start < end"
            )
        if len(self.tokens) != self.end - self.start:
            raise ValueError(
                f"mention {self.caption}:{self.start}-{self.end} spans {self.end - self.start} "
                f"tokens but holds {len(self.tokens)}: {' '.join(self.tokens)!r}"
            )
        if self.noun and self.noun not in self.tokens:
            raise ValueError(f"the noun {self.noun!r} is no word of {self.text!r}")
        object.__setattr__(self, "id", mention_id(self.caption, self.start, self.end))

    @property
    def text(self) -> str:
        """The tokens, joined by spaces."""
        return " ".join(self.tokens)

    @property
    def head(self) -> str:
        """The head noun, case-folded: the last word of the chunk (section 2.1), or that of a reviewer."""
        return (self.noun or self.tokens[-1]).casefold()

    @property
    def span(self) -> tuple[int, int, int]:
        """Sort key: caption order, then position in the caption."""
        return (self.caption, self.start, self.end)


@dataclass(frozen=True, slots=True)
class Chain:
    """Coreferent mentions under their printed id, in caption order.

    Several chains may have the id NOT_VISUAL; each then has one mention. A chain that occurs only in an
    annotation file has no mentions. `label` is the class in another tool, such as "traffic light"; `phrases`
    describe the chain, and are in no caption.
    """

    id: str
    mentions: tuple[Mention, ...]
    label: str = ""
    phrases: tuple[str, ...] = ()

    @property
    def categories(self) -> tuple[str, ...]:
        """The union of the mentions' categories, in the order of CATEGORIES, unknown ones last."""
        held = {c: None for m in self.mentions for c in m.categories}
        known = [c for c in CATEGORIES if c in held]
        return tuple(known + [c for c in held if c not in CATEGORIES])


@dataclass(frozen=True, slots=True)
class LayerObject:
    """One object of an annotation: a box with the chains it depicts, or one chain without a box.

    As in the Entities notation: with a `box`, `chains` names at least one chain and both flags are False;
    without one, `chains` names one chain and the flags give the reason (`scene`: a place; `nobndbox`: nothing
    that can be boxed). `by_model`: a model annotator drew the box, and people accepted it.
    """

    chains: tuple[str, ...]
    box: Box | None = None
    scene: bool = False
    nobndbox: bool = False
    by_model: bool = False


@dataclass(frozen=True, slots=True)
class LayerRecord:
    """One image's part of a layer: its chains (with their mentions) and its objects.

    `chains` are in the order of their first mention; `objects` keep their order, so that import then export
    is the identity. `unrelated` are the captions (from 0) that do not describe the picture, as a reviewer of
    the layer's campaign said.
    """

    chains: tuple[Chain, ...] = ()
    objects: tuple[LayerObject, ...] = ()
    unrelated: tuple[int, ...] = ()

    @property
    def mentions(self) -> tuple[Mention, ...]:
        """All mentions in caption order."""
        return tuple(sorted((m for c in self.chains for m in c.mentions), key=lambda m: m.span))

    def boxes_of(self, chain: str) -> tuple[Box, ...]:
        """Return the boxes that depict `chain`, in file order."""
        return tuple(o.box for o in self.objects if o.box is not None and chain in o.chains)

    def depicted(self) -> dict[str, tuple[Box, ...]]:
        """Return the boxes of every chain that has one, by chain id."""
        boxes_of: dict[str, list[Box]] = {}
        for obj in self.objects:
            if obj.box is not None:
                for chain in obj.chains:
                    boxes_of.setdefault(chain, []).append(obj.box)
        return {chain: tuple(boxes) for chain, boxes in boxes_of.items()}


@dataclass(frozen=True, slots=True)
class CaptionRecord:
    """One sentence about an image.

    `text` is the caption unchanged. `tokens` are its words if the source (or our tokeniser) split it
    differently than at white space, else None. `id` is the source's id, if any. `unrelated`: its authors
    declare that it does not describe the image.
    """

    text: str
    tokens: tuple[str, ...] | None = None
    id: str = ""
    unrelated: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The caption's words: `tokens`, else the text split at white space."""
        return self.tokens if self.tokens is not None else tuple(self.text.split())


@dataclass(frozen=True, slots=True)
class ImageRecord:
    """An image with its captions, and its layer if the source has mentions.

    `id` identifies it within its corpus (the file name without a known picture extension). `width` and
    `height` are in pixels, 0 if unknown. `picture` is the file on disk, or None if the corpus has no
    pictures. `split` is "train", "val", "test", ... or "". `marked` are the phrases that a person marked,
    None if nobody did.
    """

    id: str
    filename: str
    captions: tuple[CaptionRecord, ...]
    split: str = ""
    width: int = 0
    height: int = 0
    picture: Path | None = None
    layer: LayerRecord | None = None
    external_id: str = ""
    marked: tuple[Span, ...] | None = None


def representative(mentions: Iterable[Mention]) -> Mention:
    """Return the mention that represents a chain: most tokens, then most characters, then the earliest.

    Section 2.2 uses "the longest mention, since we assume that it is the most specific".
    """
    return min(mentions, key=lambda m: (-len(m.tokens), -len(m.text), m.span))


def renamed(layer: LayerRecord, names: dict[str, str]) -> LayerRecord:
    """Return the layer with its chains renamed by `names` (old id to new id)."""
    return replace(
        layer,
        chains=tuple(replace(chain, id=names[chain.id]) for chain in layer.chains),
        objects=tuple(replace(o, chains=tuple(names[n] for n in o.chains)) for o in layer.objects),
    )
