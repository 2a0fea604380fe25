"""Conversions between a corpus and a proposer: pictures, phrases and boxes in, stored boxes out."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from annotation.protocol.model_annotators import Proposals, ProposedBox
from annotation.protocol.terms import Box, ImageRecord, Mention
from models_core.features.image.pictures import BadPicture, Pixels, read_picture, upright

if TYPE_CHECKING:
    from models_core.estimators.neural.proposer.box_proposer import BoxProposer
    from models_core.estimators.neural.proposer.examples import TrainingPhrase, TrainingPicture

_log = logging.getLogger(__name__)

#: Number of pictures that are read and processed together.
_TOGETHER = 16
#: Called with the id of each image whose picture cannot be read.
Unreadable = Callable[[str], object]


def square_picture(record: ImageRecord, side: int) -> Pixels:
    """Return the picture scaled to a square, shape (side, side, 3). Raises BadPicture; the record must have a
    picture."""
    assert record.picture is not None
    image = upright(read_picture(record.picture)).resize((side, side), Image.Resampling.BOX)
    return np.asarray(image, np.uint8)


def training_pictures(
    records: Iterable[ImageRecord], side: int, *, unreadable: Unreadable = lambda image: None
) -> Iterator[TrainingPicture]:
    """Yield training data of a proposer: each picture with the phrases of its chains that have boxes. Images
    without any are skipped, and so are pictures that cannot be read."""
    # Torch takes a second to import, which only training needs.
    from models_core.estimators.neural.proposer.examples import TrainingPhrase, TrainingPicture

    for record in records:
        if record.picture is None or record.layer is None or not (record.width and record.height):
            continue
        depicted = record.layer.depicted()
        phrases = tuple(
            TrainingPhrase(
                tuple(mention.tokens for mention in chain.mentions),
                np.array([_shares(box, record) for box in depicted[chain.id]]),
            )
            for chain in record.layer.chains
            if chain.id in depicted and chain.mentions
        )
        if phrases and (picture := _readable(record, side, unreadable)) is not None:
            yield TrainingPicture(picture, phrases, record.id)


@contextmanager
def pictures_on_disk(
    pictures: Iterable[TrainingPicture],
    folder: Path,
    *,
    report_progress: Callable[[int], object] = lambda done: None,
) -> Iterator[list[TrainingPicture]]:
    """Yield the same pictures with their pixels in a memory-mapped file in `folder`, so that memory does not
    grow with them.

    The file is removed at the end of the block. `report_progress` is called with the number of pictures read.
    """
    from models_core.estimators.neural.proposer.examples import TrainingPicture

    stored: list[tuple[int, tuple[int, ...], tuple[TrainingPhrase, ...], str]] = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for picture in pictures:
            report_progress(len(stored))
            stored.append((file.tell(), picture.colours.shape, picture.phrases, picture.image))
            file.write(picture.colours.tobytes())
        file.flush()
        colours = np.asarray(np.memmap(file, np.uint8, "r")) if stored else np.empty(0, np.uint8)
        yield [
            TrainingPicture(colours[start : start + int(np.prod(shape))].reshape(shape), phrases, image)
            for start, shape, phrases, image in stored
        ]


def proposals_of(
    proposer: BoxProposer,
    records: Iterable[tuple[ImageRecord, Sequence[Mention]]],
    *,
    unreadable: Unreadable = lambda image: None,
) -> Iterator[tuple[str, Proposals]]:
    """Yield the proposer's boxes for each mention of each image whose picture can be read."""
    side = proposer.settings.side
    waiting: list[tuple[ImageRecord, Sequence[Mention], Pixels]] = []
    for record, mentions in records:
        if record.picture is None or not (record.width and record.height and mentions):
            continue
        picture = _readable(record, side, unreadable)
        if picture is not None:
            waiting.append((record, mentions, picture))
        if len(waiting) == _TOGETHER:
            yield from _proposed(proposer, waiting)
            waiting = []
    yield from _proposed(proposer, waiting)


def _readable(record: ImageRecord, side: int, unreadable: Unreadable) -> Pixels | None:
    """Return `square_picture`; None, and a call of `unreadable`, where the picture cannot be read."""
    try:
        return square_picture(record, side)
    except BadPicture as error:
        _log.warning("image %s is left out: %s", record.id, error)
        unreadable(record.id)
        return None


def _proposed(
    proposer: BoxProposer, records: Sequence[tuple[ImageRecord, Sequence[Mention], Pixels]]
) -> Iterator[tuple[str, Proposals]]:
    proposed = proposer.propose(
        [picture for _, _, picture in records],
        [[mention.tokens for mention in mentions] for _, mentions, _ in records],
    )
    for (record, mentions, _), proposals_of_image in zip(records, proposed, strict=True):
        proposals: Mapping[str, Sequence[ProposedBox]] = {
            mention.id: [ProposedBox(_pixels(row[:4].tolist(), record), float(row[4])) for row in rows]
            for mention, rows in zip(mentions, proposals_of_image, strict=True)
        }
        yield record.id, proposals


def _shares(box: Box, record: ImageRecord) -> tuple[float, float, float, float]:
    wide, high = record.width, record.height
    return ((box.xmin - 1) / wide, (box.ymin - 1) / high, box.xmax / wide, box.ymax / high)


def _pixels(shares: Sequence[float], record: ImageRecord) -> Box:
    """Convert a box of shares to pixels, within the picture and at least one pixel large."""
    left, top, right, bottom = shares
    xmin = min(max(1, round(left * record.width) + 1), record.width)
    ymin = min(max(1, round(top * record.height) + 1), record.height)
    xmax = min(max(xmin, round(right * record.width)), record.width)
    return Box(xmin, ymin, xmax, min(max(ymin, round(bottom * record.height)), record.height))
