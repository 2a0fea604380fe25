"""The tasks available to a worker: every campaign and kind, the worker's trust there, and why there may be
nothing.

It serves lists of tasks, on pages and in the API. It takes nothing and promises nothing: only `leases.taking`
decides who gets the last question.
"""

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, Q, Sum
from django.utils import timezone

from annotation import instructions
from annotation.common import database
from annotation.models import Assignment, Campaign, Identity, Worker
from annotation.models import TrustState as Row
from annotation.protocol.campaign_settings import CampaignSettings, settings_of
from annotation.protocol.trust import WorkerJoined, WorkerTrust, trust_after, trust_reading
from annotation.protocol.trust_settings import GoldCoverage, TrustSettings, in_force, practice_is_entry
from annotation.quality import qualification, worker_trust
from annotation.queue import check_first, dispatch, lease_terms
from annotation.queue.dispatch import NoTask, WorkerState
from annotation.selectors.controls import control_metadata_of
from annotation.selectors.corpora import campaigns_to_work_on

#: Seconds for which a process caches the number of remaining questions, the largest number counted, and the
#: size of the cache.
LEFT_LIFETIME, MOST_LEFT, LEFT_REMEMBERED = 300, 1000, 256


class Today(NamedTuple):
    """A worker's work since midnight: answers, seconds, millionths of the currency."""

    answers: int = 0
    seconds: float = 0.0
    pay: int = 0


@dataclass(frozen=True, slots=True)
class AvailableTask:
    """One kind of question in one campaign, as available to one worker.

    `trust` is the worker's state, or the state after joining now; `known` is the campaign's gold for the
    kind. `test` is the test in progress; `nothing` says why the worker would get nothing now. The number of
    waiting questions is not included: it would fall with an answer to one of them, but not with one to a
    control item, and so reveal control items.
    """

    campaign: Campaign
    kind: str
    settings: CampaignSettings
    trust: WorkerTrust
    known: GoldCoverage
    in_hand: int
    today: Today
    test: qualification.QualificationTest | None
    nothing: NoTask | None

    @property
    def reads(self) -> str:
        """The trust state in words: its state, or that nothing measures the worker's correctness."""
        examined = self.trust.examined is not None
        return trust_reading(self.kind, self.trust.state, self.known, examined=examined)

    @property
    def practice_first(self) -> bool:
        """Whether the worker should practise first, since there is no test."""
        untried = not self.trust.items and self.trust.examined is None
        return untried and practice_is_entry(self.kind, self.settings.trust, self.known)

    @property
    def wants_test(self) -> bool:
        """Whether only a test, started or not, separates the worker from the work."""
        return self.nothing is not None and self.nothing.code in qualification.NEED_A_TEST


def kinds_of(campaign: Campaign) -> tuple[str, ...]:
    """Return the kinds of questions that a campaign asks."""
    return campaign.kinds


def available_tasks(*, worker: Worker) -> list[AvailableTask]:
    """Return everything that campaigns offer to `worker`, by campaign, then in the order of the questions.

    Closed campaigns are included while the worker holds something there.
    """
    held = _held(worker)
    visible = Q(state__in=(Campaign.OPEN, Campaign.PAUSED)) | Q(pk__in={campaign for campaign, _ in held})
    campaigns = list(campaigns_to_work_on(worker.pk).filter(visible).order_by("name"))
    today = _today(worker, campaigns)
    places = _places_of(worker, campaigns)
    tests = qualification.tests_under_way([work_kind.row for work_kind in places if work_kind.row.pk])
    nothing = _why_nothing(worker, places, held, tests)
    _check_tests(places, nothing, tests)
    return [
        AvailableTask(
            work_kind.campaign,
            work_kind.kind,
            work_kind.terms.settings,
            work_kind.trust,
            work_kind.known,
            held[work_kind.key],
            today[work_kind.key],
            tests.get(work_kind.key) if _needs_test(nothing[work_kind.key]) else None,
            None if held[work_kind.key] else nothing[work_kind.key],
        )
        for work_kind in places
    ]


