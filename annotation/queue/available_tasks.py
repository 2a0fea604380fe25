"""What there is for a worker: every campaign and kind, how they stand there, and why not, where not.

What a list of tasks shows, on a page or through the API. It takes nothing and promises nothing: only
`leases.take` knows who gets the last question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, Q, Sum
from django.utils import timezone

from annotation import instructions
from annotation.common import database
from annotation.models import Assignment, Campaign, Identity, Worker
from annotation.models import Standing as Row
from annotation.protocol.campaign_settings import CampaignSettings, settings_of
from annotation.protocol.trust import Entered, WorkerTrust, trust_after, trust_reading
from annotation.protocol.trust_settings import GoldCoverage, practice_is_entry
from annotation.quality import controls, qualification, worker_trust
from annotation.queue import dispatch, lease_terms
from annotation.queue.dispatch import NoTask, WorkerState
from annotation.selectors.same_question import met_as_control
from annotation.selectors.scopes import campaigns_to_work_on


class Today(NamedTuple):
    """What a worker handed in since midnight: answers, seconds of work, millionths of the currency."""

    answers: int = 0
    seconds: float = 0.0
    pay: int = 0


@dataclass(frozen=True, slots=True)
class AvailableTask:
    """One kind of question in one campaign, as one worker meets it.

    `standing` is theirs, or what it would be if they joined now; `known` what the campaign knows of the
    kind. `test` is the one they are in the middle of; `nothing` says why they would get nothing now. How many
    questions wait is not told: it falls with an answer to one of them, and not with one on a control item.
    """

    campaign: Campaign
    kind: str
    settings: CampaignSettings
    standing: WorkerTrust
    known: GoldCoverage
    in_hand: int
    today: Today
    test: qualification.QualificationTest | None
    nothing: NoTask | None

    @property
    def reads(self) -> str:
        """How the standing reads: its state, or that nothing tells whether the worker is right."""
        examined = self.standing.examined is not None
        return trust_reading(self.kind, self.standing.state, self.known, examined=examined)

    @property
    def practice_first(self) -> bool:
        """Whether the worker is to practise before they begin, as there is no test."""
        untried = not self.standing.items and self.standing.examined is None
        return untried and practice_is_entry(self.kind, self.settings.trust, self.known)

    @property
    def wants_test(self) -> bool:
        """Whether a test, begun or to be begun, is all that is between the worker and the work."""
        return self.nothing is not None and self.nothing.code in qualification.NEED_A_TEST


def kinds_of(campaign: Campaign) -> tuple[str, ...]:
    """The questions that a campaign asks."""
    return campaign.kinds


def available_tasks(*, worker: Worker) -> list[AvailableTask]:
    """All that campaigns offer to `worker`, by campaign, then in the order of the questions.

    Closed campaigns are among them as long as the worker holds something there.
    """
    held = _held(worker)
    shown = Q(state__in=(Campaign.OPEN, Campaign.PAUSED)) | Q(pk__in={campaign for campaign, _ in held})
    campaigns = list(campaigns_to_work_on(worker.pk).filter(shown).order_by("name"))
    today = _today(worker, campaigns)
    rows = {(row.campaign_id, row.kind): row for row in Row.objects.filter(worker=worker)}
    identity = Identity.objects.filter(worker=worker).first()
    entered = Entered(identity.tasks, identity.approved) if identity else Entered()
    found = []
    for campaign in campaigns:
        settings = settings_of(campaign.settings)
        terms = lease_terms.Terms(
            id=campaign.pk,
            state=campaign.state,
            reason=campaign.reason,
            revision=campaign.revision,
            seed=campaign.seed,
            version=campaign.settings_version,
            settings=settings,
        )
        shut = dispatch.why_closed(terms) or no_consent(worker=worker.pk, campaign=campaign)
        for kind in kinds_of(campaign):
            row = rows.get((campaign.pk, kind))
            rules = lease_terms.terms_trust_rules(terms, kind)
            standing = (
                worker_trust.trust_from_row(row) if row else trust_after(WorkerTrust(kind), entered, rules)
            )
            holder = _holder(campaign, worker, row, standing)
            in_hand = held[campaign.pk, kind]
            with connection.cursor() as cursor:
                nothing = (
                    shut
                    or lease_terms.why_refused(holder, terms)
                    or dispatch.why_drawer_waits(cursor, holder, rules, database.now())
                )
                if nothing is None and not in_hand and not _waits(cursor, campaign.pk, kind, worker.pk):
                    nothing = dispatch.why_none(cursor, holder, kind, database.now())
            test = None
            if nothing is not None and nothing.code in qualification.NEED_A_TEST:
                place = row or Row(campaign=campaign, worker=worker, kind=kind)
                test = qualification.test_under_way(place)
                obstacle = qualification.test_obstacle(place, campaign=campaign, settings=settings)
                if obstacle and not test:
                    nothing = NoTask(obstacle.code, obstacle.text)
            found.append(
                AvailableTask(
                    campaign,
                    kind,
                    settings,
                    standing,
                    controls.gold_coverage(campaign.pk, kind, campaign.revision),
                    in_hand,
                    today[campaign.pk, kind],
                    test,
                    None if in_hand else nothing,
                )
            )
    return found


def no_consent(*, worker: int, campaign: Campaign) -> NoTask | None:
    """What keeps a worker out who has not agreed to the campaign's newest consent text; else None."""
    if not instructions.needs_consent(worker=worker, campaign=campaign):
        return None
    return lease_terms.no_task_without_consent()


