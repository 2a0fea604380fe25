"""A worker's own answer, looked at once more and changed, where nobody has built on it.

An answer may be changed while it is one of the last of its kind (`selectors.workers.recent_answers`) and no
other answer depends on it: the fold without it, and the fold with what it is changed to, leave every other
judgment of a person with the use it has (`ImageState.superseded` says which have none), and nobody has in
hand what would not be asked any more, nor has looked at a box that would be another. Then the judgment says
the new answer, and the image is computed again: the same layer comes out as if that had been answered at
once. The audit log keeps what was said before, under the worker's pseudonym alone.

Pay and the time worked stay. So does the grade of a control item: it tells how somebody answers who does not
know what they are asked. A control item may be changed where the question answered before it could be, so
that it gives nothing away (docs/trust.md).

Locks: the campaign, the image, task and assignment, then trust states by id.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection
from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.models import (
    Assignment,
    AuditEntry,
    Campaign,
    Control,
    Flag,
    Item,
    Judgment,
    OpenImage,
    Task,
    TrustState,
)
from annotation.moderation import control_items, trust_replay
from annotation.moderation.control_items.from_answers import PROMOTED_SOURCE
from annotation.protocol import questions as q
from annotation.protocol.contents import corners, question_content
from annotation.protocol.kinds import kind_of
from annotation.protocol.questions import Answer
from annotation.protocol.state import ImageState
from annotation.protocol.trust import SUSPENDED
from annotation.queue import answer_rows, image_state, lease_terms, task_rows
from annotation.queue.answer_rows import LEASED_ASSIGNMENT_COLUMNS, LeasedAssignment
from annotation.queue.image_state import Vote
from annotation.selectors.workers.recent_answers import recent_assignments, stored_answer


class CannotReopen(ValueError):
    """An answer that stands; one line that its worker reads."""


class _BuiltOn(CannotReopen):
    """Somebody's work depends on it."""

    def __init__(self) -> None:
        super().__init__(
            _("Others have already built on this answer, so that it cannot be changed any more.")
        )


@dataclass(frozen=True, slots=True)
class Reopened:
    """An answer that its worker may change: where it was given, and what it says."""

    campaign: Campaign
    kind: str
    answer: Answer


def reopen_answer(*, worker: int, assignment: int) -> Reopened:
    """The answer, where its worker may change it now; nothing is locked or written. Raises CannotReopen."""
    row = _changeable_assignment(worker, assignment)
    judgment = _judgment(row)
    _check_not_built_on(row, judgment)
    return Reopened(row.campaign, row.kind, stored_answer(judgment))


def change_answer(*, worker: int, assignment: int, answer: Answer, schema: int = 1) -> bool:
    """Let a stored answer say `answer` instead; False where it says that already.

    `schema` is the version of the answer's form. Raises CannotReopen, and BadJudgment where the question does
    not take the answer; then nothing is changed.
    """
    with database.writing():
        # Where it is, first: images are locked before what is asked about them.
        campaign, image = _campaign_and_image(worker, assignment)
        control_items.lock_campaigns([campaign])
        if image is not None:
            OpenImage.objects.select_for_update(no_key=True).get(pk=image)
            Task.objects.select_for_update(no_key=True).get(assignments=assignment)
        Assignment.objects.select_for_update(no_key=True).get(pk=assignment)
        row = _changeable_assignment(worker, assignment)
        judgment = _judgment(row)
        before = stored_answer(judgment)
        after = replace(answer, content=_stored_content(row, answer))
        if after == before:
            return False
        _check_not_built_on(row, judgment, after)
        _report(judgment, after)
        _store(judgment, after, schema)
        if image is not None:
            _update_contents(image, image_state.refold_image(image))
            task_rows.count_checks([image])
            control_items.retire_contradicted_items([image], because=AuditEntry.CHANGE_ANSWER)
            trust_replay.replay_rows(_drawers(row))
        # Nobody's account: a line that named both would say for ever who a pseudonym is.
        record(
            actor=None,
            act=AuditEntry.CHANGE_ANSWER,
            campaign=row.campaign,
            worker=row.worker.pseudonym,
            kind=row.kind,
            assignment=assignment,
            before=_answer_dict(before),
            after=_answer_dict(after),
        )
    return True


