"""Acts that ask for the password again: who finds a browser open must not grant roles, erase or pay.

Somebody who gave their password within the last minutes is not asked again. What a form sent is kept while
the password is asked for, and done once it is right.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from annotation.models import Account
from annotation.web.common import limits
from annotation.web.common.access import account_of
from annotation.workers import rate_limit, sessions

#: The field of the page that asks; it is kept away from the act itself.
PASSWORD_FIELD = "confirm_password"
#: Methods that change nothing.
_SAFE = ("GET", "HEAD", "OPTIONS")

_View = Callable[..., HttpResponseBase]


def confirmed(view: _View) -> _View:
    """Let a view act only for somebody who gave their password within the last minutes; others are asked.

    Put it inside the decorator that asks for a role, so that only who may act is asked. Reading asks for
    nothing. A session that was opened by the address of a crowd platform never passes. An account without
    a password passes where it has no role of staff: there is nothing to ask it for, and it can only act on
    itself.
    """
    return confirmed_where(lambda request: True)(view)


def confirmed_where(asks: Callable[[HttpRequest], bool]) -> Callable[[_View], _View]:
    """As `confirmed`, for a view with several acts: it is asked for where `asks` says so of the request."""

    def decorated(view: _View) -> _View:
        @wraps(view)
        def asking(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method in _SAFE or not asks(request):
                return view(request, *args, **kwargs)
            if sessions.by_address(request.session):
                return render(request, "annotation/only_work.html", {}, status=403)
            form = request.POST.copy()
            password = form.pop(PASSWORD_FIELD, [""])[-1]
            if not sessions.recently_confirmed(request.session):
                page = _password_page(request, form, str(password))
                if page is not None:
                    return page
            request.POST = form  # type: ignore[assignment]
            return view(request, *args, **kwargs)

        return asking

    return decorated


def _password_page(request: HttpRequest, form: QueryDict, password: str) -> HttpResponse | None:
    """The page that asks for the password, with what is wrong; None where the right one was given."""
    account = account_of(request)
    if not account.has_usable_password():
        if not account.has_staff_role:
            return None
        return _ask_for_password(
            request, account, form, _("Your account has no password: set one first."), 409
        )
    if not password:
        return _ask_for_password(request, account, form)
    tries = limits.sign_in_tries(request, account.get_username())
    if seconds := rate_limit.attempt(*tries):
        answer = _ask_for_password(request, account, form, limits.wait_words(seconds), 429)
        answer["Retry-After"] = str(seconds)
        return answer
    if not account.check_password(password):
        return _ask_for_password(request, account, form, _("This is not your password."), 422)
    rate_limit.take_back(*tries)
    sessions.mark_confirmed(request.session)
    return None


def _ask_for_password(
    request: HttpRequest, account: Account, form: QueryDict, problem: str = "", status: int = 200
) -> HttpResponse:
    """The page that asks; its form sends again what was sent, to the same address."""
    hidden = [
        (name, value)
        for name, values in form.lists()
        if name != "csrfmiddlewaretoken"
        for value in values
        if isinstance(value, str)
    ]
    before = request.headers.get("Referer", "")
    same = url_has_allowed_host_and_scheme(
        before, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    about = {
        "hidden": hidden,
        "error": problem,
        "minutes": sessions.CONFIRM_SECONDS // 60,
        "password": account.has_usable_password(),
        "files": bool(request.FILES),
        "back": before if same else "",
    }
    return render(request, "annotation/confirm.html", about, status=status)
