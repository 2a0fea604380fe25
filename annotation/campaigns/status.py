"""The status of a campaign: progress, cost, agreement, and alarms."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _

from annotation.campaigns import monitoring
from annotation.common.operations import Help, OperationContext, result_of
from annotation.models import Campaign
from annotation.protocol.agreement import DoubleCheckAgreement
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.money import Amount, amount_text
from annotation.selectors.campaign.glance import Overview, overview
from annotation.selectors.campaign.progress import TaskCounts
from annotation.selectors.campaign.series import SeriesPoint, campaign_series
from annotation.selectors.campaign.summaries import CampaignSummary, campaign_summary
from annotation.selectors.corpora import CampaignRequest
from annotation.selectors.drawing_ways import DrawingWay, drawing_ways
from annotation.task_types.wording import BY_KEY, IN_WORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignStatusRequest(CampaignRequest):
    """Progress, cost, agreement and alarms."""

    fresh: Annotated[
        bool,
        Help(_("Fresh"), _("Count everything now; otherwise slow counts may be a minute old")),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignProgress:
    """Images and chains by stage, the open tasks of each kind, and the speed. Further images are `planned`:
    they are opened as others are finished. At the speed of the last day it `ends_at`. `answers_superseded`
    lost their use because a worker changed an earlier answer; they remain paid, and are `superseded_share` of
    all answers of people."""

    images: int
    planned: int
    begun: int
    complete: int
    in_review: int
    chains: dict[str, int]
    tasks: dict[str, TaskCounts]
    answers_to_come: int | None
    answers_last_hour: int
    answers_per_hour: float
    newest_answer_at: datetime | None
    ends_at: datetime | None
    answers_superseded: int
    superseded_share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCostSummary:
    """The number of answers to one kind of question and their earnings; and the numbers on control items and
    in tests."""

    kind: str
    answers: int
    controls: int
    double_checks: int
    tests: int
    seconds: float
    earned: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSummary:
    """Cost so far. `bonuses` are paid in addition; `hourly` is the pay of an hour of work, `to_come` the cost
    of the expected answers; null while it is too early to estimate."""

    currency: str
    answers: int
    seconds: float
    earned: Amount
    bonuses: Amount
    paid: Amount
    due: Amount
    in_hand: Amount
    hourly: Amount | None
    to_come: Amount | None
    kinds: tuple[KindCostSummary, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KindAgreement(DoubleCheckAgreement):
    """How often two people agree on a kind of question, over the questions drawn for it when they opened: the
    share of equal answers, kappa, the share of each answer, and for drawings the mean IoU. Of the `drawn`
    questions, `lacking` were never answered by a second person."""

    kind: str
    lacking: int = field()  # as a field; the inherited property would become its default


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmSummary:
    """An alarm; the kind of question it concerns, empty for none; and the remedy."""

    code: str
    kind: str
    text: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignStatus(CampaignSummary):
    """A campaign and its progress. If counting is slow, figures may be from `counted_at`."""

    progress: CampaignProgress
    cost: CostSummary
    agreement: tuple[KindAgreement, ...]
    drawing_ways: tuple[DrawingWay, ...]
    alarms: tuple[AlarmSummary, ...]
    counted_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardRequest(CampaignRequest):
    """The data of the charts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountPoint:
    """A time, and a number at that time."""

    at: datetime
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountPoint:
    """A time, and an amount at that time."""

    at: datetime
    amount: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignDashboard:
    """The data of the charts: answers by the hour that begins at a time; running totals of finished images
    and of earnings, and their forecasts. A simulated campaign has neither speed nor forecast: its answers
    took no time."""

    simulated: bool
    answers_by_hour: tuple[CountPoint, ...]
    images: int
    images_done: tuple[CountPoint, ...]
    images_end: CountPoint | None
    currency: str
    earned: tuple[AmountPoint, ...]
    earned_end: AmountPoint | None
    budget: Amount | None
    agreement: tuple[KindAgreement, ...]