def _campaign_and_image(worker: int, assignment: int) -> tuple[int, int | None]:
    """The campaign of a worker's assignment and the open image that it is about, None for a control item."""
    rows = Assignment.objects.filter(pk=assignment, worker=worker).values_list("campaign", "task__image")
    place_of_answer = rows.first()
    if place_of_answer is None:
        raise CannotReopen(_("You have given no such answer."))
    return place_of_answer


def _changeable_assignment(worker: int, assignment: int) -> Assignment:
    """The worker's assignment, where its answer is one of the last and they are still at work."""
    rows = Assignment.objects.select_related("campaign", "worker", "task__image", "control")
    assignment_row = rows.filter(pk=assignment, worker=worker, worker__erased_at=None)
    row = assignment_row.filter(state=Assignment.SUBMITTED).first()
    if row is None:
        raise CannotReopen(_("You have given no such answer."))
    recent = recent_assignments(worker=worker, campaign=row.campaign_id, kind=row.kind)
    if row.pk not in set(recent.values_list("pk", flat=True)):
        raise CannotReopen(_("Only your last answers can be changed, and not those of a test."))
    if row.campaign.state != Campaign.OPEN:
        raise CannotReopen(_("This campaign is not open now, so that its answers stand."))
    trust = TrustState.objects.filter(campaign=row.campaign_id, worker=worker, kind=row.kind).first()
    if trust is None or trust.blocked or trust.withdrawn_at is not None:
        raise CannotReopen(_("A researcher has suspended you from this task, so that your answers stand."))
    if trust.state == SUSPENDED:
        raise CannotReopen(
            _(
                "Too few of your checked answers were right: this task is suspended for you, so that your "
                "answers stand."
            )
        )
    return row


def _judgment(row: Assignment) -> Judgment:
    judgment = Judgment.objects.select_related("report").filter(assignment=row).first()
    if judgment is None or judgment.withdrawn:
        raise CannotReopen(_("This answer does not count any more."))
    if judgment.flag and hasattr(judgment, "report") and judgment.report.resolved_at is not None:
        raise CannotReopen(_("Somebody has already handled this report."))
    return judgment


