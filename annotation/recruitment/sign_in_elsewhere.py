"""Signing in by another server (OpenID Connect): django-allauth runs the protocol, we decide the rest.

The owner of an account connects it to their account there, signed in here, and enters the password for it.
E-mail addresses and groups from the other server are not requested and not used. Nobody gets an account or a
role by it, and second factors are required as after a password.
"""

import hashlib
from typing import Any, NoReturn

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.common.addresses import full_address
from annotation.models import Account
from annotation.web.common import sign_in

#: Purposes of a redirect to another server, in allauth's words.
SIGN_IN, CONNECT = "login", "connect"


def provider_id() -> str:
    """Return the provider's name in stored connections: it depends on the issuer, so that nobody of a new
    server is taken for a user of the earlier one with the same number."""
    assert settings.OIDC is not None
    return f"oidc-{hashlib.sha256(settings.OIDC['issuer'].encode()).hexdigest()[:16]}"


def connection_of(account: Account) -> SocialAccount | None:
    """Return the connection of an account to the other server, if it has one."""
    if settings.OIDC is None:
        return None
    return SocialAccount.objects.filter(user=account, provider=provider_id()).first()


def disconnect(account: Account) -> bool:
    """Remove the possibility to sign in as `account` by another server; return False if there was none."""
    with database.writing():
        gone = bool(SocialAccount.objects.filter(user=account).delete()[0])
        if gone:
            record(actor=account, act="disconnect_sign_in", account=account.get_username())
    return gone


class NoSignUp(DefaultAccountAdapter):
    """Disables signing up by allauth."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return False."""
        return False


class SignInElsewhere(DefaultSocialAccountAdapter):
    """Stops allauth after identification: we sign in, connect or reject."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """Return False."""
        return False

    def authenticate_by_email(self, sociallogin: Any) -> None:
        """Do nothing: nobody is identified by an e-mail address."""
        return None

    def list_apps(
        self, request: HttpRequest, provider: str | None = None, client_id: str | None = None
    ) -> list[SocialApp]:
        """Return the one server of the settings; the table of such servers is ignored."""
        if settings.OIDC is None or provider not in (None, provider_id()):
            return []
        app = SocialApp(
            provider="openid_connect",
            provider_id=provider_id(),
            name=settings.OIDC["name"],
            client_id=settings.OIDC["client_id"],
            secret=settings.OIDC["secret"],
            settings={
                "server_url": settings.OIDC["issuer"],
                # Only the identity.
                "scope": ["openid"],
                "fetch_userinfo": False,
                "oauth_pkce_enabled": True,
            },
        )
        return [app]

    def get_provider(self, request: HttpRequest, provider: str, client_id: str | None = None) -> Any:
        """The one server, asked as `WhoSomebodyIs` asks it."""
        server = super().get_provider(request, provider, client_id)
        server.oauth2_adapter_class = WhoSomebodyIs
        return server

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Any = None,
        extra_context: Any = None,
    ) -> NoReturn:
        """Redirect to the previous page, with the remedy."""
        raise ImmediateHttpResponse(_back_with_error(request, sign_in_error_message()))

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> NoReturn:
        """Continue with the identity there, and the connected account here, if any."""
        if sociallogin.state.get("process") == CONNECT:
            raise ImmediateHttpResponse(_connected(request, sociallogin))
        raise ImmediateHttpResponse(_entered(request, sociallogin))


class WhoSomebodyIs(OpenIDConnectOAuth2Adapter):
    """Reads the other server's signed identity token; nothing else of it is stored."""

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        """The way back, whatever host a request names."""
        return full_address("openid_connect_callback", [provider_id()])

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **kwargs: Any) -> Any:
        """Return the login. Raises OAuth2Error if the token is missing, from another server, or without a
        subject."""
        assert settings.OIDC is not None
        if not kwargs["response"].get("id_token"):
            raise OAuth2Error("no id_token")
        if self.openid_config["issuer"].rstrip("/") != settings.OIDC["issuer"]:
            raise OAuth2Error("another issuer than OIDC_ISSUER")
        try:
            login = super().complete_login(request, app, token, **kwargs)
        except ImproperlyConfigured as error:
            raise OAuth2Error("the subject is too long") from error
        if not login.account.uid:
            raise OAuth2Error("no subject")
        login.account.extra_data = {}
        login.email_addresses = []
        return login


def _entered(request: HttpRequest, sociallogin: Any) -> HttpResponse:
    if request.user.is_authenticated:
        return redirect("home")
    account = sociallogin.user if sociallogin.account.pk is not None else None
    if not isinstance(account, Account) or not account.is_active:
        return _back_with_error(
            request,
            _(
                "No account here is connected to you there. Sign in with your password, and connect it to "
                "your account. If you have no account, ask an admin of this server to invite you."
            ),
        )
    then = sociallogin.state.get("next") or reverse("home")
    return sign_in.begin_session(request, account, then=then, by_password=False)


def _connected(request: HttpRequest, sociallogin: Any) -> HttpResponse:
    account = request.user
    if not isinstance(account, Account) or sociallogin.state.get("data") != account.pk:
        return _back_with_error(request, sign_in_error_message())
    owner = sociallogin.user if sociallogin.account.pk is not None else None
    if owner is None:
        try:
            with database.writing():
                SocialAccount.objects.filter(user=account).delete()
                SocialAccount.objects.create(
                    user=account, provider=provider_id(), uid=sociallogin.account.uid
                )
                record(actor=account, act="connect_sign_in", account=account.get_username())
        except IntegrityError:
            owner = "somebody who was faster"
    if owner is None or owner == account:
        messages.success(request, _("Connected: you can sign in that way from now on."))
    else:
        messages.error(request, _("This sign-in is connected to another account here."))
    return redirect("account")


def _back_with_error(request: HttpRequest, why: str) -> HttpResponse:
    """Redirect to the previous page with an error."""
    messages.error(request, why)
    return redirect("account" if request.user.is_authenticated else "sign_in")


def sign_in_error_message() -> str:
    """Return the message if the other server did not identify the user."""
    return _("The other server did not confirm who you are. Try again, or sign in with your password.")


def problem_page(request: HttpRequest) -> HttpResponse:
    """Show that the other server cannot be reached, or breaks the protocol."""
    return render(request, "annotation/entry/oidc_away.html", {}, status=502)
