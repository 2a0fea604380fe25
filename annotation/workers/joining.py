"""Merging two workers who are one person, after a platform has confirmed who a visitor with earlier work is.

All of the provisional worker's rows move to the known one, in one transaction, and nothing that was
acknowledged is lost: answers, pay, reports, consents, tests. What one person may not do twice is treated as
if the researcher had withdrawn it:

- Where both answered one question, or one judged the other's box, the later answer (or the one that is
  withdrawn already) is withdrawn. It is kept and paid; its assignment's `attempt` tells it apart.
- Where one answered as a task what the other met as a control item or in a test, the answer to the task
  is withdrawn.
- Leases of either on such a question are returned.
- All images concerned are computed again, by the path that withdrawing takes.
- Trust states are computed again from the answers of both. Tests of both count. A worker who was suspended as
  either stays suspended, and what was withdrawn stays withdrawn.

Locks: images, tasks and assignments, trust states, each in the order of their ids; then the worker, to whom
nobody else can then write. If work was begun meanwhile, `ProvisionalWorkerMoved` is raised: try again.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db import connection
from django.db.models import F, Max, Q, QuerySet

from annotation.audit import record
from annotation.models import (
    Assignment,
    AuditEntry,
    Bonus,
    Campaign,
    Consent,
    Identity,
    Judgment,
    OpenImage,
    Payout,
    RoleGrant,
    Task,
    TrustState,
    Visit,
    Worker,
    WorkerMessage,
)
from annotation.moderation import control_items, trust_replay
from annotation.protocol.kinds import judging_kinds
from annotation.protocol.trust import QUALIFICATION
from annotation.quality import qualification
from annotation.quality.controls.authoring import raise_revision
from annotation.queue import image_state, task_rows
from annotation.selectors.same_question import seen_as_control
from annotation.workers import sessions

#: What a trust state stores about a test.
_TEST = ("examined_right", "examined_items")


class ProvisionalWorkerMoved(Exception):
    """The provisional worker began something new during the merge: nothing was changed."""


def merge_workers(*, provisional: Identity, known: Identity, by_platform: bool = True) -> None:
    """Merge two workers, within `database.writing()`; the known one stays. Raises ProvisionalWorkerMoved.

    Sessions of the provisional worker continue as the known one. `by_platform`: a crowd platform confirmed
    it, else a researcher saw it there.
    """
    was, stays = provisional.worker, known.worker
    sessions.hand_over(_account_of(provisional), _account_of(known))
    images = _images(was.pk, stays.pk)
    campaigns = set(Assignment.objects.filter(worker=was).values_list("campaign", flat=True))
    control_items.lock_campaigns(campaigns)
    rows = _lock(was.pk, stays.pk, images)
    if _images(was.pk, stays.pk) != images:
        raise ProvisionalWorkerMoved
    Worker.objects.select_for_update().get(pk=was.pk)
    _move(was.pk, stays.pk)
    _merge_trust_states(was.pk, stays.pk)
    _withdraw_own_boxes(stays.pk, images)
    _withdraw_known(stays.pk, images)
    _withdraw_with_the_worker(stays.pk, images)
    for image in images:
        image_state.refold_image(image)
    control_items.retire_contradicted_items(images)
    task_rows.count_checks(images)
    trust_replay.replay_rows(rows(stays.pk))
    for campaign in Campaign.objects.filter(pk__in=campaigns).order_by("pk"):
        # Processes cache the earnings of each worker.
        raise_revision(campaign)
    _forget(provisional, known)
    because = AuditEntry.PLATFORM if by_platform else ""
    record(actor=None, act="join_worker", worker=stays.pseudonym, was=was.pseudonym, because=because)


def _account_of(identity: Identity) -> Any:
    assert identity.account is not None, "who came from a platform has an account"
    return identity.account


def _images(was: int, stays: int) -> list[int]:
    """Return ids of open images where the provisional worker has work, or met a known one's question as a
    control item."""
    held = Assignment.objects.filter(worker=was, task__isnull=False).values_list("task__image", flat=True)
    drawn = Task.objects.filter(barred=was).values_list("image", flat=True)
    known = Task.objects.filter(pk__in=_met_otherwise(had=stays, met=was)).values_list("image", flat=True)
    return sorted({*held, *drawn, *known})


def _met_otherwise(*, had: int, met: int) -> list[int]:
    """Return the tasks that the worker `had` and whose question the worker `met` met as a control item."""
    worker_ids: list[int] = []
    kinds = Assignment.objects.filter(worker=met, control__isnull=False).values_list("kind", flat=True)
    with connection.cursor() as cursor:
        for kind in sorted(set(kinds)):
            cursor.execute(
                f"""SELECT t.id FROM annotation_assignment a JOIN annotation_task t ON t.id = a.task_id
                    WHERE a.worker_id = %s AND a.kind = %s AND {seen_as_control(kind)}""",
                [had, kind, met],
            )
            worker_ids += [task for (task,) in cursor.fetchall()]
    return worker_ids


def _lock(was: int, stays: int, images: list[int]) -> Any:
    """Lock everything that will change; return a function that lists trust states to compute again."""

    def locked(query: Any) -> list[int]:
        return list(
            query.select_for_update(no_key=True, of=("self",)).order_by("pk").values_list("pk", flat=True)
        )

    locked(OpenImage.objects.filter(pk__in=images))
    both = (was, stays)
    locked(Task.objects.filter(image__in=images))
    locked(Assignment.objects.filter(Q(worker=was) | Q(worker=stays, task__image__in=images)))
    drawers = _judged_by(both, images)
    rows_of_both = Q(worker__in=both)
    judged = [kind for _, kind in judging_kinds()]
    concerned = Q(worker__in=drawers, kind__in=judged)
    pairs = set(TrustState.objects.filter(worker=was).values_list("campaign", "kind"))
    locked(TrustState.objects.filter(rows_of_both | concerned))

    def told_again(worker: int) -> list[int]:
        rows = TrustState.objects.filter(Q(worker=worker) | concerned).order_by("pk")
        return [
            row.pk
            for row in rows
            if row.worker_id != worker or (row.campaign_id, row.kind) in pairs or row.kind in judged
        ]

    return told_again


def _judged_by(workers: Iterable[int], images: list[int]) -> set[int]:
    """Return the workers whose boxes these workers judged on these images: such verdicts may be withdrawn."""
    worker_ids = set[int]()
    for judging, judged_kind in judging_kinds():
        judged = Judgment.objects.filter(worker__in=workers, image__in=images, kind=judging)
        names = {(image, key.split("|")[1]) for image, key in judged.values_list("image", "key")}
        boxes = Judgment.objects.filter(image__in={image for image, _ in names}, kind=judged_kind)
        worker_ids |= {
            worker
            for image, name, worker in boxes.values_list("image", "name", "worker")
            if (image, name) in names
        }
    return worker_ids


# Rows of the queue ------------------------------------------------------------------------------


def _move(was: int, stays: int) -> None:
    """Move everything to the known worker; of two answers to one question the later one is withdrawn."""
    Task.objects.filter(barred=was).update(barred=stays)
    _tokens_apart(was, stays)
    _tests_apart(was, stays)
    theirs: dict[int, list[Assignment]] = defaultdict(list)
    assignments = Assignment.objects.filter(worker=was)
    for row in Assignment.objects.filter(worker=stays, task__in=assignments.values("task")):
        assert row.task_id is not None
        theirs[row.task_id].append(row)
    for mine in list(assignments.filter(task__in=theirs)):
        assert mine.task_id is not None
        _settle_twice(mine, theirs[mine.task_id])
    for mine in list(
        assignments.filter(control__isnull=False).exclude(role=qualification.QUALIFICATION_ROLE)
    ):
        # A control item that was met twice: both answers count, as for two items.
        met = Assignment.objects.filter(worker=stays, control=mine.control_id).aggregate(Max("attempt"))
        if met["attempt__max"] is not None:
            mine.attempt = met["attempt__max"] + 1
            mine.save(update_fields=["attempt"])
    assignments.update(worker=stays)
    Judgment.objects.filter(worker=was).update(worker=stays)
    Payout.objects.filter(worker=was).update(worker=stays)
    Bonus.objects.filter(worker=was).update(worker=stays)
    WorkerMessage.objects.filter(worker=was).update(worker=stays)
    agreed = Consent.objects.filter(worker=stays).values("text")
    Consent.objects.filter(worker=was).exclude(text__in=agreed).update(worker=stays)


def _settle_twice(mine: Assignment, theirs: list[Assignment]) -> None:
    """Resolve one task that both have had: one answer stays, and unanswered assignments are removed."""
    for their_row in theirs:
        if their_row.state != Assignment.SUBMITTED:
            # Of two unanswered ones, the one whose page is open is kept.
            _take_away(their_row)
    answered = [row for row in theirs if row.state == Assignment.SUBMITTED]
    if not answered:
        return
    if mine.state != Assignment.SUBMITTED:
        _take_away(mine)
        return
    first = next((row for row in answered if row.attempt == 0), None)
    free = 1 + max(row.attempt for row in answered)
    if first is None or _order(mine) < _order(first):
        if first is not None:
            _set_aside(first, free)
    else:
        _set_aside(mine, free)


def _order(row: Assignment) -> tuple[bool, int]:
    """The sort key by which the answer that stays comes first: valid ones, then earlier ones."""
    return min(
        (withdrawn, pk)
        for withdrawn, pk in Judgment.objects.filter(assignment=row).values_list("withdrawn", "pk")
    )


def _set_aside(row: Assignment, attempt: int) -> None:
    """Withdraw the answer of an assignment, stored apart from the one that counts."""
    Assignment.objects.filter(pk=row.pk).update(attempt=attempt)
    Judgment.objects.filter(assignment=row).update(withdrawn=True)


def _take_away(row: Assignment) -> None:
    """Delete a lease without an answer; its place becomes free."""
    if row.state == Assignment.LEASED and row.task_id is not None:
        Task.objects.filter(pk=row.task_id).update(live=F("live") - 1)
    row.delete()


def _tokens_apart(was: int, stays: int) -> None:
    """A token identifies one answer of one worker: change the provisional one's if both used it."""
    theirs = Assignment.objects.filter(worker=stays).exclude(token="").values("token")
    for row in list(Assignment.objects.filter(worker=was, token__in=theirs)):
        row.token = f"joined-{row.pk}"
        row.save(update_fields=["token"])