class _WorkKind(NamedTuple):
    """A kind of question in a campaign, with the worker's trust state; `row` may be unsaved."""

    campaign: Campaign
    kind: str
    terms: lease_terms.Terms
    row: Row
    trust: WorkerTrust
    known: GoldCoverage
    country: str

    @property
    def key(self) -> tuple[int, str]:
        return self.campaign.pk, self.kind

    @property
    def rules(self) -> TrustSettings:
        """The effective trust settings."""
        return in_force(self.terms.settings.trust, self.known)

    def holder(self, worker: Worker) -> WorkerState:
        """The trust state as `dispatch` needs it."""
        row = self.row
        return WorkerState(
            id=row.pk or 0,
            campaign=self.campaign.pk,
            worker=worker.pk,
            pseudonym=worker.pseudonym,
            attempt=row.attempt,
            cursor=row.cursor,
            out=row.is_out,
            reason=row.why_out,
            withdrawn=row.withdrawn_at is not None,
            unagreed=False,  # a missing consent is reported before
            is_model=False,  # a model annotator has no login
            visitor=False,  # the limit of a visit is reported where tasks are leased
            country=self.country,
            trust=self.trust,
        )


def _places_of(worker: Worker, campaigns: Sequence[Campaign]) -> list[_WorkKind]:
    """Return every kind of these campaigns, with the worker's trust state, or the state after joining now."""
    rows = {(row.campaign_id, row.kind): row for row in Row.objects.filter(worker=worker)}
    identity = Identity.objects.filter(worker=worker).first()
    entered = WorkerJoined(identity.tasks, identity.approved) if identity else WorkerJoined()
    country = identity.country if identity else ""
    metadata = control_metadata_of([campaign.pk for campaign in campaigns])
    places = []
    for campaign in campaigns:
        terms = lease_terms.Terms(
            id=campaign.pk,
            state=campaign.state,
            reason=campaign.reason,
            revision=campaign.revision,
            seed=campaign.seed,
            version=campaign.settings_version,
            settings=settings_of(campaign.settings),
        )
        for kind in kinds_of(campaign):
            known = metadata[campaign.pk].known[kind]
            row = rows.get((campaign.pk, kind))
            trust = (
                worker_trust.trust_from_row(row)
                if row
                else trust_after(WorkerTrust(kind), entered, in_force(terms.settings.trust, known))
            )
            row = row or Row(campaign=campaign, worker=worker, kind=kind)
            places.append(_WorkKind(campaign, kind, terms, row, trust, known, country))
    return places


def _why_nothing(
    worker: Worker,
    places: Sequence[_WorkKind],
    held: Mapping[tuple[int, str], int],
    tests: Container[tuple[int, str]],
) -> dict[tuple[int, str], NoTask | None]:
    """Return (campaign, kind) -> why the worker would get nothing there now, None if there is something;
    with the same number of queries for any number of entries."""
    campaigns = {work_kind.campaign.pk for work_kind in places}
    unagreed = instructions.consents_needed(worker=worker.pk, campaigns=campaigns)
    reasons: dict[tuple[int, str], NoTask | None] = {}
    for work_kind in places:
        shut = dispatch.why_closed(work_kind.terms)
        if shut is None and work_kind.campaign.pk in unagreed:
            shut = lease_terms.no_task_without_consent()
        reasons[work_kind.key] = shut or lease_terms.why_no_lease_by(
            work_kind.rules,
            work_kind.holder(worker),
            work_kind.terms,
            in_a_test=lambda holder: (holder.campaign, holder.trust.kind) in tests,
        )
    at = database.now()
    with connection.cursor() as cursor:
        let_in = [
            (work_kind.holder(worker), work_kind.rules)
            for work_kind in places
            if reasons[work_kind.key] is None
        ]
        reasons.update(dispatch.why_drawers_wait(cursor, let_in, at))
        reasons.update(_why_check_first(cursor, worker, [p for p in places if reasons[p.key] is None], at))
        looking: dict[str, list[int]] = defaultdict(list)
        for work_kind in places:
            if reasons[work_kind.key] is None and not held[work_kind.key]:
                looking[work_kind.kind].append(work_kind.campaign.pk)
        work = dispatch.places_with_work(cursor, worker.pk, looking)
        without = {kind: [c for c in those if (c, kind) not in work] for kind, those in looking.items()}
        reasons.update(dispatch.why_none_in(cursor, worker.pk, without, at))
    return reasons


