"""Possible problems of a running campaign, as numbers; `running` turns them into alarms."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connection
from django.db.models import Count, Exists, F, OuterRef

from annotation.common import database
from annotation.models import (
    Assignment,
    Campaign,
    Control,
    Image,
    Job,
    OpenImage,
    PageControl,
    TrustState,
    Worker,
)
from annotation.protocol.kinds import ABOUT_PAGE, all_kinds
from annotation.protocol.trust import TRUSTED, WARM_UP
from annotation.selectors.same_question import seen_as_control

#: Number of open tasks of a kind that are checked, the first in queue order: tasks that nobody may answer
#: stay there.
LOOKED_AT = 1_000


class Stuck(NamedTuple):
    """Open tasks of a kind, among those checked, that no active worker may take."""

    tasks: int
    looked_at: int


def active(
    campaign: Campaign, *, since: datetime, kinds: Iterable[str], admits: Collection[str]
) -> dict[str, list[int]]:
    """Return by kind the people who answered anything since then and may work on it now.

    `admits`: the kinds that a worker may begin without a test.
    """
    recent = Assignment.objects.filter(
        campaign=OuterRef("campaign"), worker=OuterRef("worker"), kind=OuterRef("kind"), ended_at__gte=since
    ).filter(state=Assignment.SUBMITTED)
    people = TrustState.objects.filter(Exists(recent), campaign=campaign, worker__kind=Worker.PERSON)
    there = set(people.values_list("worker", flat=True).distinct())
    able: dict[str, set[int]] = {kind: set(there) if kind in admits else set() for kind in kinds}
    trust_states = TrustState.objects.filter(campaign=campaign, worker__in=there, kind__in=able)
    for kind, worker, state, blocked, withdrawn in trust_states.values_list(
        "kind", "worker", "state", "blocked", "withdrawn_at"
    ):
        may = state in (WARM_UP, TRUSTED) and not blocked and withdrawn is None
        (able[kind].add if may else able[kind].discard)(worker)
    return {kind: sorted(workers) for kind, workers in able.items()}


def stuck(campaign: Campaign, able: Mapping[str, Sequence[int]], kinds: Iterable[str]) -> dict[str, Stuck]:
    """Return by kind the open tasks that none of the workers in `able` may take, if there are any.

    Each of these workers drew the box, or had the task (answered, leased or returned it), or its question as
    a control item. Only the first `LOOKED_AT` tasks of a kind are checked.
    """
    stuck_tasks = {}
    for kind in kinds:
        workers = able.get(kind, ())
        nobody = "TRUE"
        if workers:
            nobody = f"""NOT EXISTS (
                SELECT 1 FROM annotation_worker w WHERE w.id IN ({database.parameters(workers)})
                    AND (t.barred_id IS NULL OR t.barred_id <> w.id)
                    AND NOT EXISTS (
                        SELECT 1 FROM annotation_assignment a
                        WHERE a.task_id = t.id AND a.worker_id = w.id AND a.state <> 'expired')
                    AND NOT {seen_as_control(kind, "w.id")})"""
        with connection.cursor() as cursor:
            cursor.execute(
                f"""SELECT count(*), sum(CASE WHEN {nobody} THEN 1 ELSE 0 END) FROM (
                        SELECT id, campaign_id, image_id, key, barred_id FROM annotation_task
                        WHERE campaign_id = %s AND kind = %s AND state = 'open' AND live < needed
                        ORDER BY rank, id LIMIT %s) t""",
                [*workers, campaign.pk, kind, LOOKED_AT],
            )
            looked_at, tasks = cursor.fetchone()
        if tasks:
            stuck_tasks[kind] = Stuck(tasks, looked_at)
    return stuck_tasks


def controls_seen_by_kind(
    campaign: Campaign, able: Mapping[str, Sequence[int]]
) -> dict[str, tuple[int, int, int]]:
    """Return by kind (active control items, the maximum that an active worker has seen, workers who have seen
    all).

    Kinds without control items are missing.
    """
    of_kind = Control.objects.filter(campaign=campaign, purpose=Control.CONTROL, active=True)
    pools = dict(of_kind.values("kind").annotate(n=Count("id")).values_list("kind", "n"))
    met: dict[str, list[int]] = {kind: [] for kind in pools}
    held = Assignment.objects.filter(control__in=of_kind).exclude(
        kind__in=[kind.key for kind in all_kinds() if kind.about == ABOUT_PAGE]
    )
    grouped = held.values("kind", "worker").annotate(n=Count("control", distinct=True))
    on_pages = PageControl.objects.filter(control__in=of_kind).annotate(
        kind=F("assignment__kind"), worker=F("assignment__worker")
    )
    paged = on_pages.values("kind", "worker").annotate(n=Count("control", distinct=True))
    for kind, worker, count in [
        *grouped.values_list("kind", "worker", "n"),
        *paged.values_list("kind", "worker", "n"),
    ]:
        if worker in able.get(kind, ()):
            met[kind].append(count)
    return {
        kind: (size, max(met[kind], default=0), sum(count >= size for count in met[kind]))
        for kind, size in pools.items()
    }


def overdue(campaign: Campaign, *, before: datetime) -> int:
    """Return the number of leases that expired before then and were not ended."""
    late = Assignment.objects.filter(campaign=campaign, state=Assignment.LEASED, expires_at__lt=before)
    return late.count()


def in_review(campaign: Campaign) -> int:
    """Return the number of images with a chain that waits for a reviewer."""
    return OpenImage.objects.filter(campaign=campaign, in_review__gt=0).count()


def without_picture(campaign: Campaign) -> int:
    """Return the number of open images without a picture."""
    bare = Image.objects.filter(corpus=campaign.corpus_id, picture="")
    return bare.filter(Exists(OpenImage.objects.filter(campaign=campaign, image=OuterRef("pk")))).count()


def failed_jobs(campaign: Campaign, *, since: datetime) -> int:
    """Return the number of kinds of jobs of the campaign whose newest job failed since then: a later success
    of the same kind cancels a failure."""
    later = Job.objects.filter(campaign=campaign, kind=OuterRef("kind"), pk__gt=OuterRef("pk"))
    failed = Job.objects.filter(campaign=campaign, state=Job.FAILED, finished_at__gte=since)
    return failed.exclude(Exists(later)).count()
