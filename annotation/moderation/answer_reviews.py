"""Reviewers accept, correct and reject answers.

A rejected answer is withdrawn: its image is computed again, so that the question opens for somebody else. It
stays stored, and paid unless a researcher decides otherwise; its worker gets the reason as a message. Taking
the decision back lets the answer count again, unless it is withdrawn for another reason (`recomputing`), and
pays for it.

Locks: the campaign, image by image; each image's decisions are one transaction. Repeating a request finishes
an interrupted one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import FieldError, Forbidden, Help, Invalid, OneOf, OperationContext
from annotation.common.roles import RESEARCHER
from annotation.models import (
    Account,
    AnswerReview,
    Assignment,
    Campaign,
    Control,
    Judgment,
    Worker,
    WorkerMessage,
)
from annotation.moderation import recomputing
from annotation.moderation.control_items import lock_campaigns, names_of_items
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.kinds import kind_of
from annotation.quality.controls import retire_control_items
from annotation.quality.controls.authoring import raise_revision
from annotation.selectors.campaign.cost import bonuses, money, paid
from annotation.selectors.campaign.sums import earned
from annotation.selectors.corpora import CampaignRequest
from annotation.selectors.workers.choosing import RowNumber
from annotation.task_types.base import TASK_TYPES, BadAnswer
from phrasebox.errors import PhraseboxError

#: A decision that takes an earlier one back.
UNDECIDED = "undecided"
#: Maximum number of answers in one request.
MOST_ANSWERS = 200
_LONGEST_REASON = 200
_DECISIONS = {
    AnswerReview.ACCEPTED: gettext_lazy("accept"),
    AnswerReview.REJECTED: gettext_lazy("reject"),
    UNDECIDED: gettext_lazy("take the decision back"),
}
Decision = Annotated[str, OneOf(lambda: _DECISIONS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewAnswersRequest(CampaignRequest):
    """Rejected answers no longer count: their questions are asked again, and their workers read the reason.
    They stay stored, and may be accepted later. Answers to control items cannot be reviewed: retire a wrong
    item instead."""

    answers: Annotated[
        tuple[RowNumber, ...],
        Field(min_length=1, max_length=MOST_ANSWERS),
        Help(gettext_lazy("Answers"), gettext_lazy("Their numbers")),
    ]
    decision: Annotated[Decision, Help(gettext_lazy("Decision"))]
    reason: Annotated[
        str,
        Field(max_length=_LONGEST_REASON),
        Help(gettext_lazy("Reason"), gettext_lazy("For rejected answers; the worker sees it")),
    ] = ""
    unpaid: Annotated[
        bool,
        Help(
            gettext_lazy("Do not pay for them"),
            gettext_lazy(
                "Rejected answers are paid unless a researcher decides otherwise; the worker sees it"
            ),
        ),
    ] = False
    text: Annotated[
        str,
        Field(max_length=2_000),
        Help(
            gettext_lazy("Corrected caption"),
            gettext_lazy("For one accepted caption; the original stays stored"),
        ),
    ] = ""

    def problems(self) -> Iterator[FieldError]:
        """Yield an error if the fields do not fit the decision."""
        rejects = self.decision == AnswerReview.REJECTED
        if rejects and not self.reason.strip():
            yield FieldError("reason", "missing")
        if self.reason.strip() and not rejects:
            yield FieldError("reason", "only_with", {"other": f"decision={AnswerReview.REJECTED}"})
        if self.unpaid and not rejects:
            yield FieldError("unpaid", "only_with", {"other": f"decision={AnswerReview.REJECTED}"})
        if self.text.strip() and self.decision != AnswerReview.ACCEPTED:
            yield FieldError("text", "only_with", {"other": f"decision={AnswerReview.ACCEPTED}"})
        if self.text.strip() and len(self.answers) > 1:
            yield FieldError("answers", "too_long", {"max_length": 1})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedAnswers:
    """The number of answers with this decision, of those that are not paid, of images that were computed
    again, of workers who get a message, of drawers whose status changed, and the control items that were
    retired."""

    answers: int
    unpaid: int
    images: int
    messages: int
    drawers: int
    retired: tuple[str, ...]


def review_answers(request: ReviewAnswersRequest, context: OperationContext) -> ReviewedAnswers:
    """Store the decision about each answer. Raises Invalid for unknown answers and those to control items,
    Forbidden if a reviewer withholds pay, and PhraseboxError for an invalid caption, and for pay that was
    paid out."""
    campaign = request.row()
    judgments = _judgments(campaign, request.answers)
    if request.unpaid:
        if context.actor is not None and not context.actor.has_role(RESEARCHER, on=campaign.scope):
            raise Forbidden(RESEARCHER)
        _check_not_paid_out(campaign, judgments.values())
    text = request.text.strip()
    if text:
        text = _corrected(campaign, judgments[request.answers[0]], text)
    by_image: defaultdict[int, list[int]] = defaultdict(list)
    for pk, judgment in judgments.items():
        assert judgment.image_id is not None
        by_image[judgment.image_id].append(pk)
    rows = Judgment.objects.filter(pk__in=judgments)
    messages = _Messages(campaign, request.reason.strip(), context.actor)
    images, retired = 0, []
    for image, answers in by_image.items():
        with database.writing():
            lock_campaigns([campaign.pk])
            if request.unpaid:  # again: a payment takes the same lock
                _check_not_paid_out(campaign, [judgments[pk] for pk in answers])
            recomputing.lock_image(image)
            _decide(request, campaign, [judgments[pk] for pk in answers], text, messages)
            of_image = Judgment.objects.filter(pk__in=answers)
            rejects = request.decision == AnswerReview.REJECTED
            changing = of_image.filter(withdrawn=False) if rejects else recomputing.released(of_image)
            if changing.update(withdrawn=rejects):
                images += 1
                retired += recomputing.recompute_image(image, actor=context.actor)
            record(
                actor=context.actor,
                act="review_answers",
                campaign=campaign,
                decision=request.decision,
                answers=sorted(judgments[pk].name for pk in answers),
                **({"unpaid": True} if request.unpaid else {}),
            )
    drawers = 0
    if images:
        if request.decision == AnswerReview.REJECTED:
            controls = recomputing.promoted_with(campaign, rows, campaign.kinds)
            retired += Control.objects.filter(pk__in=controls).select_related("image").order_by("pk")
            retire_control_items(campaign=campaign, controls=controls, actor=context.actor)
        raise_revision(campaign)
        drawers = recomputing.recompute_drawers(campaign, rows)
    return ReviewedAnswers(
        answers=len(judgments),
        unpaid=AnswerReview.objects.filter(judgment__in=judgments, withheld__gt=0).count(),
        images=images,
        messages=len(messages.by_worker),
        drawers=drawers,
        retired=tuple(map(str, names_of_items(retired))),
    )


def _judgments(campaign: Campaign, answers: Sequence[int]) -> Mapping[int, Judgment]:
    rows = Judgment.objects.filter(campaign=campaign, image__isnull=False).select_related("worker")
    judgments = rows.in_bulk(answers)
    unknown = [(number, pk) for number, pk in enumerate(answers) if pk not in judgments]
    if unknown:
        kind = _("answer to a question of the campaign")
        raise Invalid(
            *(
                FieldError(f"answers.{number}", "unknown", {"kind": kind, "value": pk})
                for number, pk in unknown
            )
        )
    return judgments


def _corrected(campaign: Campaign, judgment: Judgment, text: str) -> str:
    """Return a corrected caption in the form in which workers' are stored. Raises PhraseboxError."""
    if judgment.flag or not kind_of(judgment.kind).writes_captions:
        raise PhraseboxError(_("Only captions can be corrected; accept or reject this answer."))
    data, numbers = {"answer": judgment.answer, "text": text}, settings_of(campaign.settings).answers
    try:
        answer = TASK_TYPES.get(judgment.kind).parse_for(data, numbers.number)
    except BadAnswer as error:
        raise PhraseboxError(str(error)) from None
    return str((answer.content or {})["text"])


