"""Pages for setting up a second factor, getting recovery codes, and turning it off."""

from typing import Any

import segno
from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.common.addresses import site_host
from annotation.web.common import limits
from annotation.web.common.access import for_setting_up
from annotation.web.common.confirm import confirmed
from annotation.web.staff.campaign_pages import account_of, result_message
from annotation.workers import rate_limit, sessions
from annotation.workers.accounts import second_factor
from annotation.workers.api_tokens import digest_of_secret
from phrasebox.errors import PhraseboxError

_CODES_PAGE = "annotation/entry/recovery_codes.html"
#: Session key of the digest of the secret that is being set up.
_BEGUN = "factor_begun"


@for_setting_up
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@confirmed
def second_factor_set_up(request: HttpRequest) -> HttpResponse:
    """Show a QR code for an app, and the form for its first code; then the recovery codes, once."""
    account = account_of(request)
    try:
        secret = second_factor.begin_second_factor(account, seen=request.session.get(_BEGUN, ""))
    except PhraseboxError as error:
        if sessions.sets_up_first(request.session):
            # It was set up elsewhere meanwhile; a session that was opened without it stays locked.
            logout(request)
            return redirect("sign_in")
        messages.error(request, str(error))
        return redirect("account")
    request.session[_BEGUN] = digest_of_secret(secret)
    page, about = "annotation/entry/second_factor.html", _about(request, secret)
    if request.method != "POST":
        return render(request, page, about)
    tries = limits.second_factor_tries(request, account.get_username())
    if seconds := rate_limit.attempt(*tries):
        return limits.too_often(request, page, seconds, **about)
    try:
        codes = second_factor.confirm_second_factor(account=account, code=request.POST.get("code", ""))
    except PhraseboxError as error:
        return render(request, page, {**about, "error": str(error)}, status=422)
    rate_limit.take_back(*tries)
    request.session.pop(sessions.SET_UP_FIRST, None)
    request.session.pop(_BEGUN, None)
    return render(request, _CODES_PAGE, {"codes": codes})


@require_POST
@never_cache
@confirmed
def recovery_codes_renew(request: HttpRequest) -> HttpResponse:
    """Show ten new recovery codes, once; the old ones become invalid."""
    try:
        codes = second_factor.renew_recovery_codes(account=account_of(request))
    except PhraseboxError as error:
        messages.error(request, str(error))
        return redirect("account")
    return render(request, _CODES_PAGE, {"codes": codes, "again": True})


@require_POST
@confirmed
def second_factor_remove(request: HttpRequest) -> HttpResponse:
    """Turn off the caller's second factor, unless this server requires one."""
    with result_message(request, PhraseboxError) as show:
        second_factor.remove_second_factor(account=account_of(request))
        show(_("Your second factor is off: signing in asks for the password alone."))
    return redirect("account")


def _about(request: HttpRequest, secret: str) -> dict[str, Any]:
    address = second_factor.address_for_app(account_of(request), secret, server=site_host())
    drawn = segno.make(address, error="m", micro=False)
    return {
        "secret": " ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
        # Black on white in either theme, with the margin that cameras need.
        "picture": drawn.svg_data_uri(scale=5, border=4, dark="#000", light="#fff"),
        "must": sessions.sets_up_first(request.session),
    }


urlpatterns = [
    path("account/second-factor/", second_factor_set_up, name="set_up_second_factor"),
    path("account/second-factor/codes/", recovery_codes_renew, name="renew_recovery_codes"),
    path("account/second-factor/remove/", second_factor_remove, name="remove_second_factor"),
]
