"""Views of signing in by another server: redirect, return, connect and disconnect."""

import logging
from typing import Any

from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import path
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from requests import RequestException

from annotation.recruitment import sign_in_elsewhere as elsewhere
from annotation.web.common import limits
from annotation.web.common.confirm import confirmed
from annotation.web.common.sign_in import PENDING, widened_for_redirect
from annotation.web.staff.campaign_pages import account_of
from annotation.workers import rate_limit
from annotation.workers.rate_limit import Try

_log = logging.getLogger(__name__)
#: Errors of the other server: it is away, rejects, or breaks the protocol.
_ERRORS = (RequestException, OAuth2Error, KeyError, TypeError, ValueError)


@login_not_required
@never_cache
@require_POST
def oidc_sign_in(request: HttpRequest) -> HttpResponseBase:
    """Redirect to the other server for signing in."""
    _check_enabled()
    if request.user.is_authenticated:
        return redirect("home")
    then = request.POST.get("next", "")
    same = url_has_allowed_host_and_scheme(
        then, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return _redirect_to_provider(request, elsewhere.SIGN_IN, then if same else "")


@login_not_required
@never_cache
@require_safe
def oidc_back(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    """Handle the return from the other server, which is asked for the identity over a separate connection."""
    _check_enabled()
    if provider_id != elsewhere.provider_id():
        raise Http404(_("There is no such page."))
    tried = Try(limits.SIGN_IN_ADDRESS, limits.address_of(request))
    if seconds := rate_limit.attempt(tried):
        return limits.too_often(request, "annotation/sign_in.html", seconds)
    view: Any = OAuth2CallbackView.adapter_view(elsewhere.WhoSomebodyIs(request, provider_id))
    try:
        answer: HttpResponseBase = view(request)
    except _ERRORS:
        _log.warning("the OpenID Connect server answered what cannot be read", exc_info=True)
        return elsewhere.problem_page(request)
    if PENDING in request.session or request.user.is_authenticated:
        rate_limit.take_back(tried)
    return answer


@widened_for_redirect
@never_cache
@require_POST
@confirmed
def oidc_connect(request: HttpRequest) -> HttpResponseBase:
    """Redirect to the other server, to connect its user to the account that is signed in here."""
    _check_enabled()
    return _redirect_to_provider(request, elsewhere.CONNECT, "", account_of(request).pk)


@require_POST
@confirmed
def oidc_disconnect(request: HttpRequest) -> HttpResponseBase:
    """Delete the caller's connection to the other server."""
    if elsewhere.disconnect(account_of(request)):
        messages.success(request, _("Disconnected: you sign in with your password."))
    return redirect("account")


def _redirect_to_provider(
    request: HttpRequest, process: str, then: str, data: int | None = None
) -> HttpResponseBase:
    tried = Try(limits.ELSEWHERE_ADDRESS, limits.address_of(request))
    if seconds := rate_limit.attempt(tried):
        return limits.too_often(request, "annotation/sign_in.html", seconds)
    provider = get_adapter().get_provider(request, elsewhere.provider_id())
    try:
        there: HttpResponseBase = provider.redirect(request, process=process, next_url=then, data=data)
        return there
    except _ERRORS:
        _log.warning("the OpenID Connect server answered what cannot be read", exc_info=True)
        return elsewhere.problem_page(request)


def _check_enabled() -> None:
    if settings.OIDC is None:
        raise Http404(_("There is no such page."))


urlpatterns = [
    path("sign-in/elsewhere/", oidc_sign_in, name="oidc_sign_in"),
    # allauth requires this name of the return route.
    path("sign-in/elsewhere/<slug:provider_id>/back/", oidc_back, name="openid_connect_callback"),
    path("account/sign-in/connect/", oidc_connect, name="connect_oidc"),
    path("account/sign-in/disconnect/", oidc_disconnect, name="disconnect_oidc"),
]