def delete_reviews(campaign: Campaign, judgments: Sequence[Judgment]) -> None:
    """Delete the decisions about answers; what they withheld is due again."""
    reviews = AnswerReview.objects.filter(judgment__in=judgments)
    withheld = reviews.filter(withheld__gt=0).values_list("judgment__assignment", "withheld")
    _set_pay(campaign, dict(withheld))
    reviews.delete()


def _set_pay(campaign: Campaign, pay: Mapping[int, int]) -> None:
    """Set the pay of submitted assignments, in millionths."""
    for assignment, amount in pay.items():
        Assignment.objects.filter(pk=assignment).update(pay=amount)
    if pay:
        raise_revision(campaign)


def _check_not_paid_out(campaign: Campaign, judgments: Iterable[Judgment]) -> None:
    """Raise PhraseboxError if the pay of answers was paid to their worker."""
    of_worker: defaultdict[Worker, list[int]] = defaultdict(list)
    for judgment in judgments:
        of_worker[judgment.worker].append(judgment.assignment_id or 0)
    for worker, assignments in of_worker.items():
        withheld = sum(Assignment.objects.filter(pk__in=assignments).values_list("pay", flat=True))
        due = sum(line.pay for line in earned(campaign, worker=worker.pk))
        due += sum(bonuses(campaign, worker=worker.pk).values())
        due -= sum(paid(campaign, worker=worker.pk).values())
        if withheld > max(0, due):
            currency = settings_of(campaign.settings).pay.currency
            raise PhraseboxError(
                _(
                    "These answers of worker “%(name)s” earned %(amount)s, and only %(due)s is due: the rest "
                    "was paid. Reject them with pay, or void the payment if it was not made."
                )
                % {
                    "name": worker.pseudonym,
                    "amount": money(withheld, currency),
                    "due": money(max(0, due), currency),
                }
            )


