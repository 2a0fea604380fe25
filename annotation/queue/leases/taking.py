"""Taking a lease: what a worker holds, or something new, or why there is nothing."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection
from django.utils.translation import gettext as _

from annotation.common import database
from annotation.models import Assignment, Campaign, Worker
from annotation.models import TrustState as TrustStateRow
from annotation.protocol import trust
from annotation.protocol.controls import choose_control, is_control_due
from annotation.protocol.kinds import draws, is_page, kind_of
from annotation.quality import controls, qualification, worker_trust
from annotation.queue import check_first, dispatch, relevance_pages, visits
from annotation.queue.dispatch import NoTask, WorkerState
from annotation.queue.lease_terms import (
    CARRIED_SETTINGS_COLUMNS,
    TERMS_COLUMNS,
    WORKER_STATE_COLUMNS,
    CarriedSettings,
    Terms,
    terms_from,
    terms_of,
    terms_of_lease,
    terms_trust_rules,
    why_no_lease,
    worker_state_from,
)

_ROLE_CONTROL = "control"
#: The code of a `NoTask` that says that another worker has, or had, the one requested task.
TAKEN = "taken"


class _Request(NamedTuple):
    """A request for something new: the worker, the kind, the terms, the time, and the end of the lease."""

    terms: Terms
    holder: WorkerState
    kind: str
    at: datetime
    expires: datetime


class _InHand(NamedTuple):
    """An assignment that a worker holds, from its row."""

    id: int
    role: str
    task: int | None
    control: int | None
    expires_at: Any


class _Kind(NamedTuple):
    """The kind of an assignment."""

    kind: str


#: The columns of `_InHand`, of an assignment `a`.
_IN_HAND = "a.id, a.role, a.task_id, a.control_id, a.expires_at"


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease: its content, its image, its end.

    `image` is the id of the corpus's image. Either `task` or `control` is set; workers see neither, nor the
    role: a control item looks like any other. `version`: of the settings under which it was given.
    """

    id: int
    kind: str
    role: str
    image: int
    content: dict[str, Any]
    key: str
    expires_at: datetime
    task: int | None
    control: int | None
    version: int = 1


def take_lease(
    *, worker: int, campaign: Campaign, kind: str, holding: Collection[int] = ()
) -> Lease | NoTask:
    """Lease what this worker holds of `kind` and does not list in `holding`; else something new, or return
    why not.

    `holding` are the assignments that the worker's page displays already. Pages and API check the consent
    before. Raises Worker.DoesNotExist where the worker was just merged into another one (`joining`).
    """
    with database.writing(), connection.cursor() as cursor:
        terms = terms_of(cursor, campaign.pk)
        holder = _holder(cursor, campaign.pk, worker, kind)
        if holder is None:
            worker_trust.join_campaign(
                worker=worker, campaign=campaign, kind=kind, settings=terms_trust_rules(terms, kind)
            )
            holder = _holder(cursor, campaign.pk, worker, kind)
            if holder is None:
                raise Worker.DoesNotExist("the worker has just become another one")
        return take_next_lease(cursor, terms, holder, kind, holding, database.now())


def take_model_lease(
    *, worker: int, campaign: Campaign, kind: str, task: int, attempt: int = 0
) -> Lease | NoTask:
    """Lease this one task to a model annotator, or return why not; under the locks and rules of `take_lease`.

    A model annotator gives votes. It gets no control items, no repeated questions that measure agreement, and
    no kinds that only people answer. `attempt` is how often it has had the task: if it has had it once more
    meanwhile, its answer may be one that was rejected, and it gets none.
    """
    with database.writing(), connection.cursor() as cursor:
        terms = terms_of(cursor, campaign.pk)
        holder = _holder(cursor, campaign.pk, worker, kind)
        if holder is None or not holder.is_model or not kind_of(kind).model_answers:
            return NoTask(
                "no_model", "Only a model annotator takes a question by its number, and not of this kind."
            )
        at = database.now()
        refusal = _why_model_waits(cursor, terms, holder, at)
        if refusal is not None:
            return refusal
        tries = terms.settings.model_annotator.tries if draws(kind) else 1
        # Nobody else increases the number: the model annotator's trust state is locked.
        if attempt != Assignment.objects.filter(task=task, worker=worker).count():
            return NoTask(TAKEN, "The model annotator has had this question meanwhile.")
        claimed = dispatch.claim_task(cursor, holder, kind, task, tries=tries)
        if claimed is None:
            return NoTask(TAKEN, "Somebody else has this question, or had it.")
        expires = at + timedelta(minutes=terms.settings.lease.minutes)
        request = _Request(terms, holder, kind, at, expires)
        assignment = _insert(cursor, request, claimed.role, task=claimed.task, attempt=attempt)
        return _lease(assignment, claimed, kind, expires, terms)


