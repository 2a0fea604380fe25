"""Signing in and out: Django's own views with our templates and rate limits.

An account with a second factor is signed in after a second step, which asks for a code; until then the
session stores whose password was right, and permits nothing.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.common import database
from annotation.models import Account
from annotation.web.common import limits
from annotation.workers import rate_limit, sessions
from annotation.workers.accounts import second_factor

#: The backend of signed-in accounts.
BACKEND = "django.contrib.auth.backends.ModelBackend"
#: Session key of the account that still has to enter a code, and for how many seconds.
PENDING = "sign_in"
PENDING_SECONDS = 10 * 60


def widened_for_redirect(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Permit the forms of a page to redirect to the server for sign-in elsewhere: browsers apply the policy
    of the page to the redirect after a form."""

    @wraps(view)
    def widened(*args: Any, **kwargs: Any) -> HttpResponseBase:
        answer: Any = view(*args, **kwargs)
        if settings.OIDC is not None:
            answer._csp_update = {"form-action": [settings.OIDC["login_origin"]]}
        return answer

    return widened


@method_decorator(widened_for_redirect, name="dispatch")
class SignIn(LoginView):
    """The sign-in page. `next` is followed only within this host; errors have no details."""

    template_name = "annotation/sign_in.html"
    redirect_authenticated_user = True
    next_page = "home"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Check name and password, unless the rate limit is reached: then even the right ones are
        rejected."""
        name = request.POST.get("username", "")
        self.tries = limits.sign_in_tries(request, name)
        if seconds := rate_limit.attempt(*self.tries):
            again = self.get_form_class()(request, initial={"username": name})
            return limits.too_often(request, self.template_name, seconds, **self.get_context_data(form=again))
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        rate_limit.take_back(*self.tries)
        account = form.get_user()
        assert isinstance(account, Account)
        return begin_session(self.request, account, then=self.get_success_url(), by_password=True)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return the context of the page, including the server for sign-in elsewhere."""
        return super().get_context_data(oidc=settings.OIDC, **kwargs)

    def get_success_url(self) -> str:
        """Return the next address; never this page, which would redirect a signed-in visitor in a circle."""
        address = super().get_success_url()
        return self.get_default_redirect_url() if address.partition("?")[0] == self.request.path else address


def begin_session(request: HttpRequest, account: Account, *, then: str, by_password: bool) -> HttpResponse:
    """Sign in an authenticated `account`, or first ask for the code of its second factor.

    `then` is the next address, on this host. `by_password`: the password was entered, which some acts require
    again.
    """
    if not second_factor.has_second_factor(account):
        return _signed_in(request, account, then=then, by_password=by_password)
    # A new key, since somebody may know the old one.
    request.session.cycle_key()
    request.session[PENDING] = {
        "account": account.pk,
        "hash": account.get_session_auth_hash(),
        "at": int(database.now().timestamp()),
        "then": then,
        "by_password": by_password,
    }
    return redirect("second_factor")


def enter_with_rule(request: HttpRequest, account: Account) -> None:
    """Sign in a new account, with a password; if this server requires a second factor, that is set up
    first."""
    login(request, account, backend=BACKEND)
    sessions.mark_confirmed(request.session)
    if second_factor.lacks_second_factor(account):
        request.session[sessions.SET_UP_FIRST] = True


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def second_factor_step(request: HttpRequest) -> HttpResponse:
    """Ask for the code of a sign-in: one of the app's, or a recovery code."""
    pending: Any = request.session.get(PENDING)
    account = _pending_account(pending)
    if account is None:
        request.session.pop(PENDING, None)
        if request.user.is_authenticated:
            return redirect("home")
        messages.error(request, _("Sign in again: the code was not entered in time."))
        return redirect("sign_in")
    page = "annotation/entry/second_factor_step.html"
    if request.method != "POST":
        return render(request, page)
    tries = limits.second_factor_tries(request, account.get_username())
    if seconds := rate_limit.attempt(*tries):
        return limits.too_often(request, page, seconds)
    accepted = second_factor.accept_code(account=account, code=request.POST.get("code", ""))
    if accepted is None:
        problem = _("This code is wrong, or was used already. Wait for the next one that the app shows.")
        return render(request, page, {"error": problem}, status=422)
    rate_limit.take_back(*tries)
    answer = _signed_in(request, account, then=pending["then"], by_password=pending["by_password"])
    if accepted.by_recovery_code:
        warning = ngettext(
            "You used a recovery code; %(left)d is left. You can make new ones on the page “My account”.",
            "You used a recovery code; %(left)d are left. You can make new ones on the page “My account”.",
            accepted.codes_left,
        )
        messages.warning(request, warning % {"left": accepted.codes_left})
        answer["Location"] = reverse("account")
    return answer


def _pending_account(pending: Any) -> Account | None:
    """Return the account whose password was right some minutes ago, and is unchanged; None otherwise."""
    if not isinstance(pending, dict) or not (
        0 <= database.now().timestamp() - pending["at"] <= PENDING_SECONDS
    ):
        return None
    account = Account.objects.filter(pk=pending["account"], is_active=True).first()
    if account is None or not constant_time_compare(account.get_session_auth_hash(), pending["hash"]):
        return None
    return account


def _signed_in(request: HttpRequest, account: Account, *, then: str, by_password: bool) -> HttpResponse:
    login(request, account, backend=BACKEND)
    for over in (PENDING, sessions.SET_UP_FIRST):
        request.session.pop(over, None)
    # An account with a password may do more than work, even if it came by a platform's address before.
    request.session.pop(sessions.VISIT, None)
    if by_password:
        sessions.mark_confirmed(request.session)
    if second_factor.lacks_second_factor(account):
        request.session[sessions.SET_UP_FIRST] = True
        then = reverse("set_up_second_factor")
    # Anything else is the name of a route.
    there = then.startswith(("/", "http://", "https://"))
    answer = redirect(then if there else settings.LOGIN_REDIRECT_URL)
    limits.remember(request, answer, limits.folded_name(account.get_username()))
    return answer


# A visitor whose session has ended must not be led back here by the sign-in page: this accepts no GET.
@method_decorator(login_not_required, name="dispatch")
class SignOut(LogoutView):
    """Ends the session, only by POST, and redirects to the sign-in page."""

    http_method_names = ["post"]
    next_page = "sign_in"
