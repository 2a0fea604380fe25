"""The page on which a visitor from a crowd platform sees their progress, and returns."""

from typing import Any

from csp.decorators import csp_update
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.common.roles import ANNOTATOR
from annotation.models import Visit
from annotation.recruitment import prolific
from annotation.web.common.access import for_roles
from annotation.workers import confirmation, platform_visits
from annotation.workers.platform_visits import PROLIFIC, VisitError


# Permits a form to another host, on this page only.
@csp_update({"form-action": [prolific.SITE]})
@require_safe
@never_cache
@for_roles(ANNOTATOR)
def visit_detail(request: HttpRequest) -> HttpResponse:
    """Show the progress of the caller's visit, and the way back to the platform.

    With `part=state`, return whether the platform has confirmed it, as JSON: a waiting page polls this.
    """
    visit = platform_visits.current_visit(request.session, request.user)
    if visit is None:
        return redirect("tasks")
    if visit.verification == Visit.WAITING:
        confirmation.ask_platform(visit)
        visit.refresh_from_db()
        if visit.identity.account_id != request.user.pk:
            # They are confirmed by now: reload in their own session.
            return redirect("visit")
    if request.GET.get("part") == "state":
        return JsonResponse({"verification": visit.verification})
    about: dict[str, Any] = {
        "progress": platform_visits.visit_progress(visit),
        "ended": visit.reported in platform_visits.ENDED,
    }
    about["waits"] = visit.verification == Visit.WAITING
    about["rejected"] = visit.verification == Visit.REFUSED
    about["owner"] = visit.identity.worker_id
    return render(request, f"annotation/entry/visit_{visit.study.provider}.html", about)


@require_POST
@for_roles(ANNOTATOR)
def visit_finish(request: HttpRequest) -> HttpResponse:
    """End the caller's visit; the address of the redirect reports it to Prolific."""
    visit = platform_visits.current_visit(request.session, request.user)
    if visit is None:
        return redirect("tasks")
    try:
        reached = platform_visits.finish_visit(visit)
    except VisitError as why:
        messages.warning(request, str(why))
        return redirect("visit")
    if visit.study.provider == PROLIFIC and reached.code:
        return redirect(prolific.completion_address(reached.code))
    return redirect("visit")


urlpatterns = [
    path("visit/", visit_detail, name="visit"),
    path("visit/finish/", visit_finish, name="finish_visit"),
]
