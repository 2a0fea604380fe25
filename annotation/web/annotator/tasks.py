"""An annotator's pages: the list of tasks, a task, the test."""

from collections.abc import Sequence
from http import HTTPStatus

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.common.roles import ANNOTATOR
from annotation.instructions import CampaignText
from annotation.models import Assignment, Campaign, TrustState
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.trust import Refusal
from annotation.quality import qualification
from annotation.queue import leases, submission, visits
from annotation.queue.available_tasks import AvailableTask, available_tasks, no_consent, today
from annotation.queue.dispatch import NoTask
from annotation.queue.leases import Lease
from annotation.selectors.settings_versions import settings_by_version
from annotation.task_types.base import BadAnswer
from annotation.task_types.shown import shown_image
from annotation.web.annotator.task_page import RefusedForm, TaskPage, WorkSoFar, build_task_page
from annotation.web.annotator.task_place import (
    SeeOther,
    TaskPlace,
    form_number,
    place_of_request,
    worker_at,
)
from annotation.web.annotator.task_texts import has_read, text_of
from annotation.web.annotator.task_words import left_in_words, line, whole_campaign_reason
from annotation.web.common.access import for_roles
from annotation.workers import platform_visits

#: Other tasks named where there is nothing to do.
ELSEWHERE = 4
#: What stands around a task: the whole page, or nothing, where a page that is open goes on to its next task.
_WHOLE, PART = "annotation/base.html", "annotation/tasks/_part.html"
#: Tasks that a page may name as in hand; none has that many.
MOST_LEASES_ON_PAGE = 100


@require_safe
@never_cache
@for_roles(ANNOTATOR)
def task_list(request: HttpRequest) -> HttpResponse:
    """What there is for me: every campaign and kind, how I stand, what waits, and why not."""
    found: dict[Campaign, list[AvailableTask]] = {}
    worker = worker_at(request)
    visit = platform_visits.current_visit(request.session, request.user)
    for offer in available_tasks(worker=worker):
        # Who comes from a platform is paid there for one campaign.
        if visit is not None and offer.campaign.pk != visit.study.campaign_id:
            continue
        found.setdefault(offer.campaign, []).append(offer)
    campaigns = [
        (campaign, whole_campaign_reason(of_it), [line(offer) for offer in of_it])
        for campaign, of_it in found.items()
    ]
    # Where there is something to do comes first; else they stay in their order.
    campaigns.sort(key=lambda each: not any(shown.go for shown in each[2]))
    return render(request, "annotation/tasks/list.html", {"campaigns": campaigns, "owner": worker.pk})


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_roles(ANNOTATOR)
def task(request: HttpRequest, name: str, kind: str) -> HttpResponse:
    """A task of this campaign and kind, or why there is none; POST answers, reports or returns one.

    With `part=desk` the task alone, for a page that is open and goes on to its next: one that it does not
    name in `holding` (ids, with commas between). Where there is none, or something else comes first, that is
    told by its code, as JSON; the whole page then says the rest.
    """
    place = place_of_request(request, name, kind)
    if request.method == "POST":
        return _handed_in(request, place)
    part = request.GET.get("part") == "desk"
    holding = _held(request.GET.get("holding", "")) if part else []
    refused = no_consent(worker=place.worker.pk, campaign=place.campaign)
    if refused is not None:
        consent_first = f"{reverse('task_consent', args=[name])}?{urlencode({'kind': kind})}"
        return JsonResponse({"nothing": refused.code}) if part else SeeOther(consent_first)
    visit = platform_visits.current_visit(request.session, request.user)
    of_visit = platform_visits.left_of_visit(visit, holding=len(holding)) if visit is not None else None
    if of_visit == 0:
        return JsonResponse({"nothing": visits.NONE_WANTED}) if part else SeeOther(reverse("visit"))
    found = leases.take_lease(worker=place.worker.pk, campaign=place.campaign, kind=kind, holding=holding)
    if isinstance(found, NoTask):
        if part:
            return JsonResponse({"nothing": found.code})
        if visit is not None and found.code == visits.NONE_WANTED:
            return SeeOther(reverse("visit"))
        progress = platform_visits.visit_progress(visit) if visit is not None else None
        if progress is not None and progress.may_end:
            return SeeOther(reverse("visit"))
        return _nothing(request, place, found, progress)
    text = text_of(campaign=place.campaign, kind=kind)
    if not has_read(request, place, text):
        unread = reverse("task_instructions", args=[name, kind])
        return JsonResponse({"nothing": "instructions"}) if part else SeeOther(unread)
    shown = _desk(place, found, text, holding=holding, of_visit=of_visit)
    return render(request, place.type.template, {"desk": shown, "around": PART if part else _WHOLE})


@require_POST
@for_roles(ANNOTATOR)
def test_begin(request: HttpRequest, name: str, kind: str) -> HttpResponse:
    """Begin the qualification test, or go on with it."""
    place = place_of_request(request, name, kind)
    if no_consent(worker=place.worker.pk, campaign=place.campaign) is None:
        begun = qualification.begin_qualification(worker=place.worker.pk, campaign=place.campaign, kind=kind)
        if isinstance(begun, Refusal):
            messages.warning(request, begun.text)
    return SeeOther(place.address)


