"""Accounts: a forgotten password, and the page on which users see and control their stored data."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout, views
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import PasswordResetForm, SetPasswordForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import operation_named
from annotation.common.roles import ANNOTATOR
from annotation.jobs import emails
from annotation.models import Account
from annotation.recruitment import sign_in_elsewhere
from annotation.selectors.campaign.cost import money
from annotation.selectors.workers import own_data
from annotation.web.common import limits
from annotation.web.common.confirm import confirmed, confirmed_where
from annotation.web.common.request_forms import RequestForm
from annotation.web.common.sign_in import widened_for_redirect
from annotation.web.staff.campaign_pages import account_of, result_message
from annotation.workers import payments, pseudonyms, rate_limit, sessions
from annotation.workers.accounts import second_factor
from annotation.workers.accounts.country import country_names
from phrasebox.errors import PhraseboxError


class MailForm(forms.Form):
    """An e-mail address, or none, and whether messages of researchers are sent there."""

    email = forms.EmailField(label=gettext_lazy("Email"), max_length=254, required=False)
    messages = forms.BooleanField(
        label=gettext_lazy("Also send me messages from researchers about my work"), required=False
    )


@method_decorator([login_not_required, never_cache], name="dispatch")
class PasswordReset(views.PasswordResetView):
    """Asks for an e-mail address, and sends a link there if an account has it: neither the page nor its
    timing reveals whether."""

    template_name = "annotation/entry/reset.html"
    success_url = reverse_lazy("reset_sent")
    extra_context = {"sends": settings.SENDS_MAIL}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Count every e-mail in the rate limits, by recipient and by sender."""
        mail = request.POST.get("email", "")
        if seconds := rate_limit.attempt(*limits.reset_tries(request, mail)):
            again = self.get_form_class()(initial={"email": mail})
            about = self.get_context_data(form=again)
            return limits.too_often(request, self.template_name, seconds, **about)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: PasswordResetForm) -> HttpResponse:
        emails.request_email(
            address=form.cleaned_data["email"],
            language=get_language() or settings.LANGUAGE_CODE,
        )
        return redirect("reset_sent")


@method_decorator(login_not_required, name="dispatch")
class PasswordResetSent(views.PasswordResetDoneView):
    """Shows where to look for the e-mail."""

    template_name = "annotation/entry/reset_sent.html"


@method_decorator(login_not_required, name="dispatch")
class PasswordResetConfirm(views.PasswordResetConfirmView):
    """The page of the e-mail's link: a new password, or the message that the link is used or too old."""

    template_name = "annotation/entry/reset_confirm.html"
    success_url = reverse_lazy("sign_in")

    def form_valid(self, form: SetPasswordForm[Account]) -> HttpResponse:
        """Set the password. The link in the e-mail lifts the rate limits of the account; all other sessions
        end at once, and the account's tokens and its connection to another server are removed."""
        pair, name, *_address = limits.sign_in_tries(self.request, form.user.get_username())
        rate_limit.forget(pair, name)
        messages.success(self.request, _("Password changed. Sign in with the new one."))
        then = super().form_valid(form)
        sign_in_elsewhere.disconnect(form.user)
        sessions.end_access(form.user)
        return then


class PasswordChange(views.PasswordChangeView):
    """A new password for a user who enters the old one, with the rate limits of the sign-in."""

    template_name = "annotation/entry/password.html"
    success_url = reverse_lazy("account")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Check the old password, unless the rate limit is reached: then even the right one is rejected."""
        self.tries = limits.sign_in_tries(request, account_of(request).get_username())
        if seconds := rate_limit.attempt(*self.tries):
            again = self.get_form_class()(account_of(request))
            return limits.too_often(request, self.template_name, seconds, **self.get_context_data(form=again))
        return super().post(request, *args, **kwargs)

    def form_invalid(self, form: Any) -> HttpResponse:
        """Count only a wrong old password as an attempt."""
        if "old_password" not in form.errors:
            rate_limit.take_back(*self.tries)
        return super().form_invalid(form)

    def form_valid(self, form: Any) -> HttpResponse:
        rate_limit.take_back(*self.tries)
        messages.success(self.request, _("Password changed."))
        return super().form_valid(form)


@widened_for_redirect
@require_safe
@never_cache
def account(request: HttpRequest) -> HttpResponse:
    """Show the caller's account, stored data and consents; and what can be done about them."""
    user = account_of(request)
    # The default for a new address.
    wants = user.mails_messages or not user.email
    return _account(request, MailForm(initial={"email": user.email, "messages": wants}))


