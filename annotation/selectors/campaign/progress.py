"""Progress of a campaign: images and chains by stage, open tasks, speed and expected end."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from django.db import connection
from django.db.models import Count, Max, OuterRef, QuerySet, Subquery, Sum
from django.utils import timezone

from annotation.common import database
from annotation.models import Assignment, Campaign, OpenImage, PlannedImage, TrustState
from annotation.protocol.boxes import BOX_STAGES
from annotation.protocol.kinds import is_counted
from annotation.protocol.questions import CONTROL, DOUBLE_CHECK
from annotation.protocol.state import LINKING, UNSEEN, VERIFICATION
from annotation.selectors.campaign.cached import cached_figure
from annotation.selectors.campaign.cost import TEST_ROLE
from annotation.selectors.campaign.sums import OF_TRUST_STATE, leases_of_campaigns

#: Stages of a chain, in the order of the workflow.
CHAIN_STAGES = (LINKING, VERIFICATION, *BOX_STAGES, UNSEEN)
#: Number of finished images that an estimate needs. The first finished ones are the easy ones.
TELLING = 20
#: Hours over which the speed is measured for the expected end: they include nights and evenings.
LONG = 24


@dataclass(frozen=True, slots=True)
class Funnel:
    """Images, and their chains by stage.

    Of the open `images`, `begun` have an answer or ruling; `complete` are done, of which `finished` took
    answers (one without mentions takes none). `answers` and `answers_finished` are those about the unfinished
    and about the finished images, without withdrawn ones. `planned` images will be opened as others are
    finished.
    """

    images: int
    planned: int
    begun: int
    complete: int
    finished: int
    in_review: int
    answers: int
    answers_finished: int
    chains: dict[str, int]

    @property
    def in_all(self) -> int:
        """Number of images that are open or will be opened."""
        return self.images + self.planned


@dataclass(slots=True)
class TaskCounts:
    """The open tasks of one kind: their number, their missing answers, those leased, and how many tasks only
    wait for a double check."""

    open: int = 0
    wanting: int = 0
    in_hand: int = 0
    double_checks: int = 0


@dataclass(frozen=True, slots=True)
class Throughput:
    """Answers on tasks without control items: those of the last hour, and the hourly average of the last day.

    `newest_at` is the time of the newest. `to_come` are the remaining answers of the campaign, `ends_at` is
    the expected end at the speed of the last day; None while too few images are finished, or nobody works.
    """

    last_hour: int
    per_hour: float
    newest_at: datetime | None
    to_come: int | None
    ends_at: datetime | None


def complete_images(campaign: Campaign) -> int:
    """Return the number of complete images, from indexes alone."""
    rows = OpenImage.objects.filter(campaign=campaign)
    return rows.count() - rows.filter(complete=False).count()


def funnel(campaign: Campaign, *, fresh: bool = False) -> Funnel:
    """Return images and chains by stage, in one pass over the campaign's images. Cached for a minute if slow
    (`cached`)."""
    return cached_figure(campaign, "funnel", lambda: _funnel(campaign), fresh=fresh)


class _Images(NamedTuple):
    """The images of a campaign with the same `complete` and `chain_stages`: all, those begun, those with a
    chain in review, and the answers about them."""

    complete: bool
    chain_stages: str
    images: int
    begun: int
    in_review: int
    answers: int


#: The columns of `_Images`, of open images grouped by the first two.
_IMAGES = """complete, CAST(chain_stages AS text), count(*), sum(CASE WHEN version > 0 THEN 1 ELSE 0 END),
                   sum(CASE WHEN in_review > 0 THEN 1 ELSE 0 END), sum(answers)"""


def _funnel(campaign: Campaign) -> Funnel:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {_IMAGES} FROM annotation_openimage WHERE campaign_id = %s GROUP BY 1, 2", [campaign.pk]
        )
        groups = list(map(_Images._make, cursor.fetchall()))
    done = [group for group in groups if group.complete]
    chains: Counter[str] = Counter()
    for group in groups:
        for stage, number in json.loads(group.chain_stages).items():
            chains[stage] += number * group.images
    return Funnel(
        images=sum(group.images for group in groups),
        planned=PlannedImage.objects.filter(campaign=campaign).count(),
        begun=sum(group.begun for group in groups),
        complete=sum(group.images for group in done),
        finished=sum(group.begun for group in done),
        in_review=sum(group.in_review for group in groups),
        answers=sum(group.answers for group in groups if not group.complete),
        answers_finished=sum(group.answers for group in done),
        chains={stage: chains[stage] for stage in CHAIN_STAGES},
    )


def open_tasks_by_kind(campaign: Campaign, *, fresh: bool = False) -> dict[str, TaskCounts]:
    """Return open tasks for every kind of the campaign. Cached like `funnel`."""
    return cached_figure(campaign, "tasks", lambda: _tasks(campaign), fresh=fresh)


def _tasks(campaign: Campaign) -> dict[str, TaskCounts]:
    return open_tasks_of_campaigns([campaign])[campaign.pk]


def open_tasks_of_campaigns(campaigns: Sequence[Campaign]) -> dict[int, dict[str, TaskCounts]]:
    """Return open tasks by kind for each campaign id, counted now; two queries for any number of
    campaigns."""
    counts = {row.pk: {kind: TaskCounts() for kind in row.kinds} for row in campaigns}
    if not counts:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT campaign_id, kind, role, count(*), sum(needed - live) FROM annotation_task
               WHERE campaign_id IN ({database.parameters(counts)}) AND state = 'open'
               GROUP BY campaign_id, kind, role""",
            list(counts),
        )
        for campaign, kind, role, number, wanting in cursor.fetchall():
            of = counts[campaign].setdefault(kind, TaskCounts())
            of.open += number
            of.wanting += wanting
            of.double_checks += number if role == DOUBLE_CHECK else 0
    for campaign, leases in leases_of_campaigns(list(counts)).items():
        for (kind, role, _version), number in leases.items():
            if role not in (CONTROL, TEST_ROLE):
                counts[campaign].setdefault(kind, TaskCounts()).in_hand += number
    return counts


