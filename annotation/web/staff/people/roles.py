"""The page of roles: who holds what, for what; granting, revoking, inviting. For admins of everything."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.common.roles import ANNOTATOR, ROLES
from annotation.jobs import emails
from annotation.models import Account, Campaign, Corpus, Job, RoleGrant, StaffInvitation
from annotation.web.common.access import account_of, for_admins
from annotation.web.common.confirm import confirmed
from annotation.web.common.filters import query_number
from annotation.web.common.lists import SortColumn, list_page
from annotation.web.staff.frame import said
from annotation.workers.accounts import granting, inviting
from annotation.workers.accounts.granting import GrantError

#: Grants, and invitations, on a page.
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
    """Roles that are granted, and invitations that wait, each searched, sorted and paged by the address.

    People who came by a link or a study are on their campaign's page of workers.
    """
    shown = RoleGrant.objects.exclude(role=ANNOTATOR, campaign__isnull=False, granted_by=None)
    grants = list_page(
        shown.select_related("account", "granted_by", "corpus", "campaign"),
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
        "roles": ROLES,
        "staff_roles": [role for role in ROLES if role != ANNOTATOR],
        "corpora": Corpus.objects.filter(published=True),
        "campaigns": Campaign.objects.all(),
        "sends": settings.SENDS_MAIL,
    }
    return render(request, "annotation/staff/roles.html", about)


@require_POST
@for_admins
@confirmed
def role_change(request: HttpRequest) -> HttpResponse:
    """Grant a role, revoke one, invite somebody, or take an invitation back, as the button says."""
    sent, actor = request.POST, account_of(request)
    with said(request, GrantError) as tell:
        match sent.get("act", ""):
            case "grant":
                account = granting.account_named(_plain(sent, "user"))
                role = _plain(sent, "role")
                made = granting.grant(account=account, role=role, actor=actor, **_scope(sent))
                tell(_("Role granted.") if made else _("They already have this role."))
            case "revoke":
                _revoke(query_number(sent, "grant") or 0, actor)
                tell(_("Role revoked."))
            case "invite":
                invitation = inviting.invite_staff(
                    email=_plain(sent, "email"), role=_plain(sent, "role"), actor=actor, **_scope(sent)
                )
                tell(_post(request, invitation))
            case "take_back":
                found = StaffInvitation.objects.filter(pk=query_number(sent, "invitation") or 0).first()
                if found is None or not inviting.revoke_staff_invitation(invitation=found, actor=actor):
                    raise GrantError(_("This invitation is no longer valid."))
                tell(_("Invitation revoked."))
            case _other:
                raise GrantError(_("Nothing was chosen: use one of the buttons."))
    # From the page of one account back to it.
    person = query_number(sent, "person")
    return redirect("person", person) if person is not None else redirect("roles")


def _revoke(number: int, actor: Account) -> None:
    found = RoleGrant.objects.filter(pk=number)
    row = found.select_related("account", "corpus", "campaign").first()
    if row is None:
        raise GrantError(_("This role is already revoked."))
    granting.revoke_role(
        account=row.account, role=row.role, corpus=row.corpus, campaign=row.campaign, actor=actor
    )


def _scope(sent: QueryDict) -> dict[str, Any]:
    """What a form names as `corpus:NAME` or `campaign:NAME`; nothing is the whole server."""
    kind, colon, name = _plain(sent, "scope").partition(":")
    if not kind:
        return {}
    model: Any = {"corpus": Corpus, "campaign": Campaign}.get(kind)
    found = model.objects.filter(name=name).first() if model is not None and colon else None
    if found is None:
        raise GrantError(_("There is no corpus or campaign “%(name)s” here.") % {"name": name[:100]})
    return {kind: found}


def _plain(sent: QueryDict, name: str) -> str:
    return sent.get(name, "").strip()


def _address(request: HttpRequest, row: StaffInvitation) -> str:
    return request.build_absolute_uri(reverse("staff_invite", args=[inviting.staff_invitation_token(row)]))


def _post(request: HttpRequest, row: StaffInvitation) -> str:
    """Have the link sent by e-mail, where the server sends any; what is to be said of it."""
    if not settings.SENDS_MAIL:
        return _("Invitation created. Copy its link from the list and send it yourself.")
    emails.ask_for_invitation(
        invitation=row,
        domain=request.get_host(),
        secure=request.is_secure(),
        language=get_language() or settings.LANGUAGE_CODE,
    )
    return _("Invitation created, and its e-mail is on its way. Its link is also in the list.")


def _delivery(job: Job | None) -> str:
    """What became of an invitation's e-mail."""
    if job is None:
        return ""
    if job.state == Job.DONE:
        return _("E-mail sent")
    if job.state in (Job.QUEUED, Job.RUNNING):
        return _("E-mail on its way")
    return _("E-mail not sent: send the link yourself (%(error)s)") % {"error": job.error or job.state}


urlpatterns = [
    path("", role_list, name="roles"),
    path("change/", role_change, name="change_role"),
]
