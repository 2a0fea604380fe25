"""Pictures, phrases and boxes of a corpus as a proposer takes them; its boxes as a campaign stores them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from annotation.protocol.machines import Proposals, ProposedBox
from annotation.protocol.terms import Box, ImageRecord, Mention
from models_core.features.image.pictures import Pixels, read_picture, upright

if TYPE_CHECKING:
    from models_core.estimators.neural.proposer.box_proposer import BoxProposer
    from models_core.estimators.neural.proposer.examples import TaughtPicture

#: Pictures that are read and looked at together.
_TOGETHER = 16


def square_picture(record: ImageRecord, side: int) -> Pixels:
    """The picture squeezed into a square, (side, side, 3). Raises BadPicture; the record has a picture."""
    assert record.picture is not None
    image = upright(read_picture(record.picture)).resize((side, side), Image.Resampling.BOX)
    return np.asarray(image, np.uint8)


def taught_pictures(records: Iterable[ImageRecord], side: int) -> Iterator[TaughtPicture]:
    """What is taught: each picture with the phrases of its chains that have boxes. Others are left out."""
    # Torch takes a second to load: whoever teaches nothing need not wait for it.
    from models_core.estimators.neural.proposer.examples import TaughtPhrase, TaughtPicture

    for record in records:
        if record.picture is None or record.layer is None or not (record.width and record.height):
            continue
        depicted = record.layer.depicted()
        phrases = tuple(
            TaughtPhrase(
                tuple(mention.tokens for mention in chain.mentions),
                np.array([_shares(box, record) for box in depicted[chain.id]]),
            )
            for chain in record.layer.chains
            if chain.id in depicted and chain.mentions
        )
        if phrases:
            yield TaughtPicture(square_picture(record, side), phrases)


def proposals_of(
    proposer: BoxProposer, records: Iterable[tuple[ImageRecord, Sequence[Mention]]]
) -> Iterator[tuple[str, Proposals]]:
    """What a proposer would draw for each of the mentions of each image that has a picture."""
    waiting: list[tuple[ImageRecord, Sequence[Mention]]] = []
    for record, mentions in records:
        if record.picture is not None and record.width and record.height and mentions:
            waiting.append((record, mentions))
        if len(waiting) == _TOGETHER:
            yield from _proposed(proposer, waiting)
            waiting = []
    yield from _proposed(proposer, waiting)


def _proposed(
    proposer: BoxProposer, records: Sequence[tuple[ImageRecord, Sequence[Mention]]]
) -> Iterator[tuple[str, Proposals]]:
    side = proposer.settings.side
    found = proposer.propose(
        [square_picture(record, side) for record, _ in records],
        [[mention.tokens for mention in mentions] for _, mentions in records],
    )
    for (record, mentions), own in zip(records, found, strict=True):
        proposals: Mapping[str, Sequence[ProposedBox]] = {
            mention.id: [ProposedBox(_pixels(row[:4].tolist(), record), float(row[4])) for row in rows]
            for mention, rows in zip(mentions, own, strict=True)
        }
        yield record.id, proposals


def _shares(box: Box, record: ImageRecord) -> tuple[float, float, float, float]:
    wide, high = record.width, record.height
    return ((box.xmin - 1) / wide, (box.ymin - 1) / high, box.xmax / wide, box.ymax / high)


def _pixels(shares: Sequence[float], record: ImageRecord) -> Box:
    """A box of shares in pixels, within the picture and one pixel large at least."""
    left, top, right, bottom = shares
    xmin = min(max(1, round(left * record.width) + 1), record.width)
    ymin = min(max(1, round(top * record.height) + 1), record.height)
    xmax = min(max(xmin, round(right * record.width)), record.width)
    return Box(xmin, ymin, xmax, min(max(ymin, round(bottom * record.height)), record.height))
