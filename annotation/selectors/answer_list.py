"""Answers of a campaign for staff: filtered, the newest first, each with what was shown and its review."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated, Any, NamedTuple

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, OneOf, OperationContext, Pages, invalid
from annotation.models import AnswerReview, Assignment, Campaign, CaptionFlag, Control, Judgment, OpenImage
from annotation.protocol import questions as q
from annotation.selectors.answers import answer_details
from annotation.selectors.caption_flags import FLAG_LABELS
from annotation.selectors.corpora import CampaignRequest
from annotation.selectors.shown_questions import shown_with
from annotation.selectors.workers.choosing import Pseudonym, QuestionKind, check_kind, worker_id
from annotation.task_types.displayed import DisplayedImage

#: Number of answers on a page.
ANSWERS_PER_PAGE = 30
#: Conditions of the states of an answer, by name.
_STATES: Mapping[str, tuple[Any, Q]] = {
    "undecided": (_("not reviewed"), Q(review__isnull=True, image__isnull=False)),
    "accepted": (_("accepted"), Q(review__decision=AnswerReview.ACCEPTED)),
    "corrected": (_("corrected"), Q(review__decision=AnswerReview.ACCEPTED) & ~Q(review__text="")),
    "rejected": (_("rejected"), Q(review__decision=AnswerReview.REJECTED)),
    "withdrawn": (_("withdrawn"), Q(withdrawn=True)),
    "reported": (_("reported instead"), ~Q(flag="")),
}
_ROLES = {
    q.VOTE: _("of the work"),
    q.CONTROL: _("to control items"),
    Control.QUALIFICATION: _("of the test"),
    q.DOUBLE_CHECK: _("second opinions"),
    q.EXTRA: _("late ones"),
}
AnswerState = Annotated[str, OneOf(lambda: {name: title for name, (title, _q) in _STATES.items()}, _("any"))]
_ANY_FLAG = "any"
_FLAGS = {_ANY_FLAG: _("any flag"), **{str(reason): label for reason, label in FLAG_LABELS.items()}}
CaptionFlagName = Annotated[str, OneOf(lambda: _FLAGS, _("flagged or not"))]
AnswerRole = Annotated[str, OneOf(lambda: _ROLES, _("all"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersRequest(CampaignRequest):
    """Answers of a campaign, the newest first, with reviewers' decisions."""

    worker: Annotated[Pseudonym | None, Help(_("Worker"), _("A pseudonym"))] = None
    image: Annotated[
        Annotated[str, Field(max_length=200)] | None, Help(_("Image"), _("Its key in the corpus"))
    ] = None
    kind: Annotated[QuestionKind | None, Help(_("Kind of question"))] = None
    role: Annotated[AnswerRole | None, Help(_("Answers"))] = None
    state: Annotated[AnswerState | None, Help(_("State"))] = None
    flagged: Annotated[CaptionFlagName | None, Help(_("Flags"), _("Of captions"))] = None
    since: Annotated[date | None, Help(_("From"), _("This day (UTC) and later"))] = None
    until: Annotated[date | None, Help(_("To"), _("This day (UTC) and earlier"))] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A reviewer's decision about an answer; `text` is a corrected caption, or empty. `unpaid`: it was
    rejected, and is not paid."""

    decision: str
    reason: str
    unpaid: bool
    text: str
    by: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFlag:
    """A flag of a caption: its value passed the threshold. `similar_to` is the number of the caption that it
    repeats or copies."""

    reason: str
    value: float
    threshold: float
    similar_to: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedAnswer:
    """An answer of a campaign. `right` is the grade of an answer to a control item; `details` are the fields
    of its kind, as in the export of answers; `flags` are those of a caption."""

    number: int
    kind: str
    image: str | None
    key: str
    worker: str
    role: str
    answer: str
    box: tuple[int, ...] | None
    flag: str
    comment: str
    details: dict[str, Any]
    withdrawn: bool
    right: bool | None
    seconds: float | None
    at: datetime
    flags: tuple[ListedFlag, ...]
    review: Review | None


class AnswerWithImage(NamedTuple):
    """An answer, and what was shown with it: its image and content (`shown_questions`)."""

    row: Judgment
    image: DisplayedImage | None
    content: Mapping[str, Any]


class AnswerPage(NamedTuple):
    """A page of answers; `after` is the number to continue after, None at the end."""

    rows: list[Judgment]
    after: int | None


def answer_page(
    request: AnswersRequest, campaign: Campaign, *, after: int | None = None, size: int = ANSWERS_PER_PAGE
) -> AnswerPage:
    """Return a page of the requested answers. Raises Invalid for unknown workers, images and kinds."""
    check_kind(request.kind, campaign)
    rows = Judgment.objects.filter(campaign=campaign)
    if request.worker:
        rows = rows.filter(worker=worker_id(request.worker, campaign))
    if request.image is not None:
        rows = rows.filter(_about(campaign, request.image))
    if request.kind:
        rows = rows.filter(kind=request.kind)
    if request.role:
        rows = rows.filter(role=request.role)
        if request.role in (q.CONTROL, Control.QUALIFICATION):
            rows = rows.filter(image=None)  # which all of them lack: the index needs it
    if request.state:
        rows = rows.filter(_STATES[request.state][1])
    if request.flagged:
        flags = CaptionFlag.objects.filter(campaign=campaign)
        if request.flagged != _ANY_FLAG:
            flags = flags.filter(reason=request.flagged)
        rows = rows.filter(pk__in=flags.values("judgment"))
    if request.since:
        rows = rows.filter(created_at__gte=_midnight(request.since))
    if request.until:
        rows = rows.filter(created_at__lt=_midnight(request.until) + timedelta(days=1))
    if after is not None:
        rows = rows.filter(pk__lt=after)
    # Numbers first: a worker's ten thousand answers are sorted by their index alone.
    numbers = list(rows.order_by("-pk").values_list("pk", flat=True)[: size + 1])
    page = _with_relations(Judgment.objects.filter(pk__in=numbers[:size])).order_by("-pk")
    return AnswerPage(list(page), numbers[size - 1] if len(numbers) > size else None)


def with_images(rows: Iterable[Judgment]) -> list[AnswerWithImage]:
    """Return answers with what was shown; three queries at most."""
    page = list(rows)
    contents, image_of, images = shown_with(page)
    return [
        AnswerWithImage(row, images.get(image_of.get(row.pk, 0)), contents.get(row.pk, {})) for row in page
    ]


def list_answers(request: AnswersRequest, context: OperationContext) -> Pages:
    """Return the requested answers, page by page."""
    campaign = request.row()

    def page(mark: Any, size: int) -> tuple[Iterable[ListedAnswer], Any]:
        answers = answer_page(request, campaign, after=mark, size=size)
        return map(_listed, answers.rows), answers.after

    return Pages(page)


def _about(campaign: Campaign, key: str) -> Q:
    """Return the condition of answers about an image: to its questions and control items. Raises Invalid."""
    image = campaign.corpus.images.filter(key=key).first() if "\0" not in key else None
    if image is None:
        raise invalid("image", "unknown", kind=_("image"), value=key)
    # Numbers, and not subqueries: the database then uses an index for each.
    opened = OpenImage.objects.filter(campaign=campaign, image=image).values_list("pk", flat=True)
    controls = Control.objects.filter(campaign=campaign, image=image)
    answers = Assignment.objects.filter(control__in=controls).values_list("pk", flat=True)
    return Q(image__in=list(opened)) | Q(assignment__in=list(answers))


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=timezone.get_default_timezone())


def _with_relations(rows: QuerySet[Judgment]) -> QuerySet[Judgment]:
    rows = rows.prefetch_related("caption_flags")
    return rows.select_related(
        *("worker", "image__image", "assignment__control__image", "report"),
        *("review__reviewed_by", "review__message"),
    )


def _listed(row: Judgment) -> ListedAnswer:
    control = row.assignment.control if row.assignment is not None else None
    image = row.image.image if row.image is not None else control.image if control is not None else None
    corners = (row.xmin, row.ymin, row.xmax, row.ymax)
    report, review = getattr(row, "report", None), getattr(row, "review", None)
    return ListedAnswer(
        number=row.pk,
        kind=row.kind,
        image=image.key if image is not None else None,
        key=row.key,
        worker=row.worker.pseudonym,
        role=row.role,
        answer=row.answer,
        box=tuple(edge for edge in corners if edge is not None) or None,
        flag=row.flag,
        comment=report.comment if report is not None else "",
        details=answer_details(row.kind, row.key, row.content or {}, known=True),
        withdrawn=row.withdrawn,
        right=row.assignment.right if row.assignment is not None else None,
        seconds=row.assignment.seconds if row.assignment is not None else None,
        at=row.created_at,
        flags=tuple(
            ListedFlag(
                reason=flag.reason,
                value=flag.value,
                threshold=flag.threshold,
                similar_to=flag.similar_to_id,
            )
            for flag in row.caption_flags.all()
        ),
        review=Review(
            decision=review.decision,
            reason=review.reason,
            unpaid=review.withheld > 0,
            text=review.text,
            by=review.reviewed_by.get_username() if review.reviewed_by is not None else None,
            at=review.reviewed_at,
        )
        if review is not None
        else None,
    )
