"""The worker table: each worker's answers, accuracy, speed, state, and amount due."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import product
from statistics import median

from django.db import connection
from django.db.models import Q

from annotation.common.operations import result_of
from annotation.models import Campaign, TrustState, Worker
from annotation.protocol.kinds import kind_order
from annotation.protocol.trust import TRUST_STATES, trust_reading
from annotation.protocol.trust_settings import GoldCoverage
from annotation.selectors.campaign.cached import cached_figure, list_key
from annotation.selectors.campaign.cost import TEST_ROLE, bonuses, hourly, paid
from annotation.selectors.campaign.sums import earned
from annotation.selectors.caption_flags import caption_kinds, flagged_captions
from annotation.selectors.controls import control_metadata

#: Workers on a page.
WORKERS_PER_PAGE = 50
#: Number of the newest answers of a kind whose median time is shown.
TIMED = 101
#: Maximum number of subqueries in one statement; SQLite allows 500.
TOGETHER = 400


@dataclass(slots=True)
class KindRow:
    """A worker at one kind. `state` is the displayed trust state; `accuracy` is over the newest checked
    answers, None before the first."""

    kind: str
    state: str
    blocked: bool
    reason: str
    withdrawn_at: datetime | None
    answers: int = 0
    known: int = 0
    right: int = 0
    accuracy: float | None = None
    median_seconds: float | None = None


@dataclass(slots=True)
class WorkerRow:
    """A worker of a campaign; amounts in millionths of its currency. `answers` excludes tests. `flagged`: the
    number of their captions that are flagged."""

    id: int
    pseudonym: str
    erased: bool
    is_model: bool = False
    answers: int = 0
    flagged: int = 0
    seconds: float = 0.0
    earned: int = 0
    paid: int = 0
    bonuses: int = 0
    hourly: int | None = None
    kinds: list[KindRow] = field(default_factory=list)

    @property
    def due(self) -> int:
        """What the worker earned or was granted and was not paid yet, in millionths."""
        return self.earned + self.bonuses - self.paid


def workers(
    campaign: Campaign,
    *,
    after: int = 0,
    limit: int = WORKERS_PER_PAGE,
    state: str = "",
    only: Sequence[int] | None = None,
) -> list[WorkerRow]:
    """Return at most `limit` workers with ids above `after`, in order of arrival.

    `state` limits them to those with this displayed trust state for any kind, `only` to those with these ids.
    Median seconds are at most a minute old if they are slow to compute.
    """
    trust_states = TrustState.objects.filter(campaign=campaign)
    known = control_metadata(campaign.pk, campaign.revision).known
    who = trust_states.filter(_reading(state, known)) if state else trust_states
    if only is not None:
        who = who.filter(worker__in=only)
    ids = list(
        who.filter(worker__gt=after).order_by("worker").values_list("worker", flat=True).distinct()[:limit]
    )
    rows = {
        worker.pk: WorkerRow(
            worker.pk, worker.pseudonym, worker.erased_at is not None, worker.kind == Worker.MODEL
        )
        for worker in Worker.objects.filter(pk__in=ids).order_by("pk")
    }
    answers: dict[tuple[int, str], int] = defaultdict(int)
    for line in earned(campaign):
        row = rows.get(line.worker)
        if row is None:
            continue
        row.seconds += line.seconds
        row.earned += line.pay
        if line.role != TEST_ROLE:
            row.answers += line.answers
            answers[line.worker, line.kind] += line.answers
    for worker, sum_paid in paid(campaign).items():
        if worker in rows:
            rows[worker].paid = sum_paid
    for worker, bonus in bonuses(campaign).items():
        if worker in rows:
            rows[worker].bonuses = bonus
    if caption_kinds(campaign):
        for worker, flagged in flagged_captions(campaign, rows).items():
            rows[worker].flagged = flagged
    for row in rows.values():
        row.hourly = hourly(row.earned, row.seconds)
    rows_of_workers = list(trust_states.filter(worker__in=rows))
    rows_of_workers.sort(key=lambda trust_row: kind_order(trust_row.kind))
    timed = [(s.worker_id, s.kind) for s in rows_of_workers if answers[s.worker_id, s.kind]]
    medians = cached_figure(
        campaign, f"medians-{list_key(timed)}", lambda: _medians(campaign, timed), fresh=False
    )
    for trust_row in rows_of_workers:
        rows[trust_row.worker_id].kinds.append(
            result_of(
                KindRow,
                trust_row,
                reason=trust_row.why_out,
                state=trust_reading(
                    trust_row.kind,
                    trust_row.state,
                    known[trust_row.kind],
                    examined=trust_row.examined_items is not None,
                    is_model=rows[trust_row.worker_id].is_model,
                ),
                answers=answers[trust_row.worker_id, trust_row.kind],
                accuracy=trust_row.last.count("1") / len(trust_row.last) if trust_row.last else None,
                median_seconds=medians.get((trust_row.worker_id, trust_row.kind)),
            )
        )
    return list(rows.values())


def _reading(state: str, known: Mapping[str, GoldCoverage]) -> Q:
    """Return the condition of trust states displayed as `state`."""
    condition = Q(pk__in=())
    for kind in known:
        for stored in TRUST_STATES:
            for examined, is_model in product((True, False), repeat=2):
                if trust_reading(kind, stored, known[kind], examined=examined, is_model=is_model) == state:
                    whose = Q(worker__kind=Worker.MODEL)
                    condition |= Q(kind=kind, state=stored, examined_items__isnull=not examined) & (
                        whose if is_model else ~whose
                    )
    return condition


def _medians(campaign: Campaign, queries: Sequence[tuple[int, str]]) -> dict[tuple[int, str], float]:
    """Return median seconds of the newest answers by (worker, kind); an index range for each pair."""
    branch = """SELECT * FROM (
        SELECT worker_id, kind, seconds FROM annotation_assignment
        WHERE campaign_id = %s AND worker_id = %s AND kind = %s AND state = 'submitted'
            AND role <> 'qualification' AND ended_at IS NOT NULL
        ORDER BY ended_at DESC LIMIT %s) newest"""
    medians: dict[tuple[int, str], list[float]] = defaultdict(list)
    with connection.cursor() as cursor:
        for pairs in _parts(queries, TOGETHER):
            cursor.execute(
                " UNION ALL ".join([branch] * len(pairs)),
                [value for worker, kind in pairs for value in (campaign.pk, worker, kind, TIMED)],
            )
            for worker, kind, seconds in cursor.fetchall():
                medians[worker, kind].append(seconds)
    return {pair: median(times) for pair, times in medians.items()}


def _parts(pairs: Sequence[tuple[int, str]], size: int) -> Iterable[Sequence[tuple[int, str]]]:
    return (pairs[start : start + size] for start in range(0, len(pairs), size))