def _stored_content(row: Assignment, answer: Answer) -> dict[str, Any] | None:
    """What the answer's judgment is to keep beside its word. Raises BadJudgment where the question does not
    take the answer."""
    of, item = ("t", "annotation_task t ON t.id = a.task_id JOIN annotation_openimage o ON o.id = t.image_id")
    image = "o.image_id"
    if row.task_id is None:
        of, item, image = "k", "annotation_control k ON k.id = a.control_id", "k.image_id"
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT {LEASED_ASSIGNMENT_COLUMNS.format(of=of)}, {lease_terms.TERMS_COLUMNS},
                    {lease_terms.CARRIED_SETTINGS_COLUMNS}
                FROM annotation_assignment a JOIN {item}
                JOIN annotation_image im ON im.id = {image}
                JOIN annotation_campaign c ON c.id = a.campaign_id
                WHERE a.id = %s""",
            [row.pk],
        )
        held, terms, carried = database.split_row(
            cursor.fetchone(), LeasedAssignment, lease_terms.Terms, lease_terms.CarriedSettings
        )
    answer_rows.check_answer(held, answer)
    terms = lease_terms.terms_of_lease(lease_terms.terms_from(terms), carried)
    return answer_rows.answer_content(held, terms, answer).stored


def _check_not_built_on(row: Assignment, judgment: Judgment, after: Answer | None = None) -> None:
    """Raise _BuiltOn where somebody's work depends on the answer; on a control item's, where it does on the
    answer before it."""
    if row.task is None:
        recent = recent_assignments(worker=row.worker_id, campaign=row.campaign_id, kind=row.kind)
        near = [
            assignment_row
            for assignment_row in recent.select_related("campaign", "worker", "task__image")
            if assignment_row.task_id
        ]
        near.sort(
            key=lambda assignment_row: (
                (assignment_row.ended_at or assignment_row.leased_at) > (row.ended_at or row.leased_at)
            )
        )
        for like in near[:1]:
            stored = Judgment.objects.filter(assignment=like, withdrawn=False).first()
            if stored is not None:
                _check_not_built_on(like, stored)
        return
    image, key = row.task.image, judgment.key
    others = Judgment.objects.filter(image=image.pk, key=key, withdrawn=False).exclude(pk=judgment.pk)
    if others.filter(role=q.DOUBLE_CHECK).exists() or judgment.role == q.DOUBLE_CHECK:
        raise _BuiltOn
    promoted = Control.objects.filter(
        campaign=row.campaign_id, kind=row.kind, image=image.image_id, key=key, source=PROMOTED_SOURCE
    )
    if promoted.filter(active=True).exists():
        raise _BuiltOn
    if judgment.role != q.VOTE:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {image_state.OPEN_IMAGE_COLUMNS} FROM annotation_openimage o WHERE o.id = %s", [image.pk]
        )
        fold = image_state.fold_of(image_state.row_from(cursor.fetchone()))
        votes = image_state.votes_of(cursor, image.pk)
    state = fold(vote.judgment for vote in votes)
    changes = [_without(votes, judgment.name)]
    if after is not None:
        changes.append(_changed(votes, judgment.name, after))
    people = {vote.judgment.id for vote in votes if not vote.judgment.by_model}
    for changed in changes:
        _check_leaves_others(row, judgment.name, people, state, fold(changed))


def _without(votes: Sequence[Vote], name: str) -> list[q.Judgment]:
    return [vote.judgment for vote in votes if vote.judgment.id != name]


def _changed(votes: Sequence[Vote], name: str, after: Answer) -> list[q.Judgment]:
    return [
        replace(vote.judgment, answer=after.answer, box=after.box, flag=after.flag)
        if vote.judgment.id == name
        else vote.judgment
        for vote in votes
    ]


def _check_leaves_others(
    row: Assignment, name: str, people: Set[str], before: ImageState, after: ImageState
) -> None:
    """Raise _BuiltOn where a judgment of `people` (names of judgments) loses its use, or a question goes that
    somebody else has in hand. A box that a model annotator proposed meanwhile may lose its use.

    A question about a box keeps its key when the box is drawn again: the person who has looked at the box and
    given it back, or let it expire, might answer late, and of another box than they saw.
    """
    if (set(after.superseded) - set(before.superseded) - {name}) & people:
        raise _BuiltOn
    assert row.task is not None
    keys = {question.key for question in after.questions}
    gone = {
        question.key: question.pending is not None
        for question in before.questions
        if question.key not in keys
    }
    others = Assignment.objects.filter(task__image=row.task.image_id, task__key__in=gone)
    others = others.exclude(worker=row.worker_id)
    in_hand = others.filter(state=Assignment.LEASED)
    looked_at = others.filter(task__key__in=[key for key, of_box in gone.items() if of_box])
    if gone and (in_hand.exists() or looked_at.exists()):
        raise _BuiltOn


def _update_contents(image: int, state: ImageState) -> None:
    """Let questions show what they ask about now: one about a box that was drawn again keeps its key."""
    for question in state.questions:
        if question.pending is not None:
            items = Item.objects.filter(task__image=image, task__key=question.key, position=0)
            items.update(content=question_content(question))


def _report(judgment: Judgment, after: Answer) -> None:
    """What a reviewer finds: the report that the answer is now, or none."""
    if judgment.flag:
        Flag.objects.filter(judgment=judgment).delete()
    if after.flag:
        Flag.objects.create(judgment=judgment, comment=after.comment)


def _store(judgment: Judgment, after: Answer, schema: int) -> None:
    edges: Iterable[int | None] = corners(after.box) if after.box else [None] * 4
    judgment.answer, judgment.flag, judgment.way = after.answer, after.flag, after.way
    judgment.xmin, judgment.ymin, judgment.xmax, judgment.ymax = edges
    judgment.content, judgment.schema = after.content, schema
    judgment.save(
        update_fields=["answer", "flag", "way", "xmin", "ymin", "xmax", "ymax", "content", "schema"]
    )


def _drawers(row: Assignment) -> list[int]:
    """The trust states (ids) of the worker who drew what the answer judges."""
    judged = kind_of(row.kind).judges
    if not judged or row.task is None or row.task.barred_id is None:
        return []
    rows = TrustState.objects.filter(campaign=row.campaign_id, worker=row.task.barred_id, kind=judged)
    return list(rows.values_list("pk", flat=True))


def _answer_dict(answer: Answer) -> dict[str, object]:
    """An answer as the audit log keeps it: without what its worker may have deleted, which is their words."""
    content: dict[str, object] = {"answer": answer.answer or answer.flag}
    if answer.box:
        content["box"] = corners(answer.box)
    return content
