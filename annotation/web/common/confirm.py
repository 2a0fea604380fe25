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
            sent = request.POST.copy()
            given = sent.pop(PASSWORD_FIELD, [""])[-1]
            if not sessions.recently_confirmed(request.session):
                refused = _refused(request, sent, str(given))
                if refused is not None:
                    return refused
            request.POST = sent  # type: ignore[assignment]
            return view(request, *args, **kwargs)

        return asking

    return decorated


def _refused(request: HttpRequest, sent: QueryDict, given: str) -> HttpResponse | None:
    """The page that asks for the password, with what is wrong; None where the right one was given."""
    account = account_of(request)
    if not account.has_usable_password():
        if not account.has_staff_role:
            return None
        return _asked(request, account, sent, _("Your account has no password: set one first."), 409)
    if not given:
        return _asked(request, account, sent)
    tries = limits.sign_in_tries(request, account.get_username())
    if seconds := rate_limit.attempt(*tries):
        answer = _asked(request, account, sent, limits.wait_words(seconds), 429)
        answer["Retry-After"] = str(seconds)
        return answer
    if not account.check_password(given):
        return _asked(request, account, sent, _("This is not your password."), 422)
    rate_limit.take_back(*tries)
    sessions.mark_confirmed(request.session)
    return None


def _asked(
    request: HttpRequest, account: Account, sent: QueryDict, wrong: str = "", status: int = 200
) -> HttpResponse:
    """The page that asks; its form sends again what was sent, to the same address."""
    kept = [
        (name, value)
        for name, values in sent.lists()
        if name != "csrfmiddlewaretoken"
        for value in values
        if isinstance(value, str)
    ]
    before = request.headers.get("Referer", "")
    same = url_has_allowed_host_and_scheme(
        before, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    about = {
        "kept": kept,
        "wrong": wrong,
        "minutes": sessions.CONFIRM_SECONDS // 60,
        "password": account.has_usable_password(),
        "files": bool(request.FILES),
        "back": before if same else "",
    }
    return render(request, "annotation/confirm.html", about, status=status)
