"""Entry of staff: by the link to the first account, which the server prints, or by an admin's invitation."""

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.common.locks import Busy
from annotation.recruitment.invite import AccountForm
from annotation.web.common import limits
from annotation.web.common.sign_in import enter_with_rule
from annotation.workers import rate_limit
from annotation.workers.accounts import first, inviting
from annotation.workers.rate_limit import Try
from phrasebox.errors import PhraseboxError

_PAGE = "annotation/entry/staff_account.html"


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def first_account(request: HttpRequest, token: str) -> HttpResponse:
    """Create the first account; without the link that the server printed, this page does not exist."""
    if not first.is_open(token):
        raise Http404(_("There is no such page."))
    about: dict[str, Any] = {"first": True}
    form = AccountForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return _form_page(request, form, about)
    chosen = form.cleaned_data
    try:
        account = first.make_first_account(
            token=token, username=chosen["username"], password=chosen["password1"]
        )
    except (first.TooLate, Busy) as why:
        raise Http404(str(why)) from why
    enter_with_rule(request, account)
    return redirect("home")


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def staff_invite(request: HttpRequest, token: str) -> HttpResponse:
    """Show the page of a staff invitation: an account with a name and a password of the user's choice."""
    try:
        invitation = inviting.open_staff_invitation(token)
    except PhraseboxError as why:
        return _over(request, why)
    about: dict[str, Any] = {"invitation": invitation, "signed_in": request.user.is_authenticated}
    form = AccountForm(request.POST or None)
    if request.method != "POST" or request.user.is_authenticated:
        return _form_page(request, AccountForm(), about)
    if seconds := rate_limit.attempt(Try(limits.ENTRY_ADDRESS, limits.address_of(request))):
        return limits.too_often(request, "annotation/entry/invite_over.html", seconds)
    if not form.is_valid():
        return _form_page(request, form, about)
    chosen = form.cleaned_data
    try:
        account = inviting.accept_staff_invitation(
            invitation=invitation, username=chosen["username"], password=chosen["password1"]
        )
    except PhraseboxError as why:
        return _over(request, why)
    except IntegrityError:
        form.add_error("username", _("Somebody has just taken this name. Choose another."))
        return _form_page(request, form, about)
    enter_with_rule(request, account)
    return redirect("home")


def _form_page(request: HttpRequest, form: AccountForm, about: dict[str, Any]) -> HttpResponse:
    return render(request, _PAGE, {**about, "form": form}, status=422 if form.errors else 200)


def _over(request: HttpRequest, why: PhraseboxError) -> HttpResponse:
    return render(request, "annotation/entry/invite_over.html", {"why": str(why)}, status=410)


urlpatterns = [
    path("first-account/<str:token>/", first_account, name="first_account"),
    path("staff-invite/<str:token>/", staff_invite, name="staff_invite"),
]