def why_no_model_lease(*, worker: int, campaign: Campaign, kind: str) -> NoTask | None:
    """Return why a model annotator gets no lease of the kind, whatever the task; None if it may. Without
    locks, so `take_model_lease` may still decide otherwise."""
    with connection.cursor() as cursor:
        terms = terms_of(cursor, campaign.pk)
        holder = _holder(cursor, campaign.pk, worker, kind, locked=False)
        if holder is None:
            return NoTask("no_model", "The model annotator has no trust state for this kind.")
        return _why_model_waits(cursor, terms, holder, database.now())


def _why_model_waits(cursor: Any, terms: Terms, holder: WorkerState, at: datetime) -> NoTask | None:
    refusal = dispatch.why_closed(terms) or why_no_lease(holder, terms)
    if refusal is not None:
        return refusal
    rules = terms_trust_rules(terms, holder.trust.kind, is_model=True)
    return dispatch.why_drawer_waits(cursor, holder, rules, at, is_model=True)


def _holder(cursor: Any, campaign: int, worker: int, kind: str, *, locked: bool = True) -> WorkerState | None:
    """Return the worker's trust state, locked by default; None if there is none yet."""
    database.execute(
        cursor,
        f"""SELECT {WORKER_STATE_COLUMNS}
        FROM annotation_truststate s JOIN annotation_worker w ON w.id = s.worker_id
            WHERE s.campaign_id = %s AND s.worker_id = %s AND s.kind = %s"""
        + (database.locking("s") if locked else ""),
        [campaign, worker, kind],
    )
    row = cursor.fetchone()
    return worker_state_from(row) if row else None


def take_next_lease(
    cursor: Any,
    terms: Terms,
    holder: WorkerState,
    kind: str,
    holding: Collection[int],
    at: datetime,
    *,
    after: Sequence[database.Statement] = (),
) -> Lease | NoTask:
    """Call `take_lease` within a transaction that holds the worker's trust state, after sending the
    statements `after`."""
    expires = at + timedelta(minutes=terms.settings.lease.minutes)
    exhausted = False
    if holder.visitor:
        # The answer counts towards the worker's study limit.
        database.send_statements(cursor, after)
        after = ()
        exhausted = not visits.may_have_more(cursor, worker=holder.worker, campaign=terms.id)
    if not exhausted and database.in_one_trip() and _is_ordinary(terms, holder, kind, len(holding)):
        lease = dispatch.claim_and_lease(
            cursor,
            holder,
            kind,
            version=terms.version,
            after=after,
            holding=list(holding),
            at=at,
            expires=expires,
        )
        if lease is not None:
            return _lease(*lease, kind, expires, terms)
    else:
        database.send_statements(cursor, after)
    database.execute(
        cursor,
        f"""SELECT {_IN_HAND}, {CARRIED_SETTINGS_COLUMNS}
           FROM annotation_assignment a JOIN annotation_campaign c ON c.id = a.campaign_id
           WHERE a.worker_id = %s AND a.campaign_id = %s AND a.kind = %s AND a.state = 'leased'
           ORDER BY a.id""",
        [holder.worker, terms.id, kind],
    )
    held = [database.split_row(row, _InHand, CarriedSettings) for row in cursor.fetchall()]
    for in_hand, carried in held:
        if in_hand.id not in holding:
            return _held(cursor, terms, kind, in_hand, carried, at)
    if exhausted:
        return visits.no_task_beyond_visit()
    refusal = dispatch.why_closed(terms) or why_no_lease(holder, terms)
    if refusal is not None:
        return _test(cursor, terms, holder, kind, refusal, holding, at)
    request = _Request(terms, holder, kind, at, expires)
    if len(held) >= terms.settings.lease.in_hand:
        return NoTask(
            "in_hand", _("You already have this task open, perhaps in another tab: answer it first.")
        )
    if holder.is_model:
        return NoTask(
            "model_annotator", "A model annotator takes the questions that it has answers to, one by one."
        )
    ahead = dispatch.why_drawer_waits(cursor, holder, terms_trust_rules(terms, kind), at)
    if ahead is not None:
        return ahead
    if check_first.may_hold(terms.settings, kind):
        first = check_first.why_check_first(cursor, holder.worker, kind, {terms.id: terms.settings}, at)
        if first:
            return first[terms.id]
    known = 0
    if is_page(kind):
        known = relevance_pages.control_images_due(
            terms.settings, seed=terms.seed, holder=holder, held=len(held)
        )
        control = _known_page(cursor, request, known)
    else:
        control = _control(cursor, request, holder.trust.items + len(held) + 1)
    if control is not None:
        return control
    claim = dispatch.claim(cursor, holder, kind)
    if claim is None:
        revived = dispatch.claim_again(cursor, holder, kind)
        if revived is None:
            return dispatch.why_none(cursor, holder, kind, at)
        assignment, claim = revived
        cursor.execute(
            """UPDATE annotation_assignment SET state = 'leased', role = %s, settings_version = %s,
                   leased_at = %s, expires_at = %s, ended_at = NULL WHERE id = %s""",
            [claim.role, terms.version, database.sql_time(at), database.sql_time(expires), assignment],
        )
    else:
        assignment = _insert(cursor, request, claim.role, task=claim.task)
        if known:
            relevance_pages.enclose_control_images(
                terms.settings,
                seed=terms.seed,
                holder=holder,
                revision=terms.revision,
                assignment=assignment,
                task=claim.task,
                count=known,
            )
    return _with_content(_lease(assignment, claim, kind, expires, terms), terms)


