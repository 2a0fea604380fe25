"""Overview of a campaign: its progress, its expected remaining work, and the agreement of two people."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from django.db import connection

from annotation.models import AuditEntry, Campaign, Task
from annotation.protocol.agreement import AnswerPair, DoubleCheckAgreement, measure_agreement
from annotation.protocol.double_checks import REPORTED
from annotation.protocol.kinds import kind_order
from annotation.protocol.terms import Box
from annotation.protocol.work import PaySettings
from annotation.selectors.campaign.cached import cached_figure, counted_at
from annotation.selectors.campaign.cost import CampaignCost, costs
from annotation.selectors.campaign.progress import (
    Funnel,
    TaskCounts,
    Throughput,
    funnel,
    open_tasks_by_kind,
    submitted,
    throughput,
    to_come,
)

#: Every drawn question with its answers in order of arrival, as in
#: `protocol.double_checks.answers_of_people`; a question without any has one row. Questions that only a model
#: annotator answered are not asked of people, and do not count.
_DRAWN = """SELECT t.id, t.kind, t.state, t.drawn_share, w.kind = 'model', j.worker_id, j.answer,
       j.x_min, j.y_min, j.x_max, j.y_max
   FROM annotation_task t
   LEFT JOIN annotation_assignment a ON a.task_id = t.id
   LEFT JOIN annotation_judgment j ON j.assignment_id = a.id AND NOT j.withdrawn
       AND j.role IN ('vote', 'double_check')
   LEFT JOIN annotation_worker w ON w.id = j.worker_id
   WHERE t.campaign_id = %s AND t.drawn_share IS NOT NULL
   ORDER BY t.id, j.id"""


def agreement(campaign: Campaign, *, fresh: bool = False) -> dict[str, DoubleCheckAgreement]:
    """Return agreement by kind, without kinds that have no drawn question. Cached like `funnel`."""
    return cached_figure(campaign, "agreement", lambda: _agreement(campaign), fresh=fresh)


def _agreement(campaign: Campaign) -> dict[str, DoubleCheckAgreement]:
    pairs: dict[str, list[AnswerPair]] = defaultdict(list)
    drawn, waiting = Counter[str](), Counter[str]()
    with connection.cursor() as cursor:
        cursor.execute(_DRAWN, [campaign.pk])
        for (_, kind, state, share), rows in groupby(cursor.fetchall(), key=lambda row: row[:4]):
            people: dict[int, tuple[str, Box | None]] = {}
            by_model = False
            for *_of, is_model, worker, answer, x_min, y_min, x_max, y_max in rows:
                by_model |= bool(is_model)
                if worker is not None and not is_model:
                    box = None if x_min is None else Box(x_min, y_min, x_max, y_max)
                    people.setdefault(worker, (answer or REPORTED, box))
            if by_model and not people:
                continue
            drawn[kind] += 1
            if len(people) > 1:
                (first_worker, (first, box)), (two, (second, second_answer)), *_ = people.items()
                iou = box.iou(second_answer) if box and second_answer else None
                pairs[kind].append(AnswerPair(first, second, share, (first_worker, two), iou))
            elif state == Task.OPEN:
                waiting[kind] += 1
    return {
        kind: measure_agreement(pairs[kind], drawn=drawn[kind], waiting=waiting[kind])
        for kind in sorted(drawn, key=kind_order)
    }


def superseded_answers(campaign: Campaign, *, fresh: bool = False) -> int:
    """Return how many answers of people became superseded because somebody else changed an earlier one, less
    those that are in use again. Cached like `funnel`."""
    changes = AuditEntry.objects.filter(
        campaign=campaign, act=AuditEntry.CHANGE_ANSWER, about__has_key="superseded"
    )
    numbers = changes.values_list("about__superseded", flat=True)
    return cached_figure(campaign, "superseded", lambda: max(0, sum(numbers.all())), fresh=fresh)


@dataclass(frozen=True, slots=True)
class Forecast:
    """Remaining answers and what they will earn, in millionths of the currency; None while it is too early to
    estimate. Both are 0 for a closed campaign."""

    answers: int | None
    pay: int | None


def forecast(campaign: Campaign, pay: PaySettings, *, fresh: bool = False) -> Forecast:
    """Return the forecast of a campaign; counted again with `fresh`, else cached like its counts."""
    now, open_counts = funnel(campaign, fresh=fresh), open_tasks_by_kind(campaign, fresh=fresh)
    return forecast_from(campaign, now, open_counts, costs(campaign, pay))


def forecast_from(
    campaign: Campaign, now: Funnel, open_counts: Mapping[str, TaskCounts], so_far: CampaignCost
) -> Forecast:
    """Return the forecast of a campaign with this progress and cost."""
    answers = to_come(campaign, now, open_counts)
    return Forecast(answers, _will_earn(answers, so_far))


def _will_earn(answers: int | None, so_far: CampaignCost) -> int | None:
    """Return what this number of answers will earn, control items included, at the average of the answers so
    far. Answers of model annotators earn nothing; both numbers include them."""
    if not answers:
        return answers
    kinds = so_far.kinds.values()
    on_tasks = so_far.answers + sum(of.model_answers - of.controls - of.tests for of in kinds)
    return round(answers * so_far.earned / on_tasks) if on_tasks else None


@dataclass(frozen=True, slots=True)
class Overview:
    """What the campaign page shows above its tables; `pay_to_come` is what the remaining answers will earn.

    `superseded` answers became unused because a worker changed one of theirs. If counting is slow, figures
    may be those of `counted_at`; `since` answers arrived after that.
    """

    funnel: Funnel
    tasks: dict[str, TaskCounts]
    throughput: Throughput
    cost: CampaignCost
    pay_to_come: int | None
    agreement: dict[str, DoubleCheckAgreement]
    superseded: int
    counted_at: datetime | None
    since: int

    @property
    def superseded_share(self) -> float | None:
        """Share of people's answers that are `superseded`; None if there are no answers."""
        return self.superseded / self.cost.answers if self.cost.answers else None


def overview(
    campaign: Campaign, pay: PaySettings, *, at: datetime | None = None, fresh: bool = False
) -> Overview:
    """Return all figures of a campaign; counted again with `fresh`, or if that is quick."""
    now, open_counts = funnel(campaign, fresh=fresh), open_tasks_by_kind(campaign, fresh=fresh)
    so_far, agreed = costs(campaign, pay), agreement(campaign, fresh=fresh)
    flow = throughput(campaign, at=at, fresh=fresh, counts=(now, open_counts))
    superseded = superseded_answers(campaign, fresh=fresh)
    counted = counted_at(campaign, ("funnel", "tasks", "agreement", "recent", "superseded"))
    return Overview(
        funnel=now,
        tasks=open_counts,
        throughput=flow,
        cost=so_far,
        pay_to_come=forecast_from(campaign, now, open_counts, so_far).pay,
        agreement=agreed,
        superseded=superseded,
        counted_at=counted,
        since=submitted(campaign, since=counted) if counted else 0,
    )
