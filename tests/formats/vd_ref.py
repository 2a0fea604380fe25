"""VD-Ref's visual dialogues as our JSON lines: a dialogue is an image, an utterance a caption.

Coreference clusters become chains (numbered from 1, since 0 means "not visual"), boxes become objects. A span
that occurs twice in a cluster is one mention; a span in several clusters stays in the first one only, since a
mention has one chain.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.protocol.terms import (
    OTHER,
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
)


@dataclass
class VdRef:
    """Iterates over the records of a file; counts spans that occur again in their cluster, or in another."""

    file: Path
    repeated: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[ImageRecord]:
        self.repeated, self.excluded = [], []
        with self.file.open(encoding="utf-8") as lines:
            for line in lines:
                yield self._record(json.loads(line))

    def _record(self, dialogue: dict[str, Any]) -> ImageRecord:
        utterances = [tuple(round["text"]) for round in dialogue["dialog"]]
        held: dict[str, list[Mention]] = {}
        taken: dict[str, int] = {}
        for ref in dialogue["text_ref"]:
            caption, start, end = ref["sentence_id"], ref["start"], ref["end"] + 1
            mention = Mention(caption, start, end, utterances[caption][start:end], (OTHER,))
            first = taken.setdefault(mention.id, ref["cluster_id"])
            if mention in held.get(str(first + 1), ()):
                again = self.repeated if first == ref["cluster_id"] else self.excluded
                again.append(f"{dialogue['id']} {mention.id}")
                continue
            held.setdefault(str(ref["cluster_id"] + 1), []).append(mention)
        chains = [
            Chain(name, tuple(sorted(mentions, key=lambda m: m.span))) for name, mentions in held.items()
        ]
        chains.sort(key=lambda chain: chain.mentions[0].span)
        objects = tuple(
            LayerObject((str(ref["cluster_id"] + 1),), _box(ref)) for ref in dialogue["image_ref"]
        )
        # A cluster whose spans are all in earlier clusters keeps its boxes.
        empty = dict.fromkeys(name for obj in objects for name in obj.chains if name not in held)
        return ImageRecord(
            id=str(dialogue["id"]),
            filename=dialogue["image"],
            captions=tuple(CaptionRecord(" ".join(words)) for words in utterances),
            split="val",
            layer=LayerRecord((*chains, *(Chain(name, ()) for name in empty)), objects),
        )


def _box(ref: dict[str, float]) -> Box:
    """Return the pixels that a box in continuous coordinates touches."""
    x, y, right, low = ref["x"], ref["y"], ref["x"] + ref["w"], ref["y"] + ref["h"]
    left, top = max(math.floor(x) + 1, 1), max(math.floor(y) + 1, 1)
    return Box(left, top, max(math.ceil(right), left), max(math.ceil(low), top))
