"""Who may open a page: a decorator that asks for a role, and says why not where it is missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from annotation.models.crowd import RESEARCHER, REVIEWER

View = Callable[..., HttpResponseBase]

#: Who may look at corpora and pictures; admins hold every role.
BROWSING = (REVIEWER, RESEARCHER)
#: Who may run campaigns and evaluations.
RUNNING = (RESEARCHER,)


def for_roles(*roles: str) -> Callable[[View], View]:
    """Let a view be opened by accounts that hold one of `roles`.

    Others who are signed in get a page that names the roles and the next step (status 403);
    anonymous visitors go to the sign-in page and come back.
    """

    def guard(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            account: Any = request.user
            if account.has_role(*roles):
                return view(request, *args, **kwargs)
            return render(request, "annotation/role_missing.html", {"roles": roles}, status=403)

        return login_required(guarded)

    return guard