def _tests_apart(was: int, stays: int) -> None:
    """Number the provisional worker's tests after those of the known one."""
    taken = {
        (row.campaign_id, row.kind): row.attempt
        for row in TrustState.objects.filter(worker=stays, attempt__gt=0)
    }
    for (campaign, kind), before in taken.items():
        tests = Assignment.objects.filter(campaign=campaign, kind=kind, role=qualification.QUALIFICATION_ROLE)
        # The unanswered items of an unfinished test are dropped, if another one was begun since.
        if tests.filter(worker=was).exists():
            tests.filter(worker=stays, attempt=before - 1).exclude(state=Assignment.SUBMITTED).delete()
        tests.filter(worker=was).update(attempt=F("attempt") + before)


def _withdraw_own_boxes(worker: int, images: list[int]) -> None:
    """Withdraw the person's verdicts on their own boxes, and return such leases."""
    _withdraw_answers(worker, Assignment.objects.filter(task__barred=worker, task__image__in=images))


def _withdraw_known(worker: int, images: list[int]) -> None:
    """Withdraw the person's answers to questions also met as control items; return such leases."""
    met = _met_otherwise(had=worker, met=worker)
    _withdraw_answers(worker, Assignment.objects.filter(task__in=met, task__image__in=images))


def _withdraw_answers(worker: int, rows: QuerySet[Assignment]) -> None:
    for row in list(rows.filter(worker=worker, attempt=0)):
        if row.state != Assignment.SUBMITTED:
            _take_away(row)
        else:
            used = Assignment.objects.filter(worker=worker, task=row.task_id).aggregate(Max("attempt"))
            _set_aside(row, used["attempt__max"] + 1)


