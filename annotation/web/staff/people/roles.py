"""The page of roles: who has which, for what; granting, revoking, inviting. For admins of the whole
server."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.common.addresses import full_address
from annotation.common.operations import operation_named
from annotation.common.roles import ANNOTATOR, RESEARCHER
from annotation.jobs import emails
from annotation.models import Job, RoleGrant, StaffInvitation
from annotation.web.common.access import account_of, for_admins
from annotation.web.common.lists import SortColumn, list_page
from annotation.web.common.request_forms import RequestForm
from annotation.workers.accounts import inviting

#: Number of grants, and of invitations, on a page.
ROLES_PER_PAGE = 50
_SORTS = {
    "name": SortColumn(gettext_lazy("User name"), "account__username"),
    "since": SortColumn(gettext_lazy("Since"), "granted_at", down=True),
}
_INVITATION_SORTS = {
    "email": SortColumn(gettext_lazy("Email"), "email"),
    "until": SortColumn(gettext_lazy("Valid until"), "expires_at"),
}


@require_safe
@for_admins
def role_list(request: HttpRequest) -> HttpResponse:
    """List granted roles, and pending invitations.

    People who came by a link or a study are on their campaign's page of workers.
    """
    assigned = RoleGrant.objects.exclude(role=ANNOTATOR, campaign__isnull=False, granted_by=None)
    grants = list_page(
        assigned.select_related("account", "granted_by", "corpus", "campaign"),
        request.GET,
        sorts=_SORTS,
        number=ROLES_PER_PAGE,
        searched=("account__username", "account__email"),
    )
    waiting = list_page(
        inviting.open_staff_invitations().select_related("corpus", "campaign", "created_by"),
        request.GET,
        sorts=_INVITATION_SORTS,
        number=ROLES_PER_PAGE,
        searched=("email",),
        prefix="invited-",
    )
    sending = emails.invitation_jobs(row.pk for row in waiting.rows)
    about: dict[str, Any] = {
        "grants": grants,
        "waiting": waiting,
        "invitations": [
            (row, _address(request, row), _delivery(sending.get(row.pk))) for row in waiting.rows
        ],
        **{
            name: RequestForm(
                operation_named(name),
                account_of(request),
                initial={"role": RESEARCHER},
                ids=f"{name}_%s",  # for two forms
            )
            for name in ("grant_role", "invite_staff")
        },
        "sends": settings.SENDS_MAIL,
    }
    return render(request, "annotation/staff/roles.html", about)


def _address(request: HttpRequest, row: StaffInvitation) -> str:
    return full_address("staff_invite", [inviting.staff_invitation_token(row)])


def _delivery(job: Job | None) -> str:
    """Return the state of an invitation's e-mail."""
    if job is None:
        return ""
    if job.state == Job.DONE:
        return _("E-mail sent")
    if job.state in (Job.QUEUED, Job.RUNNING):
        return _("E-mail on its way")
    return _("E-mail not sent: send the link yourself (%(error)s)") % {"error": job.error or job.state}


urlpatterns = [path("", role_list, name="roles")]