def _decide(
    request: ReviewAnswersRequest,
    campaign: Campaign,
    judgments: Sequence[Judgment],
    text: str,
    messages: "_Messages",
) -> None:
    """Store a decision about answers of one image, in place of an earlier one."""
    delete_reviews(campaign, judgments)
    if request.decision == UNDECIDED:
        return
    rejects = request.decision == AnswerReview.REJECTED
    withheld: dict[int, int] = {}
    if request.unpaid:
        assignments = Assignment.objects.filter(judgments__in=judgments, pay__gt=0)
        withheld = dict(assignments.values_list("pk", "pay"))
        _set_pay(campaign, dict.fromkeys(withheld, 0))
    AnswerReview.objects.bulk_create(
        AnswerReview(
            judgment=judgment,
            decision=request.decision,
            reason=messages.text if rejects else "",
            text=text,
            withheld=withheld.get(judgment.assignment_id or 0, 0),
            reviewed_by=messages.actor,
            reviewed_at=database.now(),
            message=messages.message_to(judgment.worker) if rejects else None,
        )
        for judgment in judgments
    )


class _Messages:
    """One message with the reason to each worker whose answers are rejected."""

    def __init__(self, campaign: Campaign, text: str, actor: Account | None) -> None:
        self.campaign, self.text, self.actor = campaign, text, actor
        self.by_worker: dict[int, WorkerMessage] = {}

    def message_to(self, worker: Worker) -> WorkerMessage | None:
        """Return the message to a worker; None for one who cannot read it."""
        if worker.kind != Worker.PERSON or worker.erased_at is not None:
            return None
        if worker.pk not in self.by_worker:
            self.by_worker[worker.pk] = WorkerMessage.objects.create(
                campaign=self.campaign, worker=worker, text=self.text, sent_by=self.actor
            )
        return self.by_worker[worker.pk]
