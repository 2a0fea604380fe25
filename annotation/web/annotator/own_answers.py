"""What a worker answered last, and the way to change it."""

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
from annotation.task_types.shown import ShownImage, shown_image, shown_images
from annotation.web.annotator.task_page import (
    CaptionPiece,
    RefusedForm,
    TaskPage,
    WorkSoFar,
    build_task_page,
    caption_pieces,
)
from annotation.web.annotator.task_parts import parts_of_task
from annotation.web.annotator.task_place import SeeOther, TaskPlace, place_of_request
from annotation.web.annotator.task_texts import text_of
from annotation.web.common.access import for_roles


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """A line of the list: its assignment, the picture, the phrases asked about, the answer in words, when."""

    assignment: int
    image: ShownImage
    phrases: list[CaptionPiece]
    said: Any
    at: datetime


@require_safe
@never_cache
@for_roles(ANNOTATOR)
def answer_list(request: HttpRequest, name: str, kind: str) -> HttpResponse:
    """The last answers of the sitting, each with the way to change it."""
    place = place_of_request(request, name, kind)
    found = recent_answers(worker=place.worker.pk, campaign=place.campaign.pk, kind=kind)
    images = shown_images({each.image for each in found})
    lines = [_line(place.type, each, images[each.image]) for each in found]
    about = {"place": place, "lines": lines, "owner": place.worker.pk}
    return render(request, "annotation/tasks/answers.html", about)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_roles(ANNOTATOR)
def answer_again(request: HttpRequest, name: str, kind: str, assignment: int) -> HttpResponse:
    """A question that was answered, with the answer; POST changes it.

    One that cannot change leads to the list, with the reason.
    """
    place = place_of_request(request, name, kind)
    back = SeeOther(reverse("task_answers", args=[name, kind]))
    error: ValueError | None = None
    try:
        reopened = reopen_answer(worker=place.worker.pk, assignment=min(assignment, database.LARGEST_ID))
        if (reopened.campaign.pk, reopened.kind) != (place.campaign.pk, kind):
            raise CannotReopen(_("You have given no such answer."))
        if request.method == "POST":
            changed = change_answer(
                worker=place.worker.pk,
                assignment=assignment,
                answer=place.type.parse(place.type.from_form(request.POST.dict())),
                schema=place.type.schema_version,
            )
            said = _("Your answer is changed.") if changed else _("Your answer stays as it was.")
            messages.info(request, said)
            return back
    except CannotReopen as refusal:
        messages.warning(request, str(refusal))
        return back
    except (BadAnswer, BadJudgment) as refused:
        error = refused
    lease = ended_lease(worker=place.worker.pk, assignment=assignment)
    assert lease is not None
    shown = _desk(place, lease, reopened.given, request, error)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK
    about = {
        "place": place,
        "desk": shown,
        "parts": parts_of_task(request, shown),
        "said": _words(place.type, reopened.given),
    }
    return render(request, "annotation/tasks/answer_again.html", about, status=status.value)


def _desk(
    place: TaskPlace, lease: Lease, given: Answer, request: HttpRequest, error: ValueError | None
) -> TaskPage:
    field = getattr(error, "field", "answer")
    sent = RefusedForm(place.type.to_form(given))
    if error:
        sent = RefusedForm(request.POST.dict(), str(error), field)
    return build_task_page(
        place,
        lease=lease,
        image=shown_image(lease.image),
        text=text_of(campaign=place.campaign, kind=place.kind),
        settings=settings_of(place.campaign.settings),
        done=WorkSoFar(),
        sent=sent,
    )


def _line(type: TaskType, given: RecentAnswer, image: ShownImage) -> OwnAnswer:
    pointed = type.page(given.content, image).pointed if given.content else ()
    pieces = [
        piece for one in pointed for piece in caption_pieces(image.captions[one.mention.caption], [one])
    ]
    phrases = [piece for piece in pieces if piece.number]
    return OwnAnswer(given.assignment, image, phrases, _words(type, given.answer), given.at)


def _words(type: TaskType, given: Answer) -> Any:
    """An answer as its worker knows it: by the words of its button, or what was done."""
    if given.flag:
        return _("Reported")
    plain = given.box is None and given.answer not in kind_of(type.key).with_content
    labels = {choice.value: choice.label for choice in type.choices} if plain else {}
    return labels.get(given.answer) or type.answer_words.get(given.answer, given.answer)
