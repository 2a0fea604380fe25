"""Error analysis of a layer: mentions drawn with a stated seed, looked at by people, and the rates of errors.

A sampled mention is looked at in three parts: the chunk (its span and category), its chain, and the boxes of
the chain. So all three rates are per mention: a chain with many mentions counts as often as it has mentions.
Mentions of one image are not independent; intervals are Wilson's over the effective number of mentions
(`phrasebox.agreement.shares`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import numpy as np
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import Help, Listing, OneOf, OperationContext, invalid, result_of
from annotation.datasets.contents.corpus_summaries import CorpusRequest
from annotation.datasets.contents.images import LayerName
from annotation.datasets.layers import layer_to_read
from annotation.models import ErrorSample, Mention, SampledMention
from annotation.protocol.controls import draw_sample
from phrasebox.agreement.shares import share_interval

RIGHT = "right"
#: The verdicts on each part of a mention: "right", or the kind of error.
CHUNK_VERDICTS = {
    RIGHT: _("right"),
    "span": _("words are missing or too many"),
    "no_phrase": _("it names nothing"),
    "category": _("another category"),
}
CHAIN_VERDICTS = {
    RIGHT: _("right"),
    "merged": _("it has a phrase for something else"),
    "split": _("it lacks a phrase for the same"),
    "visual": _("wrongly visual, or wrongly not"),
}
BOX_VERDICTS = {
    RIGHT: _("right"),
    "missing": _("a box is missing"),
    "extra": _("a box is too many"),
    "tightness": _("a box is not tight"),
}
VERDICTS: Mapping[str, Any] = {"chunk": CHUNK_VERDICTS, "chain": CHAIN_VERDICTS, "boxes": BOX_VERDICTS}
MOST_SAMPLED = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawErrorSampleRequest(CorpusRequest):
    """Mentions of a layer, to be looked at by people for errors. The same seed draws the same mentions."""

    layer: Annotated[LayerName | None, Help(_("Layer"), _("Needed where there are several"))] = None
    size: Annotated[int, Field(ge=1, le=MOST_SAMPLED), Help(_("Mentions"), _("How many are drawn"))] = 200
    seed: Annotated[int, Field(ge=0, le=2**31 - 1), Help(_("Seed"))] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSamplesRequest(CorpusRequest):
    """The drawn samples of its layers, the newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSampleRequest(CorpusRequest):
    """The rates of errors in a sample, as far as it was looked at, with intervals at 95 %."""

    sample: Annotated[int, Field(ge=1, le=2**31 - 1), Help(_("Sample"), _("Its number"))]

    def sample_row(self) -> ErrorSample:
        """Return the sample. Raises Invalid if the corpus has none of this number."""
        rows = ErrorSample.objects.select_related("layer__corpus", "drawn_by")
        row = rows.filter(layer__corpus__name=self.corpus, pk=self.sample).first()
        if row is None:
            raise invalid("sample", "unknown", kind=_("sample"), value=self.sample)
        return row


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSampledMentionRequest(ErrorSampleRequest):
    """What is right or wrong with a mention of a sample; judging it again replaces the verdicts."""

    mention: Annotated[int, Field(ge=1, le=MOST_SAMPLED), Help(_("Mention"), _("Its place in the sample"))]
    chunk: Annotated[Annotated[str, OneOf(lambda: CHUNK_VERDICTS)], Help(_("Phrase"))]
    chain: Annotated[Annotated[str, OneOf(lambda: CHAIN_VERDICTS)], Help(_("Chain"))]
    boxes: Annotated[
        Annotated[str, OneOf(lambda: BOX_VERDICTS)] | None,
        Help(_("Boxes"), _("None for a mention that is not visual")),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSampleSummary:
    """A drawn sample; `judged` of its mentions were looked at. `changed`: its layer has changed since."""

    number: int
    corpus: str
    layer: str
    seed: int
    mentions: int
    judged: int
    changed: bool
    drawn_at: datetime
    drawn_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRate:
    """Errors among the mentions that were looked at, of `images` images: the share, its interval, and the
    numbers of each kind of error. `rate` is null without any."""

    items: int
    images: int
    errors: int
    rate: float | None
    low: float
    high: float
    kinds: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRates(ErrorSampleSummary):
    """A sample, and the rates of errors of chunks, chains and boxes."""

    rates: dict[str, ErrorRate]


def draw_error_sample(request: DrawErrorSampleRequest, context: OperationContext) -> ErrorSampleSummary:
    """Draw a sample of a layer's mentions. Raises Invalid without a layer, and without mentions."""
    corpus = request.row()
    layer = layer_to_read(corpus, request.layer)
    if layer is None:
        raise invalid("corpus", "no_layer", value=corpus.name)
    columns = ("image__key", "caption__number", "start", "end")
    mentions = Mention.objects.filter(layer=layer)
    names = {"|".join(map(str, row)): row for row in mentions.values_list(*columns)}
    if not names:
        raise invalid("layer", "wrong", message=_("This layer has no mentions."))
    drawn = [names[name] for name in draw_sample(names, request.size, request.seed, "error sample")]
    with database.writing():
        sample = ErrorSample.objects.create(
            layer=layer, seed=request.seed, layer_version=layer.version, drawn_by=context.actor
        )
        rows = mentions.filter(image__key__in={key for key, *_span in drawn})
        by_name = {
            (key, *span): (image, caption, chain is not None)
            for image, caption, chain, key, *span in rows.values_list("image", "caption", "chain", *columns)
        }
        SampledMention.objects.bulk_create(
            SampledMention(
                sample=sample,
                position=position,
                image_id=by_name[name][0],
                caption_id=by_name[name][1],
                start=name[2],
                end=name[3],
                visual=by_name[name][2],
            )
            for position, name in enumerate(drawn, start=1)
        )
        record(
            actor=context.actor,
            act="draw_error_sample",
            corpus=corpus.name,
            layer=layer.name,
            sample=sample.pk,
            mentions=len(drawn),
            seed=request.seed,
        )
    return _summary(_counted().get(pk=sample.pk))


def list_error_samples(request: ErrorSamplesRequest, context: OperationContext) -> Listing:
    """Return the samples of a corpus."""
    return Listing(_counted().filter(layer__corpus__name=request.corpus), "-pk", _summary)


def judge_sampled_mention(request: JudgeSampledMentionRequest, context: OperationContext) -> None:
    """Store the verdicts on a mention. Raises Invalid for an unknown one, and for boxes that nobody asks
    for."""
    row = SampledMention.objects.filter(sample=request.sample_row(), position=request.mention).first()
    if row is None:
        raise invalid("mention", "unknown", kind=_("mention"), value=request.mention)
    if row.visual and request.boxes is None:
        raise invalid("boxes", "missing")
    if request.boxes is not None and not row.visual:
        raise invalid("boxes", "wrong", message=_("This mention is not visual: it has no boxes."))
    SampledMention.objects.filter(pk=row.pk).update(
        chunk=request.chunk,
        chain=request.chain,
        boxes=request.boxes or "",
        judged_by=context.actor,
        judged_at=database.now(),
    )


def error_rates(request: ErrorSampleRequest, context: OperationContext) -> ErrorRates:
    """Return the rates of errors of a sample."""
    summary = _summary(_counted().get(pk=request.sample_row().pk))
    judged = SampledMention.objects.filter(sample=summary.number, judged_at__isnull=False)
    rates = {part: _rate(list(judged.exclude(**{part: ""}).values_list("image", part))) for part in VERDICTS}
    return result_of(ErrorRates, summary, rates=rates)


def _rate(verdicts: Sequence[tuple[int, str]]) -> ErrorRate:
    """Return the rate of errors of a part, from each mention's image and verdict."""
    items = Counter(image for image, _verdict in verdicts)
    errors = Counter(image for image, verdict in verdicts if verdict != RIGHT)
    low, high = share_interval(np.array([errors[image] for image in items]), np.array([*items.values()]))
    return ErrorRate(
        items=len(verdicts),
        images=len(items),
        errors=errors.total(),
        rate=errors.total() / len(verdicts) if verdicts else None,
        low=float(low),
        high=float(high),
        kinds=dict(sorted(Counter(verdict for _image, verdict in verdicts if verdict != RIGHT).items())),
    )


def _counted() -> QuerySet[ErrorSample]:
    judged = Count("mentions", filter=Q(mentions__judged_at__isnull=False))
    rows = ErrorSample.objects.select_related("layer__corpus", "drawn_by")
    return rows.annotate(number_drawn=Count("mentions"), number_judged=judged)


def _summary(row: Any) -> ErrorSampleSummary:
    return ErrorSampleSummary(
        number=row.pk,
        corpus=row.layer.corpus.name,
        layer=row.layer.name,
        seed=row.seed,
        mentions=row.number_drawn,
        judged=row.number_judged,
        changed=row.layer_version != row.layer.version,
        drawn_at=row.drawn_at,
        drawn_by=row.drawn_by.get_username() if row.drawn_by is not None else None,
    )
