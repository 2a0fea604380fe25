"""Visitors of an invitation link: consent, an own account or one created at once, then the tasks.

The code for coming back is shown while they are signed in, and readable in no table: the session contains it
encrypted with a one-time pad, and a cookie contains the pad. Each alone is useless.
"""

import secrets
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import UserCreationForm
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation import instructions
from annotation.common.roles import ANNOTATOR
from annotation.models import Account, Invitation
from annotation.queue.available_tasks import kinds_of
from annotation.task_types.base import TASK_TYPES
from annotation.web.common import limits
from annotation.web.common.access import for_roles
from annotation.web.common.sign_in import BACKEND
from annotation.workers import invitations, pseudonyms, rate_limit
from annotation.workers.rate_limit import Try
from phrasebox.errors import PhraseboxError

#: Key of the code in a session, and in a browser.
CODE = "return_code"


def store_code(request: HttpRequest, response: HttpResponse, code: str) -> None:
    """Let the browser of `response` show `code` again, until it is closed or signed out."""
    code_bytes = code.encode()
    pad = secrets.token_bytes(len(code_bytes))
    request.session[CODE] = _mixed(code_bytes, pad).hex()
    response.set_cookie(
        settings.RETURN_CODE_COOKIE_NAME,
        pad.hex(),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )


def stored_code(request: HttpRequest) -> str:
    """Return the code; "" if this browser has none."""
    held, pad = request.session.get(CODE, ""), request.COOKIES.get(settings.RETURN_CODE_COOKIE_NAME, "")
    try:
        return _mixed(bytes.fromhex(held), bytes.fromhex(pad)).decode("ascii")
    except ValueError:
        return ""


def _mixed(first: bytes, second: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(first, second, strict=True))


class AccountForm(UserCreationForm):
    """A name and a password of the user's choice."""

    class Meta:
        model = Account
        fields = ("username",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The page begins with the consent, not with this field.
        self.fields["username"].widget.attrs.update(autocomplete="username", autofocus=False)

    def clean_username(self) -> str:
        """Return the name, if it is free and does not look like a pseudonym."""
        name = super().clean_username()
        if name and name.casefold().startswith(pseudonyms.PREFIX):
            raise forms.ValidationError(
                _("Names that begin with %(prefix)s are reserved. Choose another.")
                % {"prefix": pseudonyms.PREFIX}
            )
        return name or ""


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invitation_accept(request: HttpRequest, token: str) -> HttpResponse:
    """Show the page of an invitation link: the consent text, and two ways to begin. POST begins."""
    try:
        invitation = invitations.open_invitation(token)
    except PhraseboxError as why:
        return _over(request, why)
    if not invitation.language:
        return _opened(request, invitation)
    with translation.override(invitation.language):
        answer = _opened(request, invitation)
    answer.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        invitation.language,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
        samesite="Lax",
    )
    return answer


@require_safe
@never_cache
@for_roles(ANNOTATOR)
def return_code_page(request: HttpRequest) -> HttpResponse:
    """Show the name and the code for coming back to those who began at once, while they are signed in."""
    code = stored_code(request)
    return render(request, "annotation/entry/begun.html", {"code": code}) if code else redirect("tasks")


def _opened(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    if isinstance(request.user, Account):
        return _joined(request, invitation, request.user)
    if request.method != "POST":
        return _page(request, invitation, AccountForm())
    if seconds := rate_limit.attempt(Try(limits.ENTRY_ADDRESS, limits.address_of(request))):
        return limits.too_often(request, "annotation/entry/invite_over.html", seconds)
    at_once = request.POST.get("act") == "once"
    form = AccountForm() if at_once else AccountForm(request.POST)
    if not at_once and not form.is_valid():
        return _page(request, invitation, form, status=422)
    chosen = (
        {}
        if at_once
        else {
            "username": form.cleaned_data["username"],
            "password": form.cleaned_data["password1"],
        }
    )
    version = request.POST.get("version", "")[:9]
    try:
        account, code = invitations.accept_invitation(
            invitation=invitation, version=int(version) if version.isdecimal() else 0, **chosen
        )
    except PhraseboxError as why:
        return _over(request, why)
    except instructions.StaleText as why:
        return _page(request, invitation, form, stale=str(why), status=409)
    except IntegrityError:
        form.add_error("username", _("Somebody has just taken this name. Choose another."))
        return _page(request, invitation, form, status=422)
    login(request, account, backend=BACKEND)
    if not code:
        return redirect("tasks")
    # The session lasts until the browser is closed; the code leads back.
    request.session.set_expiry(0)
    response = redirect("invite_begun")
    store_code(request, response, code)
    return response


def _joined(request: HttpRequest, invitation: Invitation, account: Account) -> HttpResponse:
    """Give a signed-in account access to the campaign, too."""
    if request.method != "POST":
        return render(request, "annotation/entry/invite_in.html", {"campaign": invitation.campaign})
    try:
        invitations.join_by_invitation(invitation=invitation, account=account)
    except PhraseboxError as why:
        return _over(request, why)
    return redirect("tasks")


def _page(
    request: HttpRequest, invitation: Invitation, form: AccountForm, *, stale: str = "", status: int = 200
) -> HttpResponse:
    campaign = invitation.campaign
    about = {
        "campaign": campaign,
        "questions": [TASK_TYPES.get(kind).title for kind in kinds_of(campaign)],
        "text": instructions.current_text(campaign=campaign, kind=instructions.CONSENT),
        "form": form,
        "stale": stale,
    }
    return render(request, "annotation/entry/invite.html", about, status=status)


def _over(request: HttpRequest, why: PhraseboxError) -> HttpResponse:
    return render(request, "annotation/entry/invite_over.html", {"why": str(why)}, status=410)


urlpatterns = [
    path("invite/<str:token>/", invitation_accept, name="invite"),
    path("return-code/", return_code_page, name="invite_begun"),
]