def _handed_in(request: HttpRequest, place: TaskPlace) -> HttpResponse:
    """Take what a task page sent, say what became of it where that is worth a word, and go on."""
    sent = request.POST
    assignment = form_number(sent.get("assignment", ""))
    elsewhere = Assignment.objects.filter(pk=assignment).exclude(campaign=place.campaign)
    if elsewhere.exists():  # of a campaign that may not be open to them any more
        assignment = 0
    if sent.get("act") == "return":
        if leases.return_lease(worker=place.worker.pk, assignment=assignment):
            messages.info(request, _("Skipped: somebody else will answer it."))
        return SeeOther(place.address)
    try:
        receipt = submission.submit(
            worker=place.worker.pk,
            assignment=assignment,
            answer=place.type.parse(place.type.from_form(sent.dict())),
            token=sent.get("token", "").replace("\0", ""),
            seconds=_seconds(sent.get("seconds", "")),
            then=False,
            schema=place.type.schema_version,
        )
    except (BadAnswer, submission.BadJudgment) as error:
        return _again(request, place, assignment, error)
    except (submission.Conflict, submission.NotYours) as error:
        messages.warning(request, str(error))
        return SeeOther(place.address)
    if receipt.repeated:
        messages.info(request, _("We already had this answer: it is stored once."))
    elif sent.get("flag"):
        messages.info(request, _("Thank you for the report. Somebody will look at it."))
    return SeeOther(place.address)


def _again(request: HttpRequest, place: TaskPlace, assignment: int, error: ValueError) -> HttpResponse:
    """The same task once more, with what was entered and what is wrong with it."""
    others = Assignment.objects.filter(
        worker=place.worker, campaign=place.campaign, kind=place.kind, state=Assignment.LEASED
    ).exclude(pk=assignment)
    found = leases.take_lease(
        worker=place.worker.pk,
        campaign=place.campaign,
        kind=place.kind,
        holding=list(others.values_list("pk", flat=True)),
    )
    if not isinstance(found, Lease) or found.id != assignment:
        messages.warning(request, _("Not stored: %(why)s") % {"why": error})
        return SeeOther(place.address)
    text = text_of(campaign=place.campaign, kind=place.kind)
    shown = _desk(place, found, text, request=request, error=error)
    about = {"desk": shown, "around": _WHOLE}
    return render(request, place.type.template, about, status=HTTPStatus.UNPROCESSABLE_ENTITY.value)


def _nothing(
    request: HttpRequest,
    place: TaskPlace,
    found: NoTask,
    progress: platform_visits.VisitProgress | None,
) -> HttpResponse:
    """Why there is nothing to do here, and what to do instead; how far a platform's visitor is."""
    test = instead = None
    text = None
    if found.code in qualification.NEED_A_TEST:
        row = TrustState.objects.get(worker=place.worker, campaign=place.campaign, kind=place.kind)
        test = qualification.test_under_way(row)
        text = text_of(campaign=place.campaign, kind=place.kind)
    else:
        instead = [line(offer) for offer in available_tasks(worker=place.worker) if _open(offer)][:ELSEWHERE]
    about = {
        "place": place,
        "nothing": found,
        "test": test,
        "text": text,
        "instead": instead,
        "progress": progress,
        "owner": place.worker.pk,
    }
    return render(request, "annotation/tasks/nothing.html", about)


def _open(offer: AvailableTask) -> bool:
    return offer.nothing is None


def _desk(
    place: TaskPlace,
    lease: Lease,
    text: CampaignText,
    *,
    holding: Sequence[int] = (),
    of_visit: int | None = None,
    request: HttpRequest | None = None,
    error: ValueError | None = None,
) -> TaskPage:
    settings = settings_of(place.campaign.settings)
    if lease.version != place.campaign.settings_version:
        settings = settings_by_version(place.campaign).get(lease.version, settings)
    test, ahead = None, 0
    if lease.role == qualification.QUALIFICATION_ROLE:
        test = qualification.test_under_way(
            TrustState.objects.get(worker=place.worker, campaign=place.campaign, kind=place.kind)
        )
        ahead = Assignment.objects.filter(
            pk__in=holding, worker=place.worker, role=lease.role, state=Assignment.LEASED
        ).count()
    return build_task_page(
        place,
        lease=lease,
        image=shown_image(lease.image),
        text=text,
        settings=settings,
        done=WorkSoFar(
            today(worker=place.worker.pk, campaign=place.campaign.pk, kind=place.kind), test, ahead
        ),
        sent=RefusedForm(
            request.POST.dict() if request else {},
            str(error) if error else "",
            getattr(error, "field", "answer") if error else "",
        ),
        left="" if test else left_in_words(place.campaign.pk, place.kind, of_visit),
    )


def _held(text: str) -> list[int]:
    """The ids that a page names as in hand, as far as they are any."""
    return [number for each in text.split(",")[:MOST_LEASES_ON_PAGE] if (number := form_number(each))]


def _seconds(text: str) -> float | None:
    """The active time that the page measured; None where it did not."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
