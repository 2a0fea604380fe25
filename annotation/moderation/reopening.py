"""Workers review and change their own answers.

Whether an answer may be changed depends only on its worker's later answers and the clock, equally for control
items and all others (`selectors.workers.recent_answers`). Later answers of others may depend on it. The
judgment is replaced, and the image is computed again, as after a withdrawal: it becomes what it would be if
the new answer had been given at once. Others' answers stay stored and paid; the audit log has how many of
them are `superseded` by the change, and the old answer, only under the worker's pseudonym.

Pay and working time stay, and what a decision about the old answer withheld is due again. The grade of a
control item and the verdicts on a box stay too: they measure how somebody answers without knowing that it is
checked, and what others said about what they were shown.

Locks: the campaign, the image, task and assignment, then trust states by id.
"""

from collections.abc import Iterable
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
    Flag,
    Judgment,
    OpenImage,
    Task,
    TrustState,
    Worker,
)
from annotation.moderation import control_items, recomputing, trust_replay
from annotation.moderation.answer_reviews import delete_reviews
from annotation.protocol.contents import corners
from annotation.protocol.kinds import kind_of
from annotation.protocol.questions import Answer
from annotation.protocol.state import ImageState
from annotation.protocol.trust import SUSPENDED
from annotation.queue import answer_rows, image_state, lease_terms, task_rows
from annotation.queue.answer_rows import LEASED_ASSIGNMENT_COLUMNS, LeasedAssignment
from annotation.selectors.workers.recent_answers import recent_assignments, stored_answer


class CannotReopen(ValueError):
    """An answer that cannot be changed; one line for its worker."""


@dataclass(frozen=True, slots=True)
class Reopened:
    """An answer that its worker may change: its assignment and its content."""

    campaign: Campaign
    kind: str
    answer: Answer


def reopen_answer(*, worker: int, assignment: int) -> Reopened:
    """Return the answer if its worker may change it now; locks and writes nothing. Raises CannotReopen."""
    row = _changeable_assignment(worker, assignment)
    return Reopened(row.campaign, row.kind, stored_answer(_judgment(row)))


def change_answer(*, worker: int, assignment: int, answer: Answer, schema: int = 1) -> bool:
    """Replace a stored answer by `answer`; return False if it is the same.

    `schema` is the version of the answer's form. Raises CannotReopen, and BadJudgment if the answer is
    invalid for the question; then nothing is changed.
    """
    with database.writing():
        # Determine it first: images are locked before their questions.
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
        _report(judgment, after)
        superseded = 0
        state = image_state.state_of(row.task.image) if row.task is not None else None
        _store(judgment, after, schema)
        # A decision about the old answer is none about the new one.
        delete_reviews(row.campaign, [judgment])
        recomputing.released(Judgment.objects.filter(pk=judgment.pk)).update(withdrawn=False)
        if image is not None and state is not None:
            superseded = _superseded(image, worker, state, image_state.refold_image(image))
            task_rows.count_checks([image])
            control_items.retire_contradicted_items([image], because=AuditEntry.CHANGE_ANSWER)
            trust_replay.replay_rows(_drawers(row))
        # Without an account: a line with both would reveal the person behind the pseudonym forever.
        record(
            actor=None,
            act=AuditEntry.CHANGE_ANSWER,
            campaign=row.campaign,
            worker=row.worker.pseudonym,
            kind=row.kind,
            assignment=assignment,
            before=_answer_dict(before),
            after=_answer_dict(after),
            **({"superseded": superseded} if superseded else {}),
        )
    return True


def _campaign_and_image(worker: int, assignment: int) -> tuple[int, int | None]:
    """Return the campaign of a worker's assignment and its open image, None for a control item."""
    rows = Assignment.objects.filter(pk=assignment, worker=worker).values_list("campaign", "task__image")
    place_of_answer = rows.first()
    if place_of_answer is None:
        raise CannotReopen(_("You have given no such answer."))
    return place_of_answer


def _changeable_assignment(worker: int, assignment: int) -> Assignment:
    """Return the worker's assignment, if its answer is one of the latest and they may still work."""
    rows = Assignment.objects.select_related("campaign", "worker", "task__image", "control")
    assignment_row = rows.filter(pk=assignment, worker=worker, worker__erased_at=None)
    row = assignment_row.filter(state=Assignment.SUBMITTED).first()
    if row is None:
        raise CannotReopen(_("You have given no such answer."))
    recent = recent_assignments(worker=worker, campaign=row.campaign_id, kind=row.kind)
    if row.pk not in set(recent.values_list("pk", flat=True)):
        raise CannotReopen(
            _("You can change your last five answers for ten minutes each, and none of a test.")
        )
    if row.campaign.state != Campaign.OPEN:
        raise CannotReopen(_("This campaign is not open now, so that its answers stand."))
    trust = TrustState.objects.filter(campaign=row.campaign_id, worker=worker, kind=row.kind).first()
    if trust is None or trust.is_out:
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
    return Judgment.objects.select_related("report").get(assignment=row)


def _stored_content(row: Assignment, answer: Answer) -> dict[str, Any] | None:
    """Return the content of the answer's judgment besides its word. Raises BadJudgment if the answer is
    invalid for the question."""
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


def _superseded(image: int, worker: int, before: ImageState, after: ImageState) -> int:
    """Return how many answers of other people became superseded, less those that are in use again."""
    was, now = set(before.superseded), set(after.superseded)
    others = Judgment.objects.filter(image=image, worker__kind=Worker.PERSON).exclude(worker=worker)
    return others.filter(name__in=now - was).count() - others.filter(name__in=was - now).count()


def _report(judgment: Judgment, after: Answer) -> None:
    """Update the report for reviewers: that of the new answer, or none."""
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
    """Return the trust states (ids) of the worker who drew the box that the answer judges."""
    judged = kind_of(row.kind).judges
    if not judged or row.task is None or row.task.barred_id is None:
        return []
    rows = TrustState.objects.filter(campaign=row.campaign_id, worker=row.task.barred_id, kind=judged)
    return list(rows.values_list("pk", flat=True))


def _answer_dict(answer: Answer) -> dict[str, object]:
    """Return an answer for the audit log, without the worker's own words, which they may have deleted."""
    content: dict[str, object] = {"answer": answer.answer or answer.flag}
    if answer.box:
        content["box"] = corners(answer.box)
    return content