def _withdraw_with_the_worker(worker: int, images: list[int]) -> None:
    """If a worker's judgments of a kind are withdrawn, withdraw those that the merge adds, too."""
    for row in TrustState.objects.filter(worker=worker, withdrawn_at__isnull=False):
        Judgment.objects.filter(
            campaign=row.campaign_id, worker=worker, kind=row.kind, image__in=images, withdrawn=False
        ).update(withdrawn=True)


# TrustStates and the person -----------------------------------------------------------------------


def _merge_trust_states(was: int, stays: int) -> None:
    theirs = {(row.campaign_id, row.kind): row for row in TrustState.objects.filter(worker=stays)}
    for row in list(TrustState.objects.filter(worker=was)):
        ours = theirs.get((row.campaign_id, row.kind))
        if ours is None:
            row.worker_id = stays
            row.save(update_fields=["worker"])
            continue
        failed_for_good = ours.state == QUALIFICATION and ours.attempt >= qualification.TEST_ATTEMPTS
        if ours.state == QUALIFICATION and row.examined_items and not failed_for_good:
            for name in (*_TEST, "state"):
                setattr(ours, name, getattr(row, name))
        ours.entered = ours.entered or row.entered
        ours.attempt += row.attempt
        if row.is_out and not ours.blocked:
            ours.blocked, ours.reason = True, row.why_out
        ours.cursor = 0
        ours.save()
        row.delete()


def _forget(provisional: Identity, known: Identity) -> None:
    """Delete everything of the provisional worker that was not moved."""
    account = _account_of(provisional)
    been_to = Visit.objects.filter(identity=known).values_list("study__campaign", flat=True)
    # A revoked role stays revoked, for a campaign that they came to before.
    for grant in RoleGrant.objects.filter(account=account).exclude(campaign__in=set(been_to)):
        RoleGrant.objects.get_or_create(
            account=_account_of(known), role=grant.role, corpus=grant.corpus, campaign=grant.campaign
        )
    visits = Visit.objects.filter(identity=provisional)
    visits.filter(came_as="").update(came_as=provisional.worker.pseudonym)
    visits.update(identity=known)
    if provisional.country and not known.country:
        Identity.objects.filter(pk=known.pk).update(country=provisional.country)
    worker = provisional.worker
    provisional.delete()
    account.delete()
    worker.delete()
