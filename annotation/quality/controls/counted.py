"""Control items of counted questions: graded pairs, images of a page, sentences of the test.

Written captions and chosen regions cannot be graded, so they have none; instead of them, there is a test of
spelling and grammar before captions are written.

Source: Hodosh et al. 2013, section 4.3.2: an image of the development set, one to three of its own captions,
the rest random ones that were verified not to describe it; section 2.3: the test.
"""

from dataclasses import dataclass
from typing import Any

from annotation.models import Campaign, Control
from annotation.protocol.grading import BadGoldAnswer, stratum
from annotation.protocol.kinds import (
    MEASURED_ON_CONTROLS,
    BadItem,
    WrittenControlItem,
    all_kinds,
    is_counted,
    kind_of,
)
from annotation.quality.controls.items import Images

#: A caption's name: its image's key and its index, from 0.
CaptionName = tuple[str, int]


@dataclass(frozen=True, slots=True)
class CountedControlItem:
    """A control item of a counted question, as people write it.

    `image` is the image's key in the campaign's corpus. `captions` are those beside it (one to be graded, or
    all of a page's image) or empty; `sentence` is that of the test of spelling. `known`: the grade, "correct"
    or "incorrect", or for a page's image a bool for each caption.
    """

    kind: str
    purpose: str
    image: str
    known: str | tuple[bool, ...]
    captions: tuple[CaptionName, ...] = ()
    sentence: str = ""
    explanation: str = ""


def counted_row(item: CountedControlItem, *, campaign: Campaign, images: Images) -> Control:
    """Return the row of a control item, not stored yet, without its source. Raises BadItem."""
    kind = kind_of(item.kind) if is_counted(item.kind) else None
    if kind is None or kind.item is None:
        known_kinds = ", ".join(any_kind.key for any_kind in all_kinds() if any_kind.item is not None)
        raise BadItem(f"{item.kind!r} cannot be graded; expected {known_kinds}")
    if item.kind not in campaign.kinds:
        raise BadItem(f"campaign {campaign.name!r} asks {', '.join(campaign.kinds)}; not {item.kind}")
    if item.purpose not in Control.PURPOSES:
        raise BadItem(f"unknown purpose {item.purpose!r}; known: {', '.join(Control.PURPOSES)}")
    if item.purpose == Control.CONTROL and kind.measured_on != MEASURED_ON_CONTROLS:
        raise BadItem(f"{item.kind} has no control items; expected the purpose 'qualification'")
    if item.image not in images.rows:
        raise BadItem(f"there is no image {item.image!r} in corpus {campaign.corpus.name!r}")
    known: Any = list(item.known) if isinstance(item.known, tuple) else item.known
    written = WrittenControlItem(
        item.image,
        images.rows[item.image].pk,
        item.known,
        item.captions,
        _caption_positions(item, campaign, images),
        item.sentence,
    )
    content, key = kind.item(written)
    try:
        answer = stratum(item.kind, kind.from_json(known))
    except (BadGoldAnswer, ValueError) as error:
        raise BadItem(f"{error}, which {item.kind} cannot have") from error
    return Control(
        campaign=campaign,
        kind=item.kind,
        purpose=item.purpose,
        image=images.rows[item.image],
        key=key,
        content=content,
        known=known,
        stratum=answer,
        explanation=item.explanation,
    )


def _caption_positions(item: CountedControlItem, campaign: Campaign, images: Images) -> list[list[int]]:
    """Return the captions of an item, by their images' ids. Raises BadItem."""
    keys = {image for image, _ in item.captions}
    there = Images(campaign.corpus_id, keys - images.rows.keys())
    rows = {**images.rows, **there.rows}
    positions = []
    for key, number in item.captions:
        if key not in rows:
            raise BadItem(f"there is no image {key!r} in corpus {campaign.corpus.name!r}")
        row = rows[key]
        captions = images.words.get(row.pk) or there.words.get(row.pk, {})
        if not 0 <= number < len(captions):
            raise BadItem(f"image {key!r} has {len(captions)} captions and no number {number}, from 0")
        positions.append([row.pk, number])
    return positions
