"""Gold: mentions, chains and boxes from a drawn stage and its captions.

A box is tight around the visible extent as drawn, after everything in front; a person's box includes what
they wear. The layer is in canonical order and a fixed point of the merging of Plummer et al. (2015, section
2.3); objects for which it would not be are never mentioned.
"""

from collections.abc import Sequence
from typing import Any

from scenes.art.canvas import Extents
from scenes.captions import Sentence
from scenes.referents import Entity, Group, Notion, Referent, may_coincide
from scenes.terms import ANIMALS, BODYPARTS, CLOTHING, INSTRUMENTS, OTHER, PEOPLE, VEHICLES, Box

#: The smallest width and height of a box, its smallest area, and the smallest share of it that shows the
#: object.
LEAST_SIDE = 7
LEAST_AREA = 90
LEAST_SHARE = 0.10

#: From this IoU on two boxes of different chains would merge (the lower of the two printed bounds).
_ALIKE = 0.8
#: Boxes of one chain overlap less than this.
APART = 0.5

#: Which of two indistinguishable objects stays: the one with the earlier category here.
_PRECEDENCE = (PEOPLE, ANIMALS, VEHICLES, INSTRUMENTS, CLOTHING, OTHER, BODYPARTS)

#: The largest number of chain ids of an image.
STRIDE = 100


def visible(entities: Sequence[Entity], extents: Extents) -> dict[int, Box]:
    """Return entity key -> box, for all that are sufficiently visible and distinguishable by their boxes."""
    boxes: dict[int, Box] = {}
    for entity in entities:
        pixels = extents.pixels(entity.parts)
        if pixels < LEAST_AREA * LEAST_SHARE:
            continue
        box = extents.box(entity.parts)
        if box is None or box.width < LEAST_SIDE or box.height < LEAST_SIDE or box.area < LEAST_AREA:
            continue
        if pixels >= LEAST_SHARE * box.area:
            boxes[entity.key] = box
    by_key = {e.key: e for e in entities}
    ranked = sorted(boxes, key=lambda k: (_rank(by_key[k]), k))
    boxes_by_key: dict[int, Box] = {}
    for key in ranked:
        box = boxes[key]
        if all(
            box != earlier and (box.iou(earlier) < _ALIKE or may_coincide(by_key[key], by_key[k]))
            for k, earlier in boxes_by_key.items()
        ):
            boxes_by_key[key] = box
    return boxes_by_key


def _rank(entity: Entity) -> int:
    return _PRECEDENCE.index(entity.category) if entity.category in _PRECEDENCE else len(_PRECEDENCE)


def mentionable(referents: Sequence[Referent], boxes: dict[int, Box]) -> dict[int, Referent]:
    """Return the visible referents by key; of a set, the visible members, if these are separate from each
    other.

    No two represent the same set of objects.
    """
    referents_by_key: dict[int, Referent] = {}
    taken: set[tuple[int, ...]] = set()
    for referent in referents:
        if isinstance(referent, Notion):
            referents_by_key[referent.key] = referent
            continue
        seen = referent.seen(boxes) if isinstance(referent, Group) else referent
        if seen is None or any(e.key not in boxes for e in seen.entities):
            continue
        keys = tuple(sorted(e.key for e in seen.entities))
        visible_boxes = [boxes[k] for k in keys]
        if keys not in taken and all(
            a.iou(b) < APART for k, a in enumerate(visible_boxes) for b in visible_boxes[k + 1 :]
        ):
            taken.add(keys)
            referents_by_key[referent.key] = seen
    return referents_by_key


def layer(
    index: int, sentences: Sequence[Sentence], referents: dict[int, Referent], boxes: dict[int, Box]
) -> dict[str, list[Any]]:
    """Return the gold layer of image `index` (from 0), in canonical order, as in a corpus file.

    Chains are numbered from `index * STRIDE + 1`, in the order of their first mention. Objects: for each
    chain in that order, for each of its boxes from left to right (Box's own order), unless the box is listed
    already; a box names its chains in chain order; a chain without boxes is one object.
    """
    mentions: dict[int, list[dict[str, Any]]] = {}
    for number, sentence in enumerate(sentences):
        for key, start, end in sentence.mentions:
            mention = {"caption": number, "start": start, "end": end, "categories": [referents[key].category]}
            mentions.setdefault(key, []).append(mention)
    names = {key: str(index * STRIDE + k) for k, key in enumerate(mentions, start=1)}
    depicted = {key: sorted(boxes[e.key] for e in referents[key].entities) for key in mentions}
    objects: list[dict[str, Any]] = []
    listed: set[Box] = set()
    for key, boxes_of_referent in depicted.items():
        for box in boxes_of_referent:
            if box not in listed:
                listed.add(box)
                chains = [names[k] for k, theirs in depicted.items() if box in theirs]
                objects.append({"chains": chains, "box": list(box)})
        if not boxes_of_referent:
            is_place = isinstance(referents[key], Notion) and referents[key].category == "scene"
            objects.append({"chains": [names[key]], "scene": is_place, "nobndbox": not is_place})
    return {
        "chains": [
            {"id": names[key], "mentions": mentions_of_referent}
            for key, mentions_of_referent in mentions.items()
        ],
        "objects": objects,
    }