def _with_content(lease: Lease, terms: Terms) -> Lease:
    """Return the lease with what its worker sees, where that is not the content of its first item."""
    if not is_page(lease.kind):
        return lease
    page = relevance_pages.blocks(lease.id, seed=terms.seed, settings=terms.settings)
    # A page's own image may be one that is asked about, which the worker must not learn.
    return replace(lease, image=page[0].image, content=relevance_pages.page_content(page))


def _known_page(cursor: Any, request: _Request, known: int) -> Lease | None:
    """Lease a page of control images only, if the worker's next is to be one and enough are new to them.

    It replaces the task that would have come, and resembles it; without a task there is no such page.
    """
    terms, holder, kind = request.terms, request.holder, request.kind
    if known < terms.settings.page.images:
        return None
    instead_of = dispatch.next_task(cursor, holder, kind)
    if instead_of is None:
        return None
    chosen = relevance_pages.control_images_only(
        terms.settings, seed=terms.seed, holder=holder, revision=terms.revision, instead_of=instead_of.id
    )
    if not chosen:
        return None
    first = chosen[0].control
    assignment = _insert(cursor, request, _ROLE_CONTROL, control=first)
    relevance_pages.store_control_images(assignment, chosen)
    return _with_content(
        _known_lease(assignment, kind, _ROLE_CONTROL, first, request.expires, terms.version), terms
    )


def _is_ordinary(terms: Terms, holder: WorkerState, kind: str, held: int) -> bool:
    """Whether a worker who holds `held` of the kind should get an ordinary task, or nothing."""
    return (
        held < terms.settings.lease.in_hand
        and not is_page(kind)
        and not check_first.may_hold(terms.settings, kind)
        and not holder.is_model
        and dispatch.why_closed(terms) is None
        and why_no_lease(holder, terms) is None
        and not trust.is_drawer_watched(holder.trust, terms_trust_rules(terms, kind))
        and not _control_due(terms, holder, kind, holder.trust.items + held + 1)
    )


def _lease(assignment: int, claim: dispatch.Claim, kind: str, expires: datetime, terms: Terms) -> Lease:
    content = json.loads(claim.content)
    return Lease(
        assignment,
        kind,
        claim.role,
        claim.image,
        content,
        claim.key,
        expires,
        claim.task,
        None,
        terms.version,
    )


def _known_lease(
    assignment: int, kind: str, role: str, control: int, expires: datetime, version: int
) -> Lease:
    """Return a lease of a control item."""
    content = controls.displayed_control(control)
    return Lease(
        assignment, kind, role, content.image, content.content, content.key, expires, None, control, version
    )


def _insert(
    cursor: Any,
    request: _Request,
    role: str,
    *,
    task: int | None = None,
    control: int | None = None,
    attempt: int = 0,
) -> int:
    """Insert the requested lease; return the assignment's id."""
    terms, holder, kind, at, expires = request
    database.execute(
        cursor,
        """INSERT INTO annotation_assignment
               (campaign_id, worker_id, kind, task_id, control_id, attempt, role, settings_version, state,
                leased_at, expires_at, ended_at, token, seconds, pay, "right")
           VALUES (%s, %s, %s, %s, %s, %s, %s, %s, 'leased', %s, %s, NULL, '', 0, 0, NULL) RETURNING id""",
        [
            *[terms.id, holder.worker, kind, task, control, attempt, role, terms.version],
            *[database.sql_time(at), database.sql_time(expires)],
        ],
    )
    (assignment,) = cursor.fetchone()
    return int(assignment)


