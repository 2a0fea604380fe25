"""Totals of a pass over a corpus's records: counts, a digest, and the ids seen so far.

Pure: the same records give the same ledger, whether they come from a file or from memory.
"""

import hashlib
import json
from pathlib import Path

from annotation.formats.checks import check_record
from annotation.protocol.terms import NOT_VISUAL, ImageRecord, LayerRecord
from phrasebox.errors import PhraseboxError


class RepeatedImage(PhraseboxError):
    """Two records with the same id."""


class Ledger:
    """Counts of the entered records, and a SHA-256 over all of them in order.

    `mentions` and `chains` exclude what is not visual (chain 0), which `not_visual` counts. `layered` counts
    the images with a layer.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.images = self.captions = self.pictures = self.layered = 0
        self.chains = self.mentions = self.not_visual = self.boxes = 0
        self._hash = hashlib.sha256()
        self._seen: dict[str, int] = {}

    def check(self, record: ImageRecord) -> None:
        """Raise FormatError if `record` is invalid, RepeatedImage if its id was seen before."""
        check_record(record, file=Path(self.source))
        position = len(self._seen) + 1
        if (earlier := self._seen.setdefault(record.id, position)) != position:
            raise RepeatedImage(
                f"{self.source}: image {record.id!r} is record {earlier} and record {position}; "
                "expected each image once"
            )

    def enter(self, record: ImageRecord, picture: str) -> None:
        """Add `record` as in its source; `picture` is the SHA-256 of its file, or ""."""
        self.images += 1
        self.captions += len(record.captions)
        self.pictures += bool(picture)
        if record.layer is not None:
            self.layered += 1
            for chain in record.layer.chains:
                if chain.id == NOT_VISUAL:
                    self.not_visual += 1
                else:
                    self.chains += 1
                    self.mentions += len(chain.mentions)
            self.boxes += sum(thing.box is not None for thing in record.layer.objects)
        line = json.dumps(_essence(record, picture), ensure_ascii=False, separators=(",", ":"))
        self._hash.update(line.encode() + b"\n")

    @property
    def digest(self) -> str:
        """The SHA-256 of everything entered so far, in hexadecimal."""
        return self._hash.hexdigest()


def _essence(record: ImageRecord, picture: str) -> list[object]:
    """Return the complete content of a record, as plain lists."""
    return [
        record.id,
        record.filename,
        record.external_id,
        record.split,
        record.width,
        record.height,
        picture,
        [[c.text, c.tokens, c.id, c.unrelated] for c in record.captions],
        None if record.layer is None else _layer_essence(record.layer),
    ]


def _layer_essence(layer: LayerRecord) -> list[object]:
    return [
        [
            [
                c.id,
                [[m.caption, m.start, m.end, m.categories] for m in c.mentions],
                *([c.label, c.phrases] if c.label or c.phrases else []),
            ]
            for c in layer.chains
        ],
        [
            [
                o.chains,
                o.box and (o.box.xmin, o.box.ymin, o.box.xmax, o.box.ymax),
                o.scene,
                o.nobndbox,
                *([True] if o.by_model else []),
            ]
            for o in layer.objects
        ],
    ]
