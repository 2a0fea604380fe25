"""Records for round trips: any text that a file can contain, and layers in canonical order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from annotation.formats.checks import is_visible
from annotation.formats.names import ImageIds, is_safe_name
from annotation.protocol.terms import (
    CATEGORIES,
    NOT_VISUAL,
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
)
from phrasebox.names import folded, image_id

SIDE = 500

_letters = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
words = st.text(_letters, min_size=1, max_size=8).filter(
    lambda word: word.split() == [word] and is_visible(word)
)
names = st.builds(
    str.__add__,
    st.text(st.one_of(_letters, st.sampled_from("ab. #,\"'&<>")), min_size=1, max_size=12),
    st.sampled_from(["", ".jpg", ".PNG", ".jpg.1"]),
).filter(lambda name: is_safe_name(name) and is_safe_name(image_id(name)))
spaces = st.sampled_from([" ", " ", "  ", "\t", "\u2028"])


@dataclass(frozen=True)
class Abilities:
    """The features that a format can write."""

    captionless: bool = False
    line_breaks: bool = False
    splits: tuple[str, ...] = ("", "train", "val", "test", "other-2")
    layers: bool = False
    uncovered: bool = False
    brackets: bool = True
    nesting: bool = True
    model_boxes: bool = False
    labels: bool = False


labels = st.text(_letters, max_size=9).map(lambda text: " ".join(text.split()))


@st.composite
def captions(draw: st.DrawFn, can: Abilities, prefix: str) -> list[CaptionRecord]:
    count = draw(st.integers(0 if can.captionless else 1, 3))
    result = []
    for number in range(count):
        message = draw(st.lists(words, min_size=1, max_size=6))
        if not can.brackets:
            message = [word.replace("[", "(").replace("]", ")") for word in message]
        gap = draw(st.sampled_from(["\n", "\r\n", "\r"]) if can.line_breaks else spaces)
        cut = tuple(word for token in message for word in (token[:2], token[2:]) if word)
        result.append(
            CaptionRecord(
                gap.join(message),
                tokens=cut if cut != tuple(message) and draw(st.booleans()) else None,
                id=f"{prefix}{number + 1}" if prefix else "",
                unrelated=draw(st.booleans()),
            )
        )
    return result


@st.composite
def layers(draw: st.DrawFn, caption_records: list[CaptionRecord], can: Abilities) -> LayerRecord:
    """Draw mentions side by side (or nested, if the format supports this), in chains; objects for some."""
    places: list[tuple[int, int, int]] = []
    for number, caption in enumerate(caption_records):
        at = 0
        while at < len(caption.words):
            length = draw(st.integers(0, 3))
            if length and at + length <= len(caption.words):
                places.append((number, at, at + length))
                if can.nesting and length > 1 and draw(st.booleans()):
                    places.append((number, at, at + 1))
            at += max(length, 1)
    held: dict[str, list[Mention]] = {}
    for number, start, end in sorted(places):
        kinds = draw(
            st.lists(st.sampled_from([*CATEGORIES, "notvisual"]), min_size=1, max_size=2, unique=True)
        )
        chain = draw(st.sampled_from(["0", "7", "12", "30"]))
        key = f"{NOT_VISUAL} {len(held)}" if chain == NOT_VISUAL else chain
        mention = Mention(number, start, end, caption_records[number].words[start:end], tuple(kinds))
        held.setdefault(key, []).append(mention)
    chains = [Chain(key.split(" ")[0], tuple(mentions)) for key, mentions in held.items()]
    visual = [chain.id for chain in chains if chain.id != NOT_VISUAL] + ["41", "42"]
    objects: list[LayerObject] = []
    for _ in range(draw(st.integers(0, 3))):
        named = tuple(draw(st.lists(st.sampled_from(visual), min_size=1, max_size=2, unique=True)))
        x, y = (sorted(draw(st.tuples(st.integers(1, SIDE), st.integers(1, SIDE)))) for _ in range(2))
        by_model = can.model_boxes and draw(st.booleans())
        objects.append(LayerObject(named, Box(x[0], y[0], x[1], y[1]), by_model=by_model))
    for name in draw(st.lists(st.sampled_from(visual), max_size=2, unique=True)):
        scene = draw(st.booleans())
        objects.append(LayerObject((name,), None, scene, not scene or draw(st.booleans())))
    drawn = dict.fromkeys(name for obj in objects for name in obj.chains)
    known = {chain.id for chain in chains}
    chains += [Chain(name, ()) for name in drawn if name not in known]
    if can.labels:
        chains = [draw(labelled(chain)) if chain.id != NOT_VISUAL else chain for chain in chains]
    return LayerRecord(tuple(chains), tuple(objects))


@st.composite
def labelled(draw: st.DrawFn, chain: Chain) -> Chain:
    """Draw the chain as from another tool: with a label, and phrases that are not in a caption."""
    phrases = draw(st.lists(labels.filter(bool), max_size=2, unique=True))
    return replace(chain, label=draw(labels), phrases=tuple(phrases))


@st.composite
def corpora(draw: st.DrawFn, can: Abilities) -> list[ImageRecord]:
    """Draw one to four images with different ids; all source ids are numbers, or none is."""
    numbered = draw(st.booleans())
    result = []
    for index, name in enumerate(
        draw(st.lists(names, min_size=1, max_size=4, unique_by=lambda name: folded(image_id(name)))), 1
    ):
        message = draw(captions(can, f"{index}00" if numbered else ""))
        sized = draw(st.booleans())
        layered = can.layers and not (can.uncovered and draw(st.booleans()))
        result.append(
            ImageRecord(
                id=image_id(name),
                filename=name,
                captions=tuple(message),
                split=draw(st.sampled_from(can.splits)),
                width=SIDE if sized else 0,
                height=SIDE if sized else 0,
                layer=draw(layers(message, can)) if layered else None,
                external_id=str(index * 11) if numbered else "",
            )
        )
    return result


@st.composite
def untidy_corpora(draw: st.DrawFn) -> list[ImageRecord]:
    """Draw records as in a database: with data that some formats cannot represent."""
    can = Abilities(
        captionless=draw(st.booleans()),
        line_breaks=draw(st.booleans()),
        splits=draw(st.sampled_from([("",), ("", "train", "val", "test"), ("train", "other-2", "dev")])),
        layers=True,
        uncovered=draw(st.booleans()),
        brackets=draw(st.booleans()),
        nesting=draw(st.booleans()),
        labels=draw(st.booleans()),
    )
    odd = draw(st.booleans())
    ids = st.sampled_from(["", "7", "12", "x7", " 9", "name.jpg#3"]) if odd else st.just("")
    result = []
    for record in draw(corpora(can)):
        message = [
            replace(caption, id=(id := draw(ids)) and f"{id}{number}" if odd else caption.id)
            for number, caption in enumerate(record.captions)
        ]
        record = replace(record, captions=tuple(message))
        if odd:
            filename = draw(st.sampled_from([record.filename, f"{record.id}.png", "other.jpg"]))
            record = replace(record, filename=filename, external_id=draw(ids), height=0)
        if odd and record.layer and draw(st.booleans()):
            record = replace(
                record, layer=replace(record.layer, chains=(*record.layer.chains, Chain("77", ())))
            )
        result.append(record)
    return result


def lost(before: list[ImageRecord], after: list[ImageRecord]) -> dict[str, int]:
    """Count the data of `before` that are missing in `after`, by the names of `Written.excluded`, without
    zeros.

    Ids that a format makes up for missing ones are not a loss. A layer is complete, missing, or different.
    """
    read = {record.id: record for record in after}
    assert read.keys() == {record.id for record in before}
    counts: Counter[str] = Counter()
    for old in before:
        new = read[old.id]
        counts["filenames"] += old.filename != new.filename
        counts["splits"] += old.split != new.split
        counts["sizes"] += (old.width, old.height) != (new.width, new.height)
        counts["external_ids"] += old.external_id not in ("", new.external_id)
        for caption, another in zip(old.captions, new.captions, strict=True):
            counts["texts"] += caption.text != another.text
            counts["words"] += caption.words != another.words
            counts["caption_ids"] += caption.id not in ("", another.id)
            counts["unrelated"] += caption.unrelated != another.unrelated
        had, has = _labels(old), _labels(new)
        counts["labels"] += had - has
        if new.layer is None:
            counts["layers"] += old.layer is not None
        elif had > has == 0 and old.layer is not None:
            chains = tuple(Chain(chain.id, chain.mentions) for chain in old.layer.chains)
            assert new.layer == replace(old.layer, chains=chains)
        else:
            assert new.layer == old.layer
    places = {record.id: index for index, record in enumerate(after)}
    farthest = -1
    for old in before:
        counts["order"] += places[old.id] < farthest
        farthest = max(farthest, places[old.id])
    return {word: number for word, number in counts.items() if number}


def _labels(record: ImageRecord) -> int:
    """Return the number of chains with a label or phrases of another tool."""
    return sum(bool(chain.label or chain.phrases) for chain in record.layer.chains) if record.layer else 0


def _expected_records(
    record: ImageRecord, *, id: bool = False, tokens: bool = False, unrelated: bool = False
) -> ImageRecord:
    """Return `record` with its captions' texts only, and the requested fields; without layer, sizes or
    ids."""
    message = []
    for caption in record.captions:
        text = caption.text.strip()
        cut = caption.words if tokens and caption.words != tuple(text.split()) else None
        message.append(
            CaptionRecord(text, cut, caption.id if id else "", caption.unrelated if unrelated else False)
        )
    return ImageRecord(record.id, ImageIds().printed(record), tuple(message), split=record.split)


def as_flickr8k(records: list[ImageRecord]) -> list[ImageRecord]:
    return [_expected_records(record) for record in records]


def as_flickr30k(records: list[ImageRecord]) -> list[ImageRecord]:
    return [replace(_expected_records(record), split="") for record in records]


def as_csv(records: list[ImageRecord]) -> list[ImageRecord]:
    return [_expected_records(record, id=True, unrelated=True) for record in records]


def as_karpathy(records: list[ImageRecord]) -> list[ImageRecord]:
    """Number captions without ids from 0 over the whole corpus."""
    result, running = [], 0
    for record in records:
        stored = _expected_records(record, id=True, tokens=True)
        message = []
        for caption in stored.captions:
            message.append(replace(caption, id=caption.id or str(running)))
            running += 1
        result.append(replace(stored, captions=tuple(message), external_id=record.external_id))
    return result


def as_coco(records: list[ImageRecord]) -> list[ImageRecord]:
    """Number images and captions without ids from 1."""
    result, running = [], 0
    for index, record in enumerate(records, 1):
        message = []
        for caption in _expected_records(record, id=True, tokens=True).captions:
            running += 1
            message.append(replace(caption, id=caption.id or str(running)))
        result.append(
            ImageRecord(
                record.id,
                ImageIds().printed(record),
                tuple(message),
                width=record.width,
                height=record.height,
                layer=record.layer,
                external_id=record.external_id or str(index),
            )
        )
    return result


def as_entities(records: list[ImageRecord]) -> list[ImageRecord]:
    """Return words instead of texts; the order is that of the lists."""
    result = []
    for record in records:
        result.append(
            ImageRecord(
                record.id,
                record.filename,
                tuple(CaptionRecord(" ".join(c.words), unrelated=c.unrelated) for c in record.captions),
                split=record.split,
                width=record.width,
                height=record.height,
                layer=record.layer,
            )
        )
    order = {"train": 0, "restval": 1, "val": 2, "test": 3, "": 4}
    return sorted(result, key=lambda r: (order[r.split], r.id if not r.split else ""))
