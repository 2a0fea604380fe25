"""Every view asks for a sign-in unless it says otherwise, and the person who came by a crowd platform's
address gets to work alone. Nobody keeps a page that asks for a sign-in."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.utils.cache import add_never_cache_headers

from annotation.models import Account, Worker
from annotation.web.common.access import only_work, set_up_first
from annotation.workers import sessions


class SignInRequired(LoginRequiredMiddleware):
    """Django's own, but it looks at the view first.

    Django 5.2 asks who is there even where the view does not want to know: two queries for each
    picture of a page, and for each question of a supervisor.
    """

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., Any],
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        """Lead to the sign-in who must sign in; refuse who came by a platform and may only work."""
        if not getattr(view_func, "login_required", True):
            return None
        asking: Any = request
        asking.asks_for_sign_in = True
        shut = super().process_view(request, view_func, view_args, view_kwargs)
        if shut is None:
            shut = only_work(request, view_func)
        return shut if shut is not None else set_up_first(request, view_func)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponseBase | None:
        """Who asks for a page in the moment in which they become another worker (`joining`) asks again."""
        moved = isinstance(exception, IntegrityError | Worker.DoesNotExist)
        if not moved or request.method != "GET" or not sessions.by_address(request.session):
            return None
        account = Account.objects.filter(pk=request.user.pk or 0)
        return None if account.exists() else HttpResponseRedirect(request.get_full_path())

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Neither the browser nor anything before it keeps what only somebody signed in may see, so that the
        way back shows nothing to the next person at a machine."""
        if getattr(request, "asks_for_sign_in", False) and not response.has_header("Cache-Control"):
            add_never_cache_headers(response)
        return response