def _held(
    cursor: Any, terms: Terms, kind: str, held: _InHand, carried: CarriedSettings, at: datetime
) -> Lease:
    """Return a lease that the worker still holds, renewed if it expired and nobody has ended it."""
    assignment, role, task, control, expires_at = held
    expires, terms = database.time_from_sql(expires_at), terms_of_lease(terms, carried)
    if expires <= at:
        expires = at + timedelta(minutes=terms.settings.lease.minutes)
        cursor.execute(
            "UPDATE annotation_assignment SET expires_at = %s WHERE id = %s",
            [database.sql_time(expires), assignment],
        )
    if control is not None:
        return _with_content(_known_lease(assignment, kind, role, control, expires, carried.version), terms)
    cursor.execute(
        """SELECT o.image_id, i.content, t.key FROM annotation_task t
           JOIN annotation_item i ON i.task_id = t.id AND i.position = 0
           JOIN annotation_openimage o ON o.id = t.image_id WHERE t.id = %s""",
        [task],
    )
    image, content, key = cursor.fetchone()
    lease = Lease(
        assignment, kind, role, image, json.loads(content), key, expires, task, None, carried.version
    )
    return _with_content(lease, terms)


def ended_lease(*, worker: int, assignment: int) -> Lease | None:
    """Return what this worker held and has answered, as it was displayed; None if there is no such thing.

    Nothing is leased again.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT {_IN_HAND}, a.kind, {TERMS_COLUMNS}, {CARRIED_SETTINGS_COLUMNS}
               FROM annotation_assignment a JOIN annotation_campaign c ON c.id = a.campaign_id
               WHERE a.id = %s AND a.worker_id = %s AND a.state = 'submitted'""",
            [assignment, worker],
        )
        row = cursor.fetchone()
        if row is None:
            return None
        held, (kind,), terms, carried = database.split_row(row, _InHand, _Kind, Terms, CarriedSettings)
        # An ended lease is not renewed.
        at = database.time_from_sql(held.expires_at) - timedelta(seconds=1)
        return _held(cursor, terms_from(terms), kind, held, carried, at)


def _test(
    cursor: Any,
    terms: Terms,
    holder: WorkerState,
    kind: str,
    refusal: NoTask,
    holding: Collection[int],
    at: datetime,
) -> Lease | NoTask:
    """Return the next item of the qualification test in progress, if only that test keeps the worker out."""
    if refusal.code not in qualification.NEED_A_TEST:
        return refusal
    row = TrustStateRow.objects.get(pk=holder.id)
    assignment = qualification.lease_test_item(
        row, settings=terms.settings, version=terms.version, holding=holding, at=at
    )
    if assignment is not None:
        planned = Assignment.objects.get(pk=assignment)
        held = _InHand(planned.pk, planned.role, planned.task_id, planned.control_id, planned.expires_at)
        return _held(cursor, terms, kind, held, CarriedSettings(planned.settings_version, None), at)
    if qualification.test_under_way(row) is None:
        campaign = Campaign.objects.get(pk=terms.id)
        obstacle = qualification.test_obstacle(row, campaign=campaign, settings=terms.settings)
        if obstacle is not None:
            return NoTask(obstacle.code, obstacle.text)
    return refusal


def _control(cursor: Any, request: _Request, number: int) -> Lease | None:
    """Lease a control item, if the worker's next is to be one and there is one that they have not met.

    It replaces the task that would have come, and resembles it; without a task there is no control item.
    """
    terms, holder, kind = request.terms, request.holder, request.kind
    if not _control_due(terms, holder, kind, number):
        return None
    instead_of = dispatch.next_task(cursor, holder, kind)
    if instead_of is None:
        return None
    resemblance = controls.Resemblance(
        worker=holder.worker, campaign=terms.id, kind=kind, revision=terms.revision
    )
    chosen = choose_control(
        controls.control_pool(terms.id, kind, terms.revision),
        seed=terms.seed,
        worker=holder.pseudonym,
        kind=kind,
        seen=controls.controls_seen(worker=holder.worker, campaign=terms.id, kind=kind),
        measured=controls.control_counts(worker=holder.worker, campaign=terms.id, kind=kind),
        strange=resemblance.strangeness(image=instead_of.image, content=json.loads(instead_of.content)),
    ).control
    if chosen is None:
        return None
    control = int(chosen.id)
    assignment = _insert(cursor, request, _ROLE_CONTROL, control=control)
    return _known_lease(assignment, kind, _ROLE_CONTROL, control, request.expires, terms.version)


def _control_due(terms: Terms, holder: WorkerState, kind: str, number: int) -> bool:
    """Whether this worker's item `number` of the kind should be a control item, where there are any."""
    return controls.gold_coverage(terms.id, kind, terms.revision).accuracy and is_control_due(
        terms.settings.trust,
        seed=terms.seed,
        worker=holder.pseudonym,
        kind=kind,
        state=holder.trust.state,
        number=number,
    )