def throughput(
    campaign: Campaign,
    *,
    at: datetime | None = None,
    fresh: bool = False,
    counts: tuple[Funnel, Mapping[str, TaskCounts]] | None = None,
) -> Throughput:
    """Return answers per hour, and the expected end; `counts` are the campaign's if the caller has them.

    Recent answers are cached like `funnel`, unless `at` is another time than now.
    """
    now, open_counts = counts or (funnel(campaign, fresh=fresh), open_tasks_by_kind(campaign, fresh=fresh))
    named, at = at is not None, at or timezone.now()
    begun = campaign.opened_at or campaign.created_at
    hours = min(float(LONG), max(1.0, (at - begun).total_seconds() / 3600))
    count = partial(_recent, campaign, at)
    last_hour, last_day = count() if named else cached_figure(campaign, "recent", count, fresh=fresh)
    per_hour = last_day / hours
    left = to_come(campaign, now, open_counts)
    return Throughput(
        last_hour=last_hour,
        per_hour=per_hour,
        newest_at=newest_answer_at(campaign),
        to_come=left,
        ends_at=at + timedelta(hours=left / per_hour) if left and per_hour else None,
    )


def to_come(campaign: Campaign, now: Funnel, open_counts: Mapping[str, TaskCounts]) -> int | None:
    """Return the number of remaining answers of a campaign: for each planned or open image, as many as the
    finished ones took.

    At least those that its open tasks need. None while fewer than `TELLING` images are finished. For counted
    questions, all of them are open from the start. 0 for a closed campaign.
    """
    if campaign.state == Campaign.CLOSED:
        return 0
    wanting = sum(of.wanting + of.in_hand for of in open_counts.values())
    if all(map(is_counted, campaign.kinds)) or now.complete == now.in_all:
        return wanting
    if now.finished < TELLING:
        return None
    expected = now.answers_finished / now.finished * (now.in_all - now.complete) - now.answers
    return max(wanting, round(expected))


def _recent(campaign: Campaign, at: datetime) -> tuple[int, int]:
    """Return answers on tasks of the last hour and of the last `LONG` hours, as counted by `submitted`."""
    hour, day = (connection.ops.adapt_datetimefield_value(at - timedelta(hours=hours)) for hours in (1, LONG))
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT COALESCE(sum(CASE WHEN a.ended_at >= %s THEN 1 ELSE 0 END), 0), count(*)
                FROM annotation_truststate s CROSS JOIN annotation_assignment a
                WHERE s.campaign_id = %s AND {OF_TRUST_STATE} AND a.ended_at >= %s AND a.state = 'submitted'
                    AND a.task_id IS NOT NULL""",
            [hour, campaign.pk, day],
        )
        last_hour, last_day = cursor.fetchone()
    return last_hour, last_day


def submitted(campaign: Campaign, *, since: datetime, state: str = Assignment.SUBMITTED) -> int:
    """Return the number of leases of tasks that ended in `state` since then: an index range for each worker
    and kind."""
    ended = _of_trust_state(state).filter(ended_at__gte=since).order_by()
    counts = Subquery(ended.values("campaign").annotate(n=Count("pk")).values("n"))
    trust_rows = TrustState.objects.filter(campaign=campaign).annotate(n=counts).aggregate(sum=Sum("n"))
    return trust_rows["sum"] or 0


def newest_answer_at(campaign: Campaign) -> datetime | None:
    """Return the time of the newest answer: the end of an index range for each worker and kind."""
    last = Subquery(
        _of_trust_state(Assignment.SUBMITTED)
        .filter(ended_at__isnull=False)
        .order_by("-ended_at")
        .values("ended_at")[:1]
    )
    newest: datetime | None = (
        TrustState.objects.filter(campaign=campaign).annotate(at=last).aggregate(max=Max("at"))["max"]
    )
    return newest


def _of_trust_state(state: str) -> QuerySet[Assignment]:
    """Return a trust state's assignments that ended in `state`, for a subquery."""
    return Assignment.objects.filter(
        campaign=OuterRef("campaign"),
        worker=OuterRef("worker"),
        kind=OuterRef("kind"),
        state=state,
        task__isnull=False,
    )
