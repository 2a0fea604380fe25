"""Annotators' pages: the list of tasks, a task, the test."""

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
from annotation.queue.lease_terms import NO_COUNTRY
from annotation.queue.leases import Lease
from annotation.selectors.campaigns import settings_by_version
from annotation.task_types.base import BadAnswer
from annotation.task_types.displayed import displayed_image
from annotation.web.annotator.task_page import InvalidForm, TaskPage, WorkSoFar, build_task_page
from annotation.web.annotator.task_texts import has_read, text_of
from annotation.web.annotator.task_words import left_in_words, line, whole_campaign_reason
from annotation.web.annotator.work_context import (
    SeeOther,
    WorkContext,
    form_number,
    work_of_request,
    worker_at,
)
from annotation.web.common.access import for_roles
from annotation.workers import platform_visits

#: Number of other tasks that are named if there is nothing to do.
ELSEWHERE = 4
#: The frame of a task: the whole page, or nothing for an open page that continues with its next task.
_WHOLE, PART = "annotation/base.html", "annotation/tasks/_part.html"
#: Maximum number of leased tasks that a page may name; no page has that many.
MOST_LEASES_ON_PAGE = 100


@require_safe
@never_cache
@for_roles(ANNOTATOR)
def task_list(request: HttpRequest) -> HttpResponse:
    """List every campaign and kind with the worker's state, the waiting tasks, and the reason if there are
    none."""
    by_campaign: dict[Campaign, list[AvailableTask]] = {}
    worker = worker_at(request)
    visit = platform_visits.current_visit(request.session, request.user)
    for offer in available_tasks(worker=worker):
        # A platform pays its visitors for one campaign only.
        if visit is not None and offer.campaign.pk != visit.study.campaign_id:
            continue
        by_campaign.setdefault(offer.campaign, []).append(offer)
    campaigns = [
        (campaign, whole_campaign_reason(of_it), [line(offer) for offer in of_it])
        for campaign, of_it in by_campaign.items()
    ]
    # Campaigns with something to do come first; otherwise the order stays.
    campaigns.sort(key=lambda entry: not any(row.go for row in entry[2]))
    return render(request, "annotation/tasks/list.html", {"campaigns": campaigns, "owner": worker.pk})


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_roles(ANNOTATOR)
def task(request: HttpRequest, name: str, kind: str) -> HttpResponse:
    """Show a task of this campaign and kind, or why there is none; POST answers, reports or returns one.

    With `part=task`, return only the task, for an open page that continues with its next: one that is not in
    `holding` (ids, separated by commas). If there is none, or something else comes first, the response is its
    code, as JSON; the whole page then explains it.
    """
    work = work_of_request(request, name, kind)
    if request.method == "POST":
        return _handed_in(request, work)
    part = request.GET.get("part") == "task"
    holding = _held(request.GET.get("holding", "")) if part else []
    no_consent_yet = no_consent(worker=work.worker.pk, campaign=work.campaign)
    if no_consent_yet is not None:
        consent_first = f"{reverse('task_consent', args=[name])}?{urlencode({'kind': kind})}"
        return JsonResponse({"nothing": no_consent_yet.code}) if part else SeeOther(consent_first)
    visit = platform_visits.current_visit(request.session, request.user)
    of_visit = platform_visits.left_of_visit(visit, holding=len(holding)) if visit is not None else None
    if of_visit == 0:
        return JsonResponse({"nothing": visits.NONE_WANTED}) if part else SeeOther(reverse("visit"))
    lease = leases.take_lease(worker=work.worker.pk, campaign=work.campaign, kind=kind, holding=holding)
    if isinstance(lease, NoTask):
        if part:
            return JsonResponse({"nothing": lease.code})
        if lease.code == NO_COUNTRY:
            return SeeOther(f"{reverse('task_country', args=[name])}?{urlencode({'kind': kind})}")
        if visit is not None and lease.code == visits.NONE_WANTED:
            return SeeOther(reverse("visit"))
        progress = platform_visits.visit_progress(visit) if visit is not None else None
        if progress is not None and progress.may_end:
            return SeeOther(reverse("visit"))
        return _nothing(request, work, lease, progress)
    text = text_of(campaign=work.campaign, kind=kind)
    if not has_read(request, work, text):
        unread = reverse("task_instructions", args=[name, kind])
        return JsonResponse({"nothing": "instructions"}) if part else SeeOther(unread)
    task_page = _task_page(work, lease, text, holding=holding, of_visit=of_visit)
    return render(request, work.type.template, {"task": task_page, "around": PART if part else _WHOLE})


@require_POST
@for_roles(ANNOTATOR)
def test_begin(request: HttpRequest, name: str, kind: str) -> HttpResponse:
    """Begin the qualification test, or continue it."""
    work = work_of_request(request, name, kind)
    if no_consent(worker=work.worker.pk, campaign=work.campaign) is None:
        begun = qualification.begin_qualification(worker=work.worker.pk, campaign=work.campaign, kind=kind)
        if isinstance(begun, Refusal):
            messages.warning(request, begun.text)
    return SeeOther(work.address)


