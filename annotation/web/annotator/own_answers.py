"""A worker's latest answers, and the way to change them."""

from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.common import database
from annotation.common.roles import ANNOTATOR
from annotation.moderation.reopening import CannotReopen, change_answer, reopen_answer
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.kinds import kind_of
from annotation.protocol.questions import Answer, BadJudgment
from annotation.queue.leases import Lease, ended_lease
from annotation.selectors.workers.recent_answers import RecentAnswer, recent_answers
from annotation.task_types.base import BadAnswer, TaskType
from annotation.task_types.displayed import DisplayedImage, displayed_image, displayed_images
from annotation.web.annotator.task_page import (
    InvalidForm,
    TaskPage,
    WorkSoFar,
    build_task_page,
    parts_of_task,
)
from annotation.web.annotator.task_texts import text_of
from annotation.web.annotator.work_context import SeeOther, WorkContext, work_of_request
from annotation.web.common.access import for_roles
from annotation.web.common.marking import CaptionPiece, caption_pieces


@dataclass(frozen=True, slots=True)
class RecentAnswerLine:
    """A line of the list: its assignment, the picture, the question's phrases, the answer in words, the
    time."""

    assignment: int
    image: DisplayedImage
    phrases: list[CaptionPiece]
    answer: Any
    at: datetime


@require_safe
@never_cache
@for_roles(ANNOTATOR)
def answer_list(request: HttpRequest, name: str, kind: str) -> HttpResponse:
    """List the session's latest answers, each with a link to change it."""
    work = work_of_request(request, name, kind)
    answers = recent_answers(worker=work.worker.pk, campaign=work.campaign.pk, kind=kind)
    images = displayed_images({answer.image for answer in answers})
    lines = [_line(work.type, answer, images[answer.image]) for answer in answers]
    about = {"work": work, "lines": lines, "owner": work.worker.pk}
    return render(request, "annotation/tasks/answers.html", about)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_roles(ANNOTATOR)
def answer_again(request: HttpRequest, name: str, kind: str, assignment: int) -> HttpResponse:
    """Show an answered question with the answer; POST changes it.

    If it cannot change, redirect to the list, with the reason.
    """
    work = work_of_request(request, name, kind)
    back = SeeOther(reverse("task_answers", args=[name, kind]))
    error: ValueError | None = None
    try:
        reopened = reopen_answer(worker=work.worker.pk, assignment=min(assignment, database.LARGEST_ID))
        if (reopened.campaign.pk, reopened.kind) != (work.campaign.pk, kind):
            raise CannotReopen(_("You have given no such answer."))
        if request.method == "POST":
            changed = change_answer(
                worker=work.worker.pk,
                assignment=assignment,
                answer=work.type.parse(work.type.from_form(request.POST.dict())),
                schema=work.type.schema_version,
            )
            message = _("Your answer is changed.") if changed else _("Your answer stays as it was.")
            messages.info(request, message)
            return back
    except CannotReopen as refusal:
        messages.warning(request, str(refusal))
        return back
    except (BadAnswer, BadJudgment) as not_reopened:
        error = not_reopened
    lease = ended_lease(worker=work.worker.pk, assignment=assignment)
    assert lease is not None
    task_page = _task_page(work, lease, reopened.answer, request, error)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK
    about = {
        "work": work,
        "task": task_page,
        "parts": parts_of_task(request, task_page),
        "answer": _words(work.type, reopened.answer),
    }
    return render(request, "annotation/tasks/answer_again.html", about, status=status.value)


def _task_page(
    work: WorkContext, lease: Lease, answer: Answer, request: HttpRequest, error: ValueError | None
) -> TaskPage:
    field = getattr(error, "field", "answer")
    form = InvalidForm(work.type.to_form(answer))
    if error:
        form = InvalidForm(request.POST.dict(), str(error), field)
    return build_task_page(
        work,
        lease=lease,
        image=displayed_image(lease.image),
        text=text_of(campaign=work.campaign, kind=work.kind),
        settings=settings_of(work.campaign.settings),
        done=WorkSoFar(),
        form=form,
    )


def _line(type: TaskType, recent: RecentAnswer, image: DisplayedImage) -> RecentAnswerLine:
    pointed = type.page(recent.content, image).pointed if recent.content else ()
    pieces = [
        piece
        for mention in pointed
        for piece in caption_pieces(image.captions[mention.mention.caption], [mention])
    ]
    phrases = [piece for piece in pieces if piece.number]
    return RecentAnswerLine(recent.assignment, image, phrases, _words(type, recent.answer), recent.at)


def _words(type: TaskType, answer: Answer) -> Any:
    """Return an answer in the worker's words: the label of its button, or what was done."""
    if answer.flag:
        return _("Reported")
    is_word = answer.box is None and answer.answer not in kind_of(type.key).with_content
    labels = {choice.value: choice.label for choice in type.choices} if is_word else {}
    return labels.get(answer.answer) or type.answer_words.get(answer.answer, answer.answer)