def today(*, worker: int, campaign: int, kind: str) -> Today:
    """What a worker has done of one kind since midnight."""
    done = Assignment.objects.filter(
        worker=worker, campaign=campaign, kind=kind, state=Assignment.SUBMITTED, ended_at__gte=_midnight()
    )
    sums = done.aggregate(answers=Count("pk"), seconds=Sum("seconds"), pay=Sum("pay"))
    return Today(sums["answers"], sums["seconds"] or 0.0, sums["pay"] or 0)


def _holder(campaign: Campaign, worker: Worker, row: Row | None, standing: WorkerTrust) -> WorkerState:
    """A standing as handing out takes it, whether or not there is a row of it yet."""
    row = row or Row(pk=0)
    return WorkerState(
        id=row.pk,
        campaign=campaign.pk,
        worker=worker.pk,
        pseudonym=worker.pseudonym,
        attempt=row.attempt,
        cursor=row.cursor,
        blocked=row.blocked,
        reason=row.reason,
        withdrawn=row.withdrawn_at is not None,
        unagreed=False,  # Who has not agreed is told so before.
        machine=False,  # Nobody signs in as one.
        standing=standing,
    )


def _waits(cursor: Any, campaign: int, kind: str, worker: int) -> bool:
    """Whether there is a question that this worker could get."""
    cursor.execute(
        f"""SELECT 1 FROM annotation_task t
           WHERE t.campaign_id = %s AND t.kind = %s AND t.state = 'open' AND t.live < t.wanted
               AND (t.barred_id IS NULL OR t.barred_id <> %s)
               AND NOT EXISTS (SELECT 1 FROM annotation_assignment a
                   WHERE a.task_id = t.id AND a.worker_id = %s AND a.state <> 'expired')
               AND NOT {met_as_control(kind)}
           LIMIT 1""",
        [campaign, kind, worker, worker, worker],
    )
    return cursor.fetchone() is not None


def _held(worker: Worker) -> defaultdict[tuple[int, str], int]:
    """(campaign, kind) -> how many the worker has in hand."""
    held = Assignment.objects.filter(worker=worker, state=Assignment.LEASED)
    counts = held.values_list("campaign", "kind").annotate(Count("pk"))
    return defaultdict(int, {(campaign, kind): count for campaign, kind, count in counts})


def _today(worker: Worker, campaigns: Sequence[Campaign]) -> defaultdict[tuple[int, str], Today]:
    """(campaign, kind) -> what the worker has handed in since midnight."""
    done = Assignment.objects.filter(
        campaign__in=campaigns, worker=worker, state=Assignment.SUBMITTED, ended_at__gte=_midnight()
    )
    sums = done.values_list("campaign", "kind").annotate(Count("pk"), Sum("seconds"), Sum("pay"))
    return defaultdict(
        Today,
        {(campaign, kind): Today(answers, seconds, pay) for campaign, kind, answers, seconds, pay in sums},
    )


def _midnight() -> datetime:
    """When today began, in the server's time zone."""
    return timezone.localtime(database.now()).replace(hour=0, minute=0, second=0, microsecond=0)