def _names_another_address(request: HttpRequest) -> bool:
    return request.POST.get("email", "").strip() != account_of(request).email


@require_POST
@confirmed_where(_names_another_address)
def mail(request: HttpRequest) -> HttpResponse:
    """Store or delete an e-mail address for a forgotten password, and for messages if wanted.

    A new address requires the password: its reader can choose a new one.
    """
    form = MailForm(request.POST)
    if not form.is_valid():
        return _account(request, form, status=422)
    user = account_of(request)
    before, user.email = user.email, form.cleaned_data["email"]
    user.mails_messages = bool(user.email) and form.cleaned_data["messages"]
    with database.writing():
        user.save(update_fields=["email", "mails_messages"])
        if user.email != before:
            # Without the address, which is private.
            record(actor=user, act="change_email", account=user.get_username())
    messages.success(request, _("Email address saved.") if user.email else _("Email address removed."))
    return redirect("account")


@require_safe
@never_cache
def own_answers(request: HttpRequest) -> HttpResponseBase:
    """Return all stored data of the caller, as a JSON file."""
    user = account_of(request)
    worker = own_data.worker_behind(user)
    if worker is None:
        raise Http404(_("You have not worked here yet, so there is nothing to download."))
    answer = StreamingHttpResponse(own_data.own_data_json(user, worker), content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="{worker.pseudonym}.json"'
    return answer


@require_POST
@confirmed
def erase_me(request: HttpRequest) -> HttpResponse:
    """Erase the caller's identity; answers stay under the pseudonym, which then leads to nobody."""
    user = account_of(request)
    worker = own_data.worker_behind(user)
    if worker is None:
        raise Http404(_("You have not worked here yet, so there is nothing to delete."))
    gone = False
    with result_message(request, PhraseboxError):
        if request.POST.get("sure") != "yes":
            raise PhraseboxError(_("Deleting cannot be undone: confirm it first."))
        if payments.unpaid(worker=worker.pk):
            raise PhraseboxError(
                _("You have not been paid for everything yet: you can delete your account once you have.")
            )
        if user.has_staff_role:
            raise PhraseboxError(_("Your account has a staff role: ask an admin to revoke it first."))
        texts, reasons = (request.POST.get(name) == "yes" for name in ("texts", "reasons"))
        pseudonyms.erase_worker(worker=worker, by_themselves=True, texts=texts, reasons=reasons)
        gone = True
    if not gone:
        return redirect("account")
    logout(request)
    return render(request, "annotation/entry/erased.html", {"pseudonym": worker.pseudonym})


def _account(request: HttpRequest, form: MailForm, status: int = 200) -> HttpResponse:
    user = account_of(request)
    worker = own_data.worker_behind(user)
    about: dict[str, Any] = {
        "form": form,
        "worker": worker,
        "works": user.has_role_somewhere(ANNOTATOR),
        "oidc": settings.OIDC,
        "connected": sign_in_elsewhere.connection_of(user),
        "second_factor": second_factor.has_second_factor(user),
        "codes_left": second_factor.codes_left(user),
        "must_have_second_factor": second_factor.must_have_second_factor(user),
    }
    if worker is not None:
        about |= {
            "country": country_names().get(worker.identity.country),
            "say_country": RequestForm(operation_named("say_country"), user),
            "shares": own_data.shares(worker),
            "consents": own_data.consents(worker),
            "wrote": pseudonyms.has_written(worker),
            "written_about": pseudonyms.has_reasons(worker),
            "comments": own_data.comments(worker),
            "owed": [
                (campaign.name, money(amount, payments.currency_of(campaign)))
                for campaign, amount in payments.unpaid(worker=worker.pk)
            ],
        }
    return render(request, "annotation/entry/account.html", about, status=status)


urlpatterns = [
    path("account/", account, name="account"),
    path("account/mail/", mail, name="account_mail"),
    path("account/answers.json", own_answers, name="own_answers"),
    path("account/delete/", erase_me, name="erase_me"),
    path("account/password/", PasswordChange.as_view(), name="password_change"),
    path("forgotten/", PasswordReset.as_view(), name="reset"),
    path("forgotten/sent/", PasswordResetSent.as_view(), name="reset_sent"),
    path(
        "forgotten/<str:uidb64>/<str:token>/", PasswordResetConfirm.as_view(), name="password_reset_confirm"
    ),
]