def _handed_in(request: HttpRequest, work: WorkContext) -> HttpResponse:
    """Process a submitted task page, show a message about the result if needed, and continue."""
    form = request.POST
    assignment = form_number(form.get("assignment", ""))
    elsewhere = Assignment.objects.filter(pk=assignment).exclude(campaign=work.campaign)
    if elsewhere.exists():  # its campaign may not be open to the worker any more
        assignment = 0
    if form.get("act") == "return":
        if leases.return_lease(worker=work.worker.pk, assignment=assignment):
            messages.info(request, _("Skipped: somebody else will answer it."))
        return SeeOther(work.address)
    try:
        receipt = submission.submit(
            worker=work.worker.pk,
            assignment=assignment,
            answer=work.type.parse(work.type.from_form(form.dict())),
            token=form.get("token", "").replace("\0", ""),
            seconds=_seconds(form.get("seconds", "")),
            then=False,
            schema=work.type.schema_version,
        )
    except (BadAnswer, submission.BadJudgment) as error:
        return _again(request, work, assignment, error)
    except (submission.Conflict, submission.NotYours) as error:
        messages.warning(request, str(error))
        return SeeOther(work.address)
    if receipt.repeated:
        messages.info(request, _("We already had this answer: it is stored once."))
    elif form.get("flag"):
        messages.info(request, _("Thank you for the report. Somebody will look at it."))
    return SeeOther(work.address)


def _again(request: HttpRequest, work: WorkContext, assignment: int, error: ValueError) -> HttpResponse:
    """Show the same task again, with the input and its error."""
    others = Assignment.objects.filter(
        worker=work.worker, campaign=work.campaign, kind=work.kind, state=Assignment.LEASED
    ).exclude(pk=assignment)
    lease = leases.take_lease(
        worker=work.worker.pk,
        campaign=work.campaign,
        kind=work.kind,
        holding=list(others.values_list("pk", flat=True)),
    )
    if not isinstance(lease, Lease) or lease.id != assignment:
        messages.warning(request, _("Not stored: %(why)s") % {"why": error})
        return SeeOther(work.address)
    text = text_of(campaign=work.campaign, kind=work.kind)
    task_page = _task_page(work, lease, text, request=request, error=error)
    about = {"task": task_page, "around": _WHOLE}
    return render(request, work.type.template, about, status=HTTPStatus.UNPROCESSABLE_ENTITY.value)


def _nothing(
    request: HttpRequest,
    work: WorkContext,
    no_task: NoTask,
    progress: platform_visits.VisitProgress | None,
) -> HttpResponse:
    """Show why there is nothing to do here, and what to do instead; and the progress of a platform's
    visitor."""
    test = instead = None
    text = None
    if no_task.code in qualification.NEED_A_TEST:
        row = TrustState.objects.get(worker=work.worker, campaign=work.campaign, kind=work.kind)
        test = qualification.test_under_way(row)
        text = text_of(campaign=work.campaign, kind=work.kind)
    else:
        instead = [line(offer) for offer in available_tasks(worker=work.worker) if _open(offer)][:ELSEWHERE]
    about = {
        "work": work,
        "nothing": no_task,
        "test": test,
        "text": text,
        "instead": instead,
        "progress": progress,
        "owner": work.worker.pk,
    }
    return render(request, "annotation/tasks/nothing.html", about)


def _open(offer: AvailableTask) -> bool:
    return offer.nothing is None


def _task_page(
    work: WorkContext,
    lease: Lease,
    text: CampaignText,
    *,
    holding: Sequence[int] = (),
    of_visit: int | None = None,
    request: HttpRequest | None = None,
    error: ValueError | None = None,
) -> TaskPage:
    settings = settings_of(work.campaign.settings)
    if lease.version != work.campaign.settings_version:
        settings = settings_by_version(work.campaign).get(lease.version, settings)
    test, ahead = None, 0
    if lease.role == qualification.QUALIFICATION_ROLE:
        test = qualification.test_under_way(
            TrustState.objects.get(worker=work.worker, campaign=work.campaign, kind=work.kind)
        )
        ahead = Assignment.objects.filter(
            pk__in=holding, worker=work.worker, role=lease.role, state=Assignment.LEASED
        ).count()
    return build_task_page(
        work,
        lease=lease,
        image=displayed_image(lease.image),
        text=text,
        settings=settings,
        done=WorkSoFar(today(worker=work.worker.pk, campaign=work.campaign.pk, kind=work.kind), test, ahead),
        form=InvalidForm(
            request.POST.dict() if request else {},
            str(error) if error else "",
            getattr(error, "field", "answer") if error else "",
        ),
        left="" if test else left_in_words(work.campaign.pk, work.kind, of_visit),
    )


def _held(text: str) -> list[int]:
    """Return the valid ids of leased tasks that a page names."""
    return [
        number
        for number_text in text.split(",")[:MOST_LEASES_ON_PAGE]
        if (number := form_number(number_text))
    ]


def _seconds(text: str) -> float | None:
    """Return the active time that the page measured; None if it did not."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
