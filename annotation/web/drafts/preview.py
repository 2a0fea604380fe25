"""Preview of a draft's task on the real page of its kind. Nothing is stored."""

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.campaigns.drafts import fields
from annotation.campaigns.drafts.posing import GRID_PICTURES, posed_page, posed_without_boxes
from annotation.campaigns.drafts.reading import DraftPlan
from annotation.protocol.questions import Answer
from annotation.selectors.campaign.cost import money
from annotation.task_types.base import TASK_TYPES, BadAnswer
from annotation.web.annotator.task_page import parts_of_task
from annotation.web.common.filters import query_number
from annotation.web.drafts.draft_pages import (
    draft_frame,
    for_draft,
    kind_of_draft,
    practice_page,
    preview_page,
)
from annotation.web.staff.wording import FLAGS_IN_WORDS, answer_in_words, kind_in_words


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_draft
def preview_task(request: HttpRequest, plan: DraftPlan, kind: str) -> HttpResponse:
    """Show question `n` of a kind about the draft's corpus; POST shows what would be stored, and stores
    nothing."""
    kind = kind_of_draft(plan, kind)
    number = min(query_number(request.GET, "n") or 0, 1000)
    posed = posed_page(plan, kind, offset=number)
    about: dict[str, Any] = {
        "kind": kind,
        "kind_name": kind_in_words(kind),
        "kinds": [(amount, kind_in_words(amount)) for amount in plan.kinds],
        "scene": posed is None,
        "needs_boxes": posed_without_boxes(plan, kind),
        "next": (number + 1) % GRID_PICTURES,
    }
    status, entered, problem = HTTPStatus.OK, dict[str, str](), None
    if request.method == "POST":
        entered = request.POST.dict()
        type_ = TASK_TYPES.get(kind)
        try:
            answer = type_.parse_for(type_.from_form(entered), plan.settings.answers.number)
            about["submitted"] = _in_words(kind, answer)
        except BadAnswer as error:
            status, problem = HTTPStatus.UNPROCESSABLE_ENTITY, error
    task = (
        preview_page(plan, posed, entered, problem)
        if posed is not None
        else practice_page(plan, kind, number, entered, problem)
    )
    if task is not None:
        amount, by_hour = task.earns
        currency = plan.settings.pay.currency
        about |= {
            "task": task,
            "parts": parts_of_task(request, task),
            "earns": money(amount, currency) if amount else "",
            "earns_hourly": money(by_hour, currency) if by_hour and not amount else "",
        }
    return render(
        request,
        "annotation/drafts/preview_task.html",
        draft_frame(plan, fields.PREVIEW_STEP, **about),
        status=status.value,
    )


def _in_words(kind: str, answer: Answer) -> str:
    """Return in words what would be stored of an answer."""
    if answer.flag:
        return str(FLAGS_IN_WORDS.get(answer.flag, answer.flag))
    text = str(answer_in_words(kind, answer.answer))
    if answer.box is not None:
        size = {"width": answer.box.width, "height": answer.box.height}
        text += " · " + _("a box of %(width)d × %(height)d pixels") % size
    content = answer.content or {}
    if "text" in content:
        text += f" · “{content['text']}”"
    if "ticked" in content:
        text += " · " + _("%(n)d ticked") % {"n": sum(sum(row) for row in content["ticked"])}
    return text
