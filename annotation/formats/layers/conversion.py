"""Convert boxes of other tools to an image's part of a layer. Pure.

The edges of a box are rounded to whole pixels and clipped to the picture. It is a chain of its own, unless
its source groups the boxes of one thing. A phrase that equals a caption of its image, ignoring case and
punctuation, is a mention of that caption, if only one box has it; other phrases stay with the chain.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from annotation.formats.base import SourceBox
from annotation.formats.layers.contents import plain
from annotation.protocol.terms import (
    CATEGORIES,
    NOT_VISUAL,
    OTHER,
    Box,
    CaptionRecord,
    Chain,
    LayerObject,
    LayerRecord,
    Mention,
)
from phrasebox.text.tokens import tokenise

#: Tolerance in pixels of an edge computed from shares to count as a whole number.
_CLOSE = 0.01


@dataclass(slots=True)
class BoxChanges:
    """Changes of boxes: how many were `rounded` to whole pixels and `clipped` to their picture; how many were
    entirely `outside` it, or had no area (`empty`), and were skipped."""

    rounded: int = 0
    clipped: int = 0
    outside: int = 0
    empty: int = 0


def layer_of_boxes(
    boxes: Sequence[SourceBox], size: tuple[int, int], captions: Sequence[CaptionRecord], changes: BoxChanges
) -> LayerRecord:
    """Return the layer of an image of this width and height, (0, 0) if unknown; count in `changes` what
    happened to the boxes."""
    chains: dict[str, Chain] = {}
    objects: list[LayerObject] = []
    regions: dict[str, int] = {}
    taken = {box.chain for box in boxes}
    number = 0
    for source in boxes:
        box = _whole(source, size, changes)
        if box is None:
            continue
        name = source.chain
        if not name or name == NOT_VISUAL:
            number += 1
            while str(number) in taken:
                number += 1
            name = str(number)
        before = chains.get(name, Chain(name, ()))
        phrases = dict.fromkeys((*before.phrases, *filter(None, map(plain, source.phrases))))
        chains[name] = replace(before, label=before.label or plain(source.label), phrases=tuple(phrases))
        at = regions.setdefault(source.region, len(objects)) if source.region else len(objects)
        if at < len(objects):
            objects[at] = replace(objects[at], chains=tuple(dict.fromkeys((*objects[at].chains, name))))
        else:
            objects.append(LayerObject((name,), box, by_model=source.by_model))
    return LayerRecord(tuple(_with_mentions(list(chains.values()), captions)), tuple(objects))


def _whole(source: SourceBox, size: tuple[int, int], changes: BoxChanges) -> Box | None:
    """Return the box in whole pixels within the picture; None, and counted, if nothing remains."""
    edges = (source.left, source.top, source.right, source.bottom)
    if source.right <= source.left or source.bottom <= source.top:
        changes.empty += 1
        return None
    whole = [math.floor(edge + 0.5) for edge in edges]
    for low, high in ((0, 2), (1, 3)):  # thinner than a pixel: becomes the pixel at its position
        if whole[high] <= whole[low]:
            whole[low] = math.floor(edges[low])
            whole[high] = whole[low] + 1
    rounded = any(abs(edge - pixel) > _CLOSE for edge, pixel in zip(edges, whole, strict=True))
    width, height = size
    inside = [
        max(whole[0], 0),
        max(whole[1], 0),
        min(whole[2], width or whole[2]),
        min(whole[3], height or whole[3]),
    ]
    if inside[2] <= inside[0] or inside[3] <= inside[1]:
        changes.outside += 1
        return None
    changes.rounded += rounded
    changes.clipped += inside != whole
    return Box(inside[0] + 1, inside[1] + 1, inside[2], inside[3])


def _with_mentions(chains: list[Chain], captions: Sequence[CaptionRecord]) -> list[Chain]:
    """Return the chains with those of their phrases that are captions as mentions."""
    if not captions or not any(chain.phrases for chain in chains):
        return chains
    numbers: dict[tuple[str, ...], list[int]] = {}
    for number, caption in enumerate(captions):
        numbers.setdefault(_spoken(caption.words), []).append(number)
    of_phrase = Counter(key for chain in chains for key in {_spoken(tokenise(p)) for p in chain.phrases})
    result = []
    for chain in chains:
        spoken, phrases = set[int](), list[str]()
        for phrase in chain.phrases:
            key = _spoken(tokenise(phrase))
            if key and of_phrase[key] == 1 and len(same := numbers.get(key, ())) == 1:
                spoken.update(same)
            else:
                phrases.append(phrase)
        category = chain.label if chain.label in CATEGORIES else OTHER
        mentions = (
            Mention(number, 0, len(captions[number].words), captions[number].words, (category,))
            for number in sorted(spoken)
        )
        result.append(replace(chain, mentions=tuple(mentions), phrases=tuple(phrases)))
    return result


def _spoken(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words without case and punctuation."""
    return tuple(word.casefold() for word in words if any(map(str.isalnum, word)))
