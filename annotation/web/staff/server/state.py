"""The page of the server, for admins of the whole server: alarms, jobs, periodic work, disk, backups,
e-mail."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from annotation.common.operations import OperationContext
from annotation.common.roles import WHOLE_SERVER
from annotation.jobs import emails
from annotation.jobs.server import ServerRequest, show_server
from annotation.jobs.status import JOB_STATES
from annotation.models import AlarmSubscription, Job
from annotation.notifications import alarms
from annotation.web.common.access import account_of, for_admins
from annotation.web.common.filters import query_number
from annotation.web.staff.campaign_pages import query_string
from annotation.web.staff.job_lines import JobView, job_line

#: Number of jobs on the page.
_JOBS = 20


@require_safe
@for_admins
def server_state(request: HttpRequest) -> HttpResponse:
    """Show the state of the server."""
    server = show_server(ServerRequest(), OperationContext())
    state = request.GET.get("state", "")
    state = state if state in JOB_STATES else ""
    jobs, later = _jobs(state, query_number(request.GET, "before"))
    test = emails.newest_test_mail()
    account = account_of(request)
    about: dict[str, Any] = {
        "server": server,
        "free_percent": round(100 * server.disk_free / server.disk_size) if server.disk_size else 0,
        "used_in_all": sum(folder.size for folder in server.folders),
        "jobs": jobs,
        "live": any(job.live for job in jobs),
        "states": JOB_STATES,
        "state": state,
        "later": query_string(state=state, before=later),
        "more": later is not None,
        "test": test,
        "subscription": _subscription(request),
        "address": account.email,
    }
    return render(request, "annotation/staff/server.html", about)


def _jobs(state: str, before: int | None) -> tuple[list[JobView], int | None]:
    """Return the newest jobs before a number, and the number where the next page begins, if there is one."""
    jobs = Job.objects.select_related("campaign", "corpus", "created_by").order_by("-pk")
    if state:
        jobs = jobs.filter(state=state)
    if before is not None:
        jobs = jobs.filter(pk__lt=before)
    rows = list(jobs[: _JOBS + 1])
    listed = rows[:_JOBS]
    return [job_line(row) for row in listed], listed[-1].pk if len(rows) > _JOBS else None


def _subscription(request: HttpRequest) -> AlarmSubscription | None:
    """Return the caller's subscription to alarms of the whole server."""
    subscriptions = alarms.subscriptions_of(account_of(request))
    return next((row for row in subscriptions if row.scope == WHOLE_SERVER), None)


urlpatterns = [path("", server_state, name="server")]
