"""Phrases marked by hand: the words of an image's captions that a campaign will ask about.

They replace the phrases that the chunker finds, for images that no campaign asks about yet: existing tasks
stay unchanged.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field

from annotation.audit import record
from annotation.campaigns.choosing import ENTITIES, gold_layer
from annotation.common import database
from annotation.common.operations import FieldError, Help, OneOf, OperationContext, result_of
from annotation.datasets.contents.images import ImageRequest
from annotation.models import Account, Campaign, Image, OpenImage, PhraseMarks
from annotation.protocol.mentions import mentions_of
from annotation.protocol.terms import Mention, Span
from annotation.selectors.browse import captions_by_number
from annotation.selectors.records import image_record, layer_of, marked_spans
from phrasebox.errors import PhraseboxError

#: The origin of an image's phrases.
FROM_LAYER: Final = "layer"
BY_HAND: Final = "marked"
BY_CHUNKER: Final = "chunker"


def _sources() -> dict[str, None]:
    return dict.fromkeys((FROM_LAYER, BY_HAND, BY_CHUNKER))


#: A phrase as people and programs write it: caption, first word, word after the last, counted from 0.
_SPAN = re.compile(r"([0-9]{1,5}):([0-9]{1,5})-([0-9]{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class PhrasesRequest(ImageRequest):
    """The phrases of a campaign's questions about an image, and their source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkPhrasesRequest(ImageRequest):
    """Mark phrases by hand, replacing those that the chunker finds or that were marked before. Rejected if
    they were imported with the corpus, and while a campaign that is not closed asks about them."""

    phrases: Annotated[
        tuple[Annotated[str, Field(max_length=40)], ...],
        Field(max_length=32_767),
        Help(gettext_lazy("Phrases"), gettext_lazy("Of all captions, as 0:0-2; none: there are none")),
    ] = ()

    def spans(self) -> list[Span]:
        """Return the phrases: caption, first word, word after the last."""
        matches = map(_SPAN.fullmatch, self.phrases)
        return [(int(match[1]), int(match[2]), int(match[3])) for match in matches if match is not None]

    def problems(self) -> Iterator[FieldError]:
        """Errors of phrases in a wrong notation."""
        for number, text in enumerate(self.phrases):
            if not _SPAN.fullmatch(text):
                yield FieldError(f"phrases.{number}", "phrase", {"value": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPhraseMarksRequest(ImageRequest):
    """The phrases that the chunker finds are used again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhraseContent:
    """A phrase: words `start` to `end` (exclusive) of a caption, counted from 0."""

    caption: int
    start: int
    end: int
    text: str
    categories: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhraseList:
    """The phrases of a campaign's questions about an image. `source` is `layer` (imported with the corpus),
    `marked` (by hand) or `chunker`; `blocked` is why they cannot be marked now, "" if they can."""

    image: str
    source: Annotated[str, OneOf(_sources)]
    blocked: str
    phrases: tuple[PhraseContent, ...]


@dataclass(frozen=True, slots=True)
class ImagePhrases:
    """The phrases of an image, their origin, and why they cannot be marked now ("": they can)."""

    mentions: tuple[Mention, ...]
    source: str
    blocked: str


def show_phrases(request: ImageRequest, context: OperationContext) -> PhraseList:
    """Return the phrases of an image."""
    current = phrases_of(request.image_row())
    return PhraseList(
        image=request.image,
        source=current.source,
        blocked=current.blocked,
        phrases=tuple(result_of(PhraseContent, mention) for mention in current.mentions),
    )


def mark_named_phrases(request: MarkPhrasesRequest, context: OperationContext) -> PhraseList:
    """Mark the phrases of an image. Raises CannotMark."""
    mark_phrases(image=request.image_row(), spans=request.spans(), actor=context.actor)
    return show_phrases(request, context)


def drop_named_marks(request: DropPhraseMarksRequest, context: OperationContext) -> PhraseList:
    """Restore the phrases that the chunker finds. Raises CannotMark."""
    drop_marks(image=request.image_row(), actor=context.actor)
    return show_phrases(request, context)


def phrases_of(image: Image) -> ImagePhrases:
    """Return what a campaign would ask about an image if it opened it now."""
    captions = captions_by_number(image)
    layer = gold_layer(image.corpus)
    if layer is not None:
        mentions, source = layer_of(image, layer).mentions, FROM_LAYER
    else:
        marked = marked_spans([image.pk]).get(image.pk)
        mentions = mentions_of(image_record(image, captions, None, marked))
        source = BY_CHUNKER if marked is None else BY_HAND
    return ImagePhrases(mentions, source, why_phrases_blocked(image))


def why_phrases_blocked(image: Image) -> str:
    """Return why the phrases of an image cannot be marked, in a sentence; "" if they can."""
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
    """Mark the phrases in the captions of an image; return False if they are marked so already.

    Raises PhraseboxError if a campaign asks about them already, if they were imported with the corpus,
    and for a phrase that is not in its caption or overlaps another.
    """
    chosen = sorted(set(spans))
    _check(chosen, [len(caption.words) for caption in captions_by_number(image)])
    with database.writing():
        row = _to_mark(image)
        before = marked_spans([row.pk]).get(row.pk)
        if before == tuple(chosen):
            return False
        PhraseMarks.objects.update_or_create(image=row, defaults={"spans": [list(span) for span in chosen]})
        _note(actor, row, phrases=len(chosen))
    return True


def drop_marks(*, image: Image, actor: Account | None = None) -> bool:
    """Restore the phrases that the chunker finds; return False if none were marked. Raises PhraseboxError
    as above."""
    with database.writing():
        row = _to_mark(image)
        deleted, _rows = PhraseMarks.objects.filter(image=row).delete()
        if deleted:
            _note(actor, row, phrases=None)
    return bool(deleted)


def _to_mark(image: Image) -> Image:
    """Return the row of an image, locked, so that no campaign opens it meanwhile. Raises CannotMark."""
    locked = Image.objects.select_for_update(no_key=True, of=("self",)).select_related("corpus")
    row = locked.get(pk=image.pk)
    if blocked := why_phrases_blocked(row):
        raise PhraseboxError(blocked)
    return row


def _note(actor: Account | None, image: Image, *, phrases: int | None) -> None:
    record(actor=actor, act="mark_phrases", corpus=image.corpus.name, image=image.key, phrases=phrases)


def _check(spans: Sequence[Span], words: Sequence[int]) -> None:
    """Raise PhraseboxError unless each span is within its caption of that many words, and none overlap."""
    for caption, start, end in spans:
        if not 0 <= caption < len(words):
            raise PhraseboxError(
                _("There is no caption %(number)d: the image has %(n)d.")
                % {"number": caption + 1, "n": len(words)}
            )
        if not 0 <= start < end <= words[caption]:
            raise PhraseboxError(
                _("Caption %(number)d has %(n)d words: words %(start)d to %(end)d are no phrase of it.")
                % {"number": caption + 1, "n": words[caption], "start": start + 1, "end": end}
            )
    for before, after in pairwise(spans):
        if before[0] == after[0] and after[1] < before[2]:
            raise PhraseboxError(
                _("Two phrases of caption %(number)d have a word in common: mark it in one of them.")
                % {"number": after[0] + 1}
            )