def campaign_status(request: CampaignStatusRequest, context: OperationContext) -> CampaignStatus:
    """Return the status of a campaign. For commands, everything is counted now, and kinds of questions have
    their names."""
    row, by_command = request.row(), context.actor is None
    fresh = request.fresh or by_command
    figures = overview(row, settings_of(row.settings).pay, fresh=fresh)
    return CampaignStatus(
        **_shallow(campaign_summary(row)),
        progress=_progress(figures),
        cost=_cost(figures),
        agreement=_agreement(figures.agreement),
        drawing_ways=tuple(drawing_ways(row, fresh=fresh)),
        alarms=alarm_summaries(row, by_command=by_command),
        counted_at=figures.counted_at,
    )


def alarm_summaries(row: Campaign, *, by_command: bool) -> tuple[AlarmSummary, ...]:
    """Return the alarms; `by_command` words them for a terminal."""
    return tuple(
        result_of(AlarmSummary, alarm)
        for alarm in monitoring.alarms(row, words=BY_KEY if by_command else IN_WORDS)
    )


def dashboard_data(request: DashboardRequest, context: OperationContext) -> CampaignDashboard:
    """Return the data of a campaign's charts."""
    row = request.row()
    settings = settings_of(row.settings)
    series = campaign_series(row, settings, overview(row, settings.pay))
    timed, currency = not row.simulated, series.currency

    def counts(points: Iterable[SeriesPoint]) -> tuple[CountPoint, ...]:
        return tuple(CountPoint(at=at, number=number) for at, number in points)

    def amounts(points: Iterable[SeriesPoint]) -> tuple[AmountPoint, ...]:
        return tuple(AmountPoint(at=at, amount=amount_text(micros, currency)) for at, micros in points)

    return CampaignDashboard(
        simulated=row.simulated,
        answers_by_hour=counts(series.answers) if timed else (),
        images=series.images,
        images_done=counts(series.done),
        images_end=counts([series.images_end])[0] if timed and series.images_end else None,
        currency=currency,
        earned=amounts(series.cost),
        earned_end=amounts([series.cost_end])[0] if timed and series.cost_end else None,
        budget=amount_text(series.budget, currency) if series.budget is not None else None,
        agreement=_agreement(series.agreement),
    )


def _shallow(record: Any) -> dict[str, Any]:
    return {record_field.name: getattr(record, record_field.name) for record_field in fields(record)}


def _agreement(kinds: Mapping[str, DoubleCheckAgreement]) -> tuple[KindAgreement, ...]:
    return tuple(KindAgreement(kind=kind, lacking=of.lacking, **_shallow(of)) for kind, of in kinds.items())


def _progress(figures: Overview) -> CampaignProgress:
    images, progress = figures.funnel, figures.throughput
    return result_of(
        CampaignProgress,
        images,
        tasks=figures.tasks,
        answers_to_come=progress.to_come,
        answers_last_hour=progress.last_hour,
        answers_per_hour=progress.per_hour,
        newest_answer_at=progress.newest_at,
        ends_at=progress.ends_at,
        answers_superseded=figures.superseded,
        superseded_share=figures.superseded_share,
    )


def _cost(figures: Overview) -> CostSummary:
    cost, currency = figures.cost, figures.cost.currency

    def amount(micros: int | None) -> str | None:
        return amount_text(micros, currency) if micros is not None else None

    return CostSummary(
        currency=currency,
        answers=cost.answers,
        seconds=cost.seconds,
        earned=amount_text(cost.earned, currency),
        bonuses=amount_text(cost.bonuses, currency),
        paid=amount_text(cost.paid, currency),
        due=amount_text(cost.due, currency),
        in_hand=amount_text(cost.in_hand, currency),
        hourly=amount(cost.hourly),
        to_come=amount(figures.pay_to_come),
        kinds=tuple(
            result_of(KindCostSummary, of, kind=kind, earned=amount_text(of.pay, currency))
            for kind, of in cost.kinds.items()
        ),
    )
