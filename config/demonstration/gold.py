"""Which captions describe which pictures, by what the gold says is to be seen in them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.terms import ImageRecord, Mention


@dataclass(frozen=True)
class Described:
    """Pictures and captions by name, in order; `fits` is by picture and caption."""

    images: tuple[str, ...]
    captions: tuple[str, ...]
    fits: NDArray[np.bool_]


def described(records: Sequence[ImageRecord]) -> Described:
    """Which captions fit which pictures: a judge lets one thing of a caption be missing.

    Things are known by their head nouns, as any caption of the picture calls them. Judges are told that small
    mistakes are allowed, so one thing may be missing where two others are there; a picture's own captions
    are always right. Records need their gold layers.
    """
    seen = [{mention.head for mention in _mentions(record)} for record in records]
    captions, fits = [], []
    for number, record in enumerate(records):
        named: list[set[str]] = [set() for _ in record.captions]
        for mention in _mentions(record):
            named[mention.caption].add(mention.head)
        for number_of_caption, heads in enumerate(named):
            captions.append(f"{record.filename}#{number_of_caption}")
            enough = max(2, len(heads) - 1)
            fits.append([row == number or len(heads & there) >= enough for row, there in enumerate(seen)])
    names = tuple(record.filename for record in records)
    return Described(names, tuple(captions), np.array(fits, dtype=bool).reshape(-1, len(names)).T)


def _mentions(record: ImageRecord) -> list[Mention]:
    assert record.layer is not None
    return [mention for chain in record.layer.chains for mention in chain.mentions]
