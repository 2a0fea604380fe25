"""The pages of a localization set: each mention's best region next to the box that people drew."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Min
from numpy.typing import NDArray

from annotation.protocol.terms import CaptionRecord, ImageRecord, Mention
from annotation.selectors.records import stream_records
from evaluation.models import LocalizationSet
from evaluation.services.alignments.localizing import boxed_mentions
from evaluation.services.localizations.sets import LocalizedMention, images_looked_at, localized_mentions
from phrasebox.metrics.localization import RIGHT_IOU, iou

#: Filters for mentions: all, those whose best region is wrong, or those where it is far off.
ALL_MENTIONS, MISPLACED, FAR = "all", "wrong", "far"
MENTION_FILTERS = (ALL_MENTIONS, MISPLACED, FAR)
#: A region is far off if its IoU with the box that people drew is lower.
FAR_IOU = 0.1
#: Number of images read at a time, and at most for one page.
_TOGETHER, _AT_MOST = 40, 400


@dataclass(frozen=True, slots=True)
class MentionOnPage:
    """A mention with its best region; boxes are left, top, width and height from 0, `predicted` is None for
    none.

    `before` and `after` are the other words of its caption; `rank` is that of the first right region, 0 if
    there is none.
    """

    before: str
    text: str
    after: str
    drawn: tuple[float, ...]
    predicted: tuple[float, ...] | None
    overlap: float
    rank: int

    @property
    def right(self) -> bool:
        """Whether the best region is right."""
        return self.rank == 1


@dataclass(frozen=True, slots=True)
class LocalizedImage:
    """An image (row) with the mentions that the page displays."""

    image: Any
    mentions: tuple[MentionOnPage, ...]


@dataclass(frozen=True, slots=True)
class MentionPage:
    """The images of a page; `later` is the start of the next page, 0 for none."""

    images: list[LocalizedImage]
    later: int


def mention_page(row: LocalizationSet, layer: Any, which: str, first: int, number: int) -> MentionPage:
    """Return at most `number` images, from the index `first` on, with a mention that passes the filter
    `which`.

    Images for which the set has nothing come last, if it is known that the system looked at them. At most a
    few hundred images are searched, so that a page is cheap.
    """
    order = row.mentions.values("image_id").annotate(first=Min("position")).order_by("first")
    there = list(order.values_list("image_id", flat=True))
    if row.image_ids is not None:
        there += sorted(images_looked_at(row).difference(there))
    ids = there[first : first + _AT_MOST + 1]
    images: list[LocalizedImage] = []
    for start in range(0, min(len(ids), _AT_MOST), _TOGETHER):
        for index, image in enumerate(_looked_at(row, layer, which, ids[start : start + _TOGETHER]), start):
            if image is not None and index < _AT_MOST:
                images.append(image)
                if len(images) == number:
                    more = index + 1 < len(ids)
                    return MentionPage(images, first + index + 1 if more else 0)
    return MentionPage(images, first + _AT_MOST if len(ids) > _AT_MOST else 0)


def _looked_at(
    row: LocalizationSet, layer: Any, which: str, ids: list[int]
) -> Iterator[LocalizedImage | None]:
    """Yield each of these images with its mentions; None if no mention is displayed."""
    images = row.corpus.images.filter(pk__in=ids)
    rows = {image.pk: image for image in images.order_by("position")}
    records = dict(zip(rows, stream_records(corpus=row.corpus, layer=layer, images=images), strict=True))
    mentions_of_image: dict[int, dict[tuple[int, int, int], LocalizedMention]] = {}
    for mention in localized_mentions(row, ids):
        mentions_of_image.setdefault(mention.image, {})[mention.caption, mention.start, mention.end] = mention
    for pk in ids:
        mentions = tuple(
            localized
            for localized in _compared(records[pk], mentions_of_image.get(pk, {}))
            if which == ALL_MENTIONS
            or (not localized.right and (which == MISPLACED or localized.overlap < FAR_IOU))
        )
        yield LocalizedImage(rows[pk], mentions) if mentions else None


def _compared(
    record: ImageRecord, mentions: dict[tuple[int, int, int], LocalizedMention]
) -> Iterator[MentionOnPage]:
    """Yield the mentions that people boxed, next to the set's regions for them."""
    if record.layer is None:
        return
    for mention, drawn in sorted(boxed_mentions(record.layer), key=lambda item: item[0].span):
        localized = mentions.get(mention.span)
        regions = np.empty((0, 5)) if localized is None else localized.regions
        overlaps = iou(regions[:, :4], drawn) if len(regions) else np.empty(0)
        right = np.flatnonzero(overlaps >= RIGHT_IOU)
        before, after = _around(record.captions[mention.caption], mention)
        yield MentionOnPage(
            before,
            mention.text,
            after,
            _rectangle(drawn),
            _rectangle(regions[0, :4]) if len(regions) else None,
            float(overlaps[0]) if len(regions) else 0.0,
            int(right[0]) + 1 if len(right) else 0,
        )


def _around(caption: CaptionRecord, mention: Mention) -> tuple[str, str]:
    words = caption.words
    return " ".join(words[: mention.start]), " ".join(words[mention.end :])


def _rectangle(box: NDArray[np.floating]) -> tuple[float, ...]:
    left, top, right, low = (float(edge) for edge in box)
    return left - 1, top - 1, right - left + 1, low - top + 1
