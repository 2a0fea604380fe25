"""E-mails sent by jobs: password links, staff invitations, alarms, a test e-mail, and messages of researchers
to workers.

Requesting a new password does not reveal whether an e-mail was sent. The request is stored as a digest of the
address, so that no row contains what strangers typed. Jobs of invitations refer to them by number only.
"""

import smtplib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import send_mail
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from pydantic import Field

from annotation import audit, jobs
from annotation.common import database
from annotation.common.addresses import full_address, site_host
from annotation.common.operations import Help, OperationContext
from annotation.models import (
    Account,
    AlarmSubscription,
    Campaign,
    Job,
    RaisedAlarm,
    StaffInvitation,
    WorkerMessage,
)
from annotation.notifications.alarms import DetectedAlarm, subscribers
from annotation.selectors.people.accounts import AccountName
from annotation.selectors.workers.choosing import ChosenWorkers, chosen_workers
from annotation.workers import messages
from annotation.workers.accounts import activation, inviting
from annotation.workers.messages import LONGEST_MESSAGE
from phrasebox.errors import PhraseboxError

#: Returns the current problems of a campaign, or of the server for None.
AlarmsNow = Callable[[Campaign | None], Iterable[DetectedAlarm]]

#: The kind of the job, as stored in rows.
EMAIL_JOB_KIND = "send_letter"
INVITATION = "send_staff_invitation"
MESSAGES = "mail_messages"
ALARM_MAIL = "send_alarms"
TEST_MAIL = "send_test_mail"
_SALT = "annotation.letters"


class EmailError(PhraseboxError):
    """The mail server did not accept an e-mail; one line without any address."""


def request_email(*, address: str, language: str) -> None:
    """Queue a job that sends an e-mail to `address` if an account has it; the work is the same if none
    has."""
    jobs.enqueue(kind=EMAIL_JOB_KIND, arguments={"digest": digest(address), "language": language})


def send_emails(*, digest: str, language: str) -> int:
    """Send an e-mail to each account whose address has this digest; return their number. Raises
    EmailError."""
    accounts = list(_having(digest))
    for account in accounts:
        about = {
            "domain": site_host(),
            "user": account,
            "uid": urlsafe_base64_encode(force_bytes(account.pk)),
            "token": default_token_generator.make_token(account),
        }
        _send("reset", account.email, language, about)
    return len(accounts)


@dataclass(frozen=True, slots=True, kw_only=True)
class SendPasswordLinkRequest:
    """An e-mail with a link for choosing a new password."""

    account: AccountName


def send_password_link(request: SendPasswordLinkRequest, context: OperationContext) -> None:
    """Send the e-mail for a forgotten password. Raises AccountError."""
    account = activation.account_to_change(request.account, context)
    activation.check_has_password(account)
    if not settings.SENDS_MAIL:
        raise PhraseboxError(_("This server sends no e-mail: make a link and hand it over yourself."))
    if not account.email:
        raise PhraseboxError(_("This account has no e-mail address: make a link and hand it over yourself."))
    with database.writing():
        audit.record(actor=context.actor, act="send_password_link", account=request.account)
    request_email(address=account.email, language=_language())


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitedStaff:
    """An invitation with its number and its link; `mailed`: an e-mail with the link is being sent."""

    invitation: int
    link: str
    mailed: bool


def invite_by_mail(request: inviting.InviteStaffRequest, context: OperationContext) -> InvitedStaff:
    """Create an invitation, and queue an e-mail with its link if the server sends e-mail. Raises
    GrantError."""
    corpus, campaign = request.rows()
    row = inviting.invite_staff(
        email=request.email, role=request.role, corpus=corpus, campaign=campaign, actor=context.actor
    )
    if settings.SENDS_MAIL:
        jobs.enqueue(kind=INVITATION, arguments={"invitation": row.pk, "language": _language()})
    link = full_address("staff_invite", [inviting.staff_invitation_token(row)])
    return InvitedStaff(invitation=row.pk, link=link, mailed=settings.SENDS_MAIL)


def _language() -> str:
    """Return the language of an e-mail requested on this page."""
    return get_language() or settings.LANGUAGE_CODE


