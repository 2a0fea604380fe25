"""What the model annotators of a campaign saved its people, at the measured seconds and at other prices."""

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.common.operations import Listing, OperationContext
from annotation.models import Campaign
from annotation.protocol.answer_times import (
    DRAWING_SECONDS,
    LOOKING_SECONDS,
    DrawingsAndLooks,
    drawings_and_looks,
    saved_share,
    saved_shares,
)
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.kinds import draws
from annotation.selectors.campaign.cost import costs
from annotation.selectors.corpora import CampaignRequest
from annotation.selectors.model_annotators.reports import ModelAnnotatorReport, model_annotator_reports


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """Number of people's answers in a campaign, and the mean seconds of a drawing and of an answer by
    looking; None without any. Includes items of tests, excludes answers of model annotators, which take no
    time."""

    counts: DrawingsAndLooks
    drawing: float | None
    looking: float | None


@dataclass(frozen=True, slots=True)
class ModelAnnotatorSaving:
    """What model annotators saved: people's answers, and the number that people would have given `alone`.

    Alone, they would have drawn the boxes that were accepted, and not looked at those that were rejected.
    Rejections of people's own boxes are ignored, so the saving is underestimated rather than overestimated.
    `shares` are the saved shares of seconds over a grid of prices: a row for each price of a look, a column
    for each price of a drawing. `measured` is the share at the campaign's own seconds, None until people have
    drawn and looked.
    """

    times: AnswerTimes
    alone: DrawingsAndLooks
    shares: tuple[tuple[float, ...], ...]
    measured: float | None
    drawing_prices: tuple[float, ...] = DRAWING_SECONDS
    looking_prices: tuple[float, ...] = LOOKING_SECONDS


def answer_times(campaign: Campaign) -> AnswerTimes:
    """Return the number of people's answers in a campaign, and the seconds of a drawing and a look."""
    kinds = costs(campaign, settings_of(campaign.settings).pay).kinds
    counts = drawings_and_looks({kind: of.answers for kind, of in kinds.items()})
    drawing = sum(of.seconds for kind, of in kinds.items() if draws(kind))
    looking = sum(of.seconds for kind, of in kinds.items() if not draws(kind))
    return AnswerTimes(
        counts,
        drawing / counts.drawing if counts.drawing else None,
        looking / counts.looking if counts.looking else None,
    )


def model_annotator_saving(
    campaign: Campaign, model_annotators: Sequence[ModelAnnotatorReport]
) -> ModelAnnotatorSaving:
    """Return what the model annotators of a campaign saved: nothing while people have judged none of their
    boxes."""
    good, judged = (
        sum(report.good for report in model_annotators),
        sum(report.judged for report in model_annotators),
    )
    times = answer_times(campaign)
    counts = times.counts
    alone = DrawingsAndLooks(counts.drawing + good, max(0.0, counts.looking - (judged - good)))
    measured = None
    if times.drawing is not None and times.looking is not None:
        measured = saved_share(alone, counts, drawing=times.drawing, looking=times.looking)
    return ModelAnnotatorSaving(times, alone, saved_shares(alone, counts), measured)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnnotatorsRequest(CampaignRequest):
    """The model annotators of a campaign, and people's verdicts on their boxes by category."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnnotatorSavingRequest(CampaignRequest):
    """What the model annotators of a campaign saved its people, by the time for a drawing and for a look."""


def list_model_annotators(request: ModelAnnotatorsRequest, context: OperationContext) -> Listing:
    """Return the model annotators, by name."""
    return Listing(model_annotator_reports(request.row()), lambda report: report.name, lambda report: report)


def show_model_annotator_saving(
    request: ModelAnnotatorSavingRequest, context: OperationContext
) -> ModelAnnotatorSaving:
    """Return what they saved, in people's answers and in seconds."""
    campaign = request.row()
    return model_annotator_saving(campaign, model_annotator_reports(campaign))
