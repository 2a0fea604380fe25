"""Acts that ask for the password again: an open browser alone must not suffice to grant roles, erase or pay.

Accounts that entered their password within the last minutes are not asked again. The submitted form is kept
while the password is requested, and processed once it is right.
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

#: The field of the password page; it is not passed to the view.
PASSWORD_FIELD = "confirm_password"
#: Methods that change nothing.
_SAFE = ("GET", "HEAD", "OPTIONS")

_View = Callable[..., HttpResponseBase]


def confirmed(view: _View) -> _View:
    """Permit a view only to accounts that entered their password within the last minutes; others are asked
    for it.

    Put it inside the decorator that requires a role, so that only permitted accounts are asked. Reading needs
    no password. A session from the address of a crowd platform never passes. An account without a password
    passes if it has no staff role: there is no password to ask for, and it can only act on itself.
    """
    return confirmed_where(lambda request: True)(view)


def confirmed_where(asks: Callable[[HttpRequest], bool]) -> Callable[[_View], _View]:
    """Like `confirmed`, for a view with several acts: the password is required if `asks(request)` is true."""

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
    """Return the page that asks for the password, with the error; None if it was right."""
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
    """Return the page that asks for the password; its form repeats the submitted form, to the same
    address."""
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
