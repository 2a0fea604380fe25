"""The page on which staff make and revoke the tokens by which their programs call the API."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.models import Campaign, Corpus
from annotation.selectors.scopes import campaigns_of, corpora_of
from annotation.web.common import limits
from annotation.web.common.access import BROWSING, for_roles
from annotation.web.staff.frame import account_of
from annotation.workers import api_tokens, rate_limit
from annotation.workers.api_tokens import TokenRefused

#: How long a token is good for unless something else is chosen, in days.
USUAL_TOKEN_DAYS = 30
#: Corpora and campaigns that are offered as limits; others have no place in a list to choose from.
_MOST_LIMITS = 200


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_roles(*BROWSING)
def own_tokens(request: HttpRequest) -> HttpResponse:
    """My tokens, and the form for another. Its secret is shown once, as the answer to the form."""
    if request.method != "POST":
        return _shown(request)
    account = account_of(request)
    if not account.has_usable_password():
        return _shown(request, wrong=_("Your account has no password: set one first."), status=409)
    tries = limits.sign_in_tries(request, account.get_username())
    if seconds := rate_limit.attempt(*tries):
        answer = _shown(request, wrong=limits.wait_words(seconds), status=429)
        answer["Retry-After"] = str(seconds)
        return answer
    if not account.check_password(request.POST.get("password", "")):
        return _shown(request, wrong=_("This is not your password."), status=422)
    rate_limit.take_back(*tries)
    try:
        days = request.POST.get("days", "")
        made = api_tokens.make_api_token(
            account=account,
            name=request.POST.get("name", ""),
            days=int(days) if days in map(str, api_tokens.TOKEN_DAYS) else 0,
            writes=request.POST.get("writes") == "1",
            **_limit(request),
        )
    except TokenRefused as error:
        return _shown(request, wrong=str(error), status=409)
    return _shown(request, made=made)


def _shown(request: HttpRequest, *, status: int = 200, **about: Any) -> HttpResponse:
    account = account_of(request)
    return render(
        request,
        "annotation/entry/tokens.html",
        {
            "tokens": api_tokens.tokens_of(account).order_by("-pk"),
            "days": api_tokens.TOKEN_DAYS,
            "given": request.POST if about.get("wrong") else {"days": str(USUAL_TOKEN_DAYS)},
            "corpora": _named(corpora_of(account, *BROWSING)),
            "campaigns": _named(campaigns_of(account, *BROWSING)),
            **about,
        },
        status=status,
    )


def _named(found: QuerySet[Any]) -> list[str]:
    return list(found.order_by("name").values_list("name", flat=True)[:_MOST_LIMITS])


def _limit(request: HttpRequest) -> dict[str, Any]:
    """The corpus or campaign that a form names as the token's limit; raises TokenRefused for one that is not
    open."""
    kind, _colon, name = request.POST.get("scope", "").partition(":")
    if not kind:
        return {}
    account = account_of(request)
    offered: dict[str, QuerySet[Corpus] | QuerySet[Campaign]] = {
        "corpus": corpora_of(account, *BROWSING),
        "campaign": campaigns_of(account, *BROWSING),
    }
    found = offered[kind].filter(name=name).first() if kind in offered else None
    if found is None:
        raise TokenRefused(_("There is no corpus or campaign “%(name)s” here.") % {"name": name[:100]})
    return {kind: found}


urlpatterns = [path("account/tokens/", own_tokens, name="own_tokens")]
