"""Signing in and out: Django's own views with our words, and not too often."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator

from annotation.web.common import confirm, known_browsers, limits
from annotation.workers import rate_limit, sessions


class SignIn(LoginView):
    """The sign-in page. `next` is followed only within this host; what was wrong is not said in detail."""

    template_name = "annotation/sign_in.html"
    redirect_authenticated_user = True
    next_page = "home"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Try name and password, unless that was tried too often: then even the right ones are refused."""
        name = request.POST.get("username", "")
        self.tries = limits.sign_in_tries(request, name)
        if seconds := rate_limit.attempt(*self.tries):
            again = self.get_form_class()(request, initial={"username": name})
            return limits.too_often(request, self.template_name, seconds, **self.get_context_data(form=again))
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        rate_limit.take_back(*self.tries)
        response = super().form_valid(form)
        # Who has a password may do more than work, also where they came by a platform's address before.
        self.request.session.pop(sessions.VISIT, None)
        confirm.mark_confirmed(self.request)
        known_browsers.remember(self.request, response, limits.folded_name(form.get_user().get_username()))
        return response

    def get_success_url(self) -> str:
        """Where to go on; never back to this page, which would lead a signed-in visitor in a circle."""
        address = super().get_success_url()
        return self.get_default_redirect_url() if address.partition("?")[0] == self.request.path else address


# Whose session is over already must not be led back here by the sign-in page: this takes no GET.
@method_decorator(login_not_required, name="dispatch")
class SignOut(LogoutView):
    """Ends the session, by POST only, and leads to the sign-in page."""

    http_method_names = ["post"]
    next_page = "sign_in"
