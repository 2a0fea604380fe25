"""Signing in and out: Django's own views with our words."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.utils.decorators import method_decorator


class SignIn(LoginView):
    """The sign-in page. `next` is followed only within this host; what was wrong is not said in detail."""

    template_name = "annotation/sign_in.html"
    redirect_authenticated_user = True
    next_page = "home"

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
