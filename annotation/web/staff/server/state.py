"""The page of the server, for admins of everything: what needs attention, jobs, periodic work, disk, backups,
e-mail."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.common.database import LARGEST_ID
from annotation.common.roles import WHOLE_SERVER
from annotation.jobs import emails, schedule, upkeep
from annotation.models import AlarmSubscription, Job, LastTurn
from annotation.notifications import alarms
from annotation.web.common.access import account_of, for_admins
from annotation.web.common.filters import query_number
from annotation.web.staff.frame import query_string, said
from annotation.web.staff.job_lines import JOB_STATES, ShownJob, job_line, steer_as_asked

#: Jobs on the page.
_JOBS = 20


class NoAddress(ValueError):
    """Whoever asks for a test e-mail has no address to send it to."""


@require_safe
@for_admins
def server_state(request: HttpRequest) -> HttpResponse:
    """All about the server that its admins need to see."""
    every = {name: entry.every for name, entry in schedule.PERIODIC.items()}
    disk = upkeep.disk()
    measured = upkeep.last_turn(LastTurn.MEASURE_DISK)
    used: dict[str, int] = measured.about.get("bytes", {}) if measured is not None else {}
    state = request.GET.get("state", "")
    state = state if state in JOB_STATES else ""
    jobs, later = _jobs(state, query_number(request.GET, "before"))
    test = emails.newest_test_mail()
    account = account_of(request)
    about: dict[str, Any] = {
        "alarms": upkeep.server_alarms(every),
        "version": settings.PRODUCT_VERSION,
        "database": connection.vendor,
        "disk": disk,
        "free_percent": round(100 * disk.free / disk.total) if disk.total else 0,
        "used": sorted(used.items(), key=lambda each: -each[1]),
        "used_in_all": sum(used.values()),
        "measured": measured,
        "backup": upkeep.last_turn(LastTurn.BACKUP),
        "periodic": upkeep.periodic_states(every),
        "jobs": jobs,
        "live": any(job.live for job in jobs),
        "states": JOB_STATES,
        "state": state,
        "later": query_string(state=state, before=later),
        "more": later is not None,
        "test": test,
        "sends": settings.SENDS_MAIL,
        "subscription": _subscription(request),
        "address": account.email,
    }
    return render(request, "annotation/staff/server.html", about)


@require_POST
@for_admins
def test_mail_send(request: HttpRequest) -> HttpResponse:
    """Send whoever asks an e-mail, which shows that the server can."""
    account = account_of(request)
    with said(request, NoAddress) as tell:
        if not account.email:
            raise NoAddress(_("Your account has no e-mail address: add one on “My account” first."))
        emails.request_test_mail(account=account, language=get_language() or settings.LANGUAGE_CODE)
        tell(_("The test e-mail is on its way to %(address)s.") % {"address": account.email})
    return redirect("server")


@require_POST
@for_admins
def any_job_steer(request: HttpRequest, job: int) -> HttpResponse:
    """Cancel any job of the server, or go on with it."""
    found = Job.objects.filter(pk=min(job, LARGEST_ID)).first()
    if found is None:
        raise Http404(_("There is no job %(job)d here.") % {"job": job})
    steer_as_asked(request, found)
    return redirect("server")


def _jobs(state: str, before: int | None) -> tuple[list[ShownJob], int | None]:
    """The newest jobs before a number, and the number where the next page begins, if there is one."""
    found = Job.objects.select_related("campaign", "corpus", "created_by").order_by("-pk")
    if state:
        found = found.filter(state=state)
    if before is not None:
        found = found.filter(pk__lt=before)
    rows = list(found[: _JOBS + 1])
    shown = rows[:_JOBS]
    lines = [job_line(row, reverse("steer_any_job", args=[row.pk])) for row in shown]
    return lines, shown[-1].pk if len(rows) > _JOBS else None


def _subscription(request: HttpRequest) -> AlarmSubscription | None:
    """By what whoever asks gets alarms of the whole server."""
    found = alarms.subscriptions_of(account_of(request))
    return next((row for row in found if row.scope == WHOLE_SERVER), None)


urlpatterns = [
    path("", server_state, name="server"),
    path("test-mail/", test_mail_send, name="send_test_mail"),
    path("jobs/<int:job>/change/", any_job_steer, name="steer_any_job"),
]