def send_invitation(*, invitation: int, language: str) -> bool:
    """Send an invitation unless it has expired; return whether it was sent. Raises EmailError."""
    row = StaffInvitation.objects.select_related("created_by").filter(pk=invitation).first()
    if row is None or inviting.staff_invitation_over(row):
        return False
    about = {"domain": site_host(), "token": inviting.staff_invitation_token(row)}
    _send("staff_invite", row.email, language, about)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageWorkersRequest(ChosenWorkers):
    """The workers see the message on their next page, and get it by e-mail if they chose so."""

    text: Annotated[
        str, Field(min_length=1, max_length=LONGEST_MESSAGE), Help(gettext_lazy("Message"), lines=4)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagedWorkers:
    """The number of workers to whom a message was sent, and of those who get it by e-mail too."""

    messaged: int
    mailed: int


def message_workers(request: MessageWorkersRequest, context: OperationContext) -> MessagedWorkers:
    """Send a message to workers. Raises MessageError."""
    campaign = request.row()
    workers = list(chosen_workers(request, campaign).values())
    # All or none: a stored message is never left without its e-mail.
    with database.writing():
        stored = messages.send_messages(
            campaign=campaign, workers=workers, text=request.text, actor=context.actor
        )
        mailed = ask_for_messages(messages=stored, language=_language())
    return MessagedWorkers(messaged=len(stored), mailed=mailed)


def ask_for_messages(*, messages: Sequence[WorkerMessage], language: str) -> int:
    """Queue a job that mails messages to those workers who have an address for them; return their number."""
    if not settings.SENDS_MAIL:
        return 0
    mailable = [row.pk for row in _mailable([message.pk for message in messages])]
    if mailable:
        jobs.enqueue(kind=MESSAGES, arguments={"messages": mailable, "language": language})
    return len(mailable)


def mail_messages(*, messages: Sequence[int], language: str) -> int:
    """Mail each of these messages once, to workers who still have an address for them; return their number.
    Raises EmailError, and may be called again."""
    count = 0
    for message in _mailable(messages):
        about = {"text": message.text, "campaign": message.campaign.name}
        identity = message.worker.identity
        assert identity.account is not None
        _send("message", identity.account.email, language, about)
        WorkerMessage.objects.filter(pk=message.pk).update(mailed_at=database.now())
        count += 1
    return count


def _mailable(messages: Sequence[int]) -> list[WorkerMessage]:
    mailable = WorkerMessage.objects.filter(
        pk__in=messages,
        mailed_at__isnull=True,
        worker__identity__account__is_active=True,
        worker__identity__account__mails_messages=True,
    ).exclude(worker__identity__account__email="")
    return list(mailable.select_related("campaign", "worker__identity__account").order_by("pk"))


def invitation_jobs(invitations: Iterable[int]) -> dict[int, Job]:
    """Return the newest job that sends each of these invitations, by its number."""
    rows = Job.objects.filter(kind=INVITATION, arguments__invitation__in=list(invitations)).order_by("pk")
    return {row.arguments["invitation"]: row for row in rows}


def request_alarm_mails(raised: Sequence[RaisedAlarm]) -> int:
    """Queue one e-mail about these new alarms, which are of one campaign or of the server, for each of their
    subscribers; return the number of e-mails."""
    if not raised or not settings.SENDS_MAIL:
        return 0
    to = subscribers(raised[0])
    for row in to:
        arguments = {"subscription": row.pk, "alarms": [alarm.pk for alarm in raised]}
        jobs.enqueue(kind=ALARM_MAIL, arguments=arguments)
    return len(to)


def send_alarms(*, subscription: int, alarms: Sequence[int], named: AlarmsNow) -> bool:
    """Send a subscriber the raised alarms, in their language; return whether anything was sent. Raises
    EmailError.

    `named` returns the current problems of a campaign (None: the server), in the active language. A
    subscriber who unsubscribed or lost the role gets nothing.
    """
    row = AlarmSubscription.objects.select_related("account").filter(pk=subscription).first()
    raised = list(RaisedAlarm.objects.filter(pk__in=alarms).select_related("campaign__corpus").order_by("pk"))
    if row is None or not raised:
        return False
    campaign = raised[0].campaign
    if not subscribers(raised[0], only=row.account_id):
        return False
    with translation.override(row.language):
        texts = {(alarm.code, alarm.kind): alarm.text for alarm in named(campaign)}
    about = {
        "campaign": campaign.name if campaign is not None else "",
        "texts": [texts.get((alarm.code, alarm.kind), alarm.text) for alarm in raised],
    }
    _send("alarms", row.account.email, row.language, about)
    return True


def request_test_mail(*, account: Account, language: str) -> Job:
    """Queue a test e-mail to `account`, which shows that this server can send e-mail."""
    return jobs.enqueue(
        kind=TEST_MAIL, arguments={"account": account.pk, "language": language}, actor=account
    )


def send_test_mail(*, account: int, language: str) -> bool:
    """Send the test e-mail if the account has an address; return whether it was sent. Raises EmailError."""
    recipient = Account.objects.filter(pk=account, is_active=True).exclude(email="").first()
    if recipient is None:
        return False
    _send("test", recipient.email, language, {"user": recipient})
    return True


def newest_test_mail() -> Job | None:
    """Return the newest job that sent a test e-mail."""
    return Job.objects.filter(kind=TEST_MAIL).order_by("-pk").first()


def digest(address: str) -> str:
    """Return the digest of an e-mail address; upper case and full-width letters do not change it."""
    normalised = unicodedata.normalize("NFKC", address).strip().casefold()
    return salted_hmac(_SALT, normalised, algorithm="sha256").hexdigest()


def prune_emails() -> None:
    """Delete the jobs of sent e-mails: their rows have no further use."""
    with database.writing():
        Job.objects.filter(kind__in=(EMAIL_JOB_KIND, ALARM_MAIL), state=Job.DONE).delete()


def _send(name: str, to: str, language: str, about: Mapping[str, Any]) -> None:
    """Render an e-mail from two templates, its subject and its text, and send it. Raises EmailError."""
    with translation.override(language):
        subject, text = (
            render_to_string(f"annotation/entry/{name}_{part}.txt", {**about, "site": settings.SITE_URL})
            for part in ("subject", "mail")
        )
    try:
        send_mail(" ".join(subject.split()), text, settings.DEFAULT_FROM_EMAIL, [to])
    except (smtplib.SMTPException, OSError) as error:
        # The server's own message may contain the address.
        raise EmailError(
            f"the mail server at {settings.EMAIL_HOST} took no e-mail ({type(error).__name__}); "
            "check EMAIL_URL, then resume the job"
        ) from None


def _having(expected: str) -> Iterator[Account]:
    """Yield active accounts with a password whose address has this digest, checking them one by one."""
    accounts: QuerySet[Account] = Account.objects.filter(is_active=True).exclude(email="")
    for account in accounts.iterator():
        if constant_time_compare(digest(account.email), expected) and account.has_usable_password():
            yield account
