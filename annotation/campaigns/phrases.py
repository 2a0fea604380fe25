"""Phrases marked by hand: which words of an image's captions a campaign will ask about.

They take the place of those that are found, for images that no campaign asks about yet: what tasks were made
of stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.campaigns.choosing import ENTITIES, gold_layer
from annotation.common import database
from annotation.models import Account, Campaign, Image, OpenImage, PhraseMarks
from annotation.protocol.mentions import mentions_of
from annotation.protocol.terms import Mention, Span
from annotation.selectors.browse import captions_shown
from annotation.selectors.records import image_record, layer_of, marked_spans

#: Where the phrases of an image come from.
FROM_LAYER: Final = "layer"
BY_HAND: Final = "marked"
BY_CHUNKER: Final = "found"


class CannotMark(ValueError):
    """Phrases that cannot be marked; one line with the remedy."""


@dataclass(frozen=True, slots=True)
class ImagePhrases:
    """The phrases of an image, where they come from, and why they cannot be marked now ("": they can)."""

    mentions: tuple[Mention, ...]
    source: str
    kept: str


def phrases_of(image: Image) -> ImagePhrases:
    """What a campaign would ask about an image, if it opened it now."""
    captions = captions_shown(image)
    layer = gold_layer(image.corpus)
    if layer is not None:
        found, source = layer_of(image, layer).mentions, FROM_LAYER
    else:
        marked = marked_spans([image.pk]).get(image.pk)
        found = mentions_of(image_record(image, captions, None, marked))
        source = BY_CHUNKER if marked is None else BY_HAND
    return ImagePhrases(found, source, why_phrases_kept(image))


def why_phrases_kept(image: Image) -> str:
    """Why the phrases of an image cannot be marked, in a sentence; "" where they can."""
    layer = gold_layer(image.corpus)
    if layer is not None:
        return _("The phrases of this corpus came with it, in its layer “%(layer)s”.") % {"layer": layer.name}
    asking = OpenImage.objects.filter(image=image, campaign__tasks=ENTITIES)
    name = asking.exclude(campaign__state=Campaign.CLOSED).values_list("campaign__name", flat=True).first()
    if name is None:
        return ""
    return _(
        "Campaign “%(name)s” asks about the phrases of this image already. They can be marked for other "
        "campaigns once it is closed."
    ) % {"name": name}


def mark_phrases(*, image: Image, spans: Iterable[Span], actor: Account | None = None) -> bool:
    """Say which phrases the captions of an image have; False where they are marked so already.

    Raises CannotMark where a campaign asks about them already, where they came with the corpus, and for a
    phrase that is not in its caption or overlaps another.
    """
    chosen = sorted(set(spans))
    _check(chosen, [len(caption.words) for caption in captions_shown(image)])
    with database.writing():
        row = _to_mark(image)
        before = marked_spans([row.pk]).get(row.pk)
        if before == tuple(chosen):
            return False
        PhraseMarks.objects.update_or_create(image=row, defaults={"spans": [list(span) for span in chosen]})
        _note(actor, row, phrases=len(chosen))
    return True


def drop_marks(*, image: Image, actor: Account | None = None) -> bool:
    """Go back to the phrases that are found; False where none were marked. Raises CannotMark as above."""
    with database.writing():
        row = _to_mark(image)
        dropped, _rows = PhraseMarks.objects.filter(image=row).delete()
        if dropped:
            _note(actor, row, phrases=None)
    return bool(dropped)


def _to_mark(image: Image) -> Image:
    """The row of an image, locked, so that no campaign opens it meanwhile. Raises CannotMark."""
    locked = Image.objects.select_for_update(no_key=True, of=("self",)).select_related("corpus")
    row = locked.get(pk=image.pk)
    if kept := why_phrases_kept(row):
        raise CannotMark(kept)
    return row


def _note(actor: Account | None, image: Image, *, phrases: int | None) -> None:
    record(actor=actor, act="mark_phrases", corpus=image.corpus.name, image=image.key, phrases=phrases)


def _check(spans: Sequence[Span], words: Sequence[int]) -> None:
    """Raise CannotMark unless each span lies within its caption of so many words, and beside the others."""
    for caption, start, end in spans:
        if not 0 <= caption < len(words):
            raise CannotMark(
                _("There is no caption %(number)d: the image has %(n)d.")
                % {"number": caption + 1, "n": len(words)}
            )
        if not 0 <= start < end <= words[caption]:
            raise CannotMark(
                _("Caption %(number)d has %(n)d words: words %(start)d to %(end)d are no phrase of it.")
                % {"number": caption + 1, "n": words[caption], "start": start + 1, "end": end}
            )
    for before, after in pairwise(spans):
        if before[0] == after[0] and after[1] < before[2]:
            raise CannotMark(
                _("Two phrases of caption %(number)d have a word in common: mark it in one of them.")
                % {"number": after[0] + 1}
            )
