"""The page on which staff create and revoke API tokens for their programs."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.web.common.access import BROWSING, for_roles
from annotation.web.staff.campaign_pages import account_of, act_form
from annotation.workers import api_tokens


@require_safe
@never_cache
@for_roles(*BROWSING)
def own_tokens(request: HttpRequest) -> HttpResponse:
    """Show the caller's tokens, and the form for another."""
    tokens = api_tokens.tokens_of(account_of(request)).order_by("-pk")
    about = {"tokens": tokens, "form": act_form(request, "make_token")}
    return render(request, "annotation/entry/tokens.html", about)


urlpatterns = [path("account/tokens/", own_tokens, name="own_tokens")]