def _why_check_first(
    cursor: Any, worker: Worker, places: Sequence[_WorkKind], at: datetime
) -> dict[tuple[int, str], NoTask]:
    drawing: dict[str, dict[int, CampaignSettings]] = {}
    for work_kind in places:
        if check_first.may_hold(work_kind.terms.settings, work_kind.kind):
            drawing.setdefault(work_kind.kind, {})[work_kind.campaign.pk] = work_kind.terms.settings
    return {
        (campaign, kind): nothing
        for kind, those in drawing.items()
        for campaign, nothing in check_first.why_check_first(cursor, worker.pk, kind, those, at).items()
    }


def _check_tests(
    places: Sequence[_WorkKind],
    nothing: dict[tuple[int, str], NoTask | None],
    tests: Container[tuple[int, str]],
) -> None:
    """Where a test is required but cannot begin, store why; with the same number of queries for any
    number."""
    wanting = [
        qualification.AvailableTest(work_kind.row, work_kind.campaign, work_kind.terms.settings)
        for work_kind in places
        if _needs_test(nothing[work_kind.key]) and work_kind.key not in tests
    ]
    for key, obstacle in qualification.test_obstacles(wanting).items():
        nothing[key] = NoTask(obstacle.code, obstacle.text)


def _needs_test(nothing: NoTask | None) -> bool:
    return nothing is not None and nothing.code in qualification.NEED_A_TEST


def no_consent(*, worker: int, campaign: Campaign) -> NoTask | None:
    """Return the reason for a worker who has not agreed to the campaign's newest consent text; else None."""
    if not instructions.needs_consent(worker=worker, campaign=campaign):
        return None
    return lease_terms.no_task_without_consent()


def today(*, worker: int, campaign: int, kind: str) -> Today:
    """Return a worker's work of one kind since midnight."""
    done = Assignment.objects.filter(
        worker=worker, campaign=campaign, kind=kind, state=Assignment.SUBMITTED, ended_at__gte=_midnight()
    )
    sums = done.aggregate(answers=Count("pk"), seconds=Sum("seconds"), pay=Sum("pay"))
    return Today(sums["answers"], sums["seconds"] or 0.0, sums["pay"] or 0)


def about_left(*, campaign: int, kind: str) -> int:
    """Return roughly how many questions of a kind wait: multiples of ten, at most MOST_LEFT, up to
    LEFT_LIFETIME seconds old. One query in that time.

    The number is neither exact nor current: otherwise it would fall with an answer to one of them, but not
    with one to a control item.
    """
    return _about_left(campaign, kind, int(database.now().timestamp()) // LEFT_LIFETIME)


@lru_cache(maxsize=LEFT_REMEMBERED)
def _about_left(campaign: int, kind: str, count_per_round: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*) FROM (SELECT 1 FROM annotation_task WHERE campaign_id = %s AND kind = %s
                   AND state = 'open' AND live < needed LIMIT %s) AS waiting""",
            [campaign, kind, MOST_LEFT],
        )
        (waiting,) = cursor.fetchone()
    return int(waiting) // 10 * 10


def _held(worker: Worker) -> defaultdict[tuple[int, str], int]:
    """Return (campaign, kind) -> how many assignments the worker holds."""
    held = Assignment.objects.filter(worker=worker, state=Assignment.LEASED)
    counts = held.values_list("campaign", "kind").annotate(Count("pk"))
    return defaultdict(int, {(campaign, kind): count for campaign, kind, count in counts})


def _today(worker: Worker, campaigns: Sequence[Campaign]) -> defaultdict[tuple[int, str], Today]:
    """Return (campaign, kind) -> the worker's work since midnight."""
    done = Assignment.objects.filter(
        campaign__in=campaigns, worker=worker, state=Assignment.SUBMITTED, ended_at__gte=_midnight()
    )
    sums = done.values_list("campaign", "kind").annotate(Count("pk"), Sum("seconds"), Sum("pay"))
    return defaultdict(
        Today,
        {(campaign, kind): Today(answers, seconds, pay) for campaign, kind, answers, seconds, pay in sums},
    )


def _midnight() -> datetime:
    """Return the last midnight in the server's time zone."""
    return timezone.localtime(database.now()).replace(hour=0, minute=0, second=0, microsecond=0)
