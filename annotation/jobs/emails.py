"""E-mail, sent by jobs: to people who forgot their password, who are invited to be staff, who asked for
alarms, or who try out whether this server sends any; and to workers whom a researcher has a message for.

Asking for a new password tells nobody whether an e-mail was sent. What is asked for is kept as a digest of
the address, so that no row holds whatever strangers typed. Jobs of invitations name them by number alone.
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

#: What is wrong with a campaign, or with the server where it is None, now.
AlarmsNow = Callable[[Campaign | None], Iterable[DetectedAlarm]]

#: As rows of jobs have it.
EMAIL_JOB_KIND = "send_letter"
INVITATION = "send_staff_invitation"
MESSAGES = "mail_messages"
ALARM_MAIL = "send_alarms"
TEST_MAIL = "send_test_mail"
_SALT = "annotation.letters"


class EmailError(PhraseboxError):
    """The mail server took no e-mail; one line that names no address."""


def request_email(*, address: str, language: str) -> None:
    """Have a job send an e-mail to `address`, if an account has it; the work is the same if none has."""
    jobs.enqueue(kind=EMAIL_JOB_KIND, arguments={"digest": digest(address), "language": language})


def send_emails(*, digest: str, language: str) -> int:
    """Send each account whose address has this digest its e-mail; how many that were. Raises EmailError."""
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
    """An e-mail with a link by which somebody chooses a new password."""

    account: AccountName


def send_password_link(request: SendPasswordLinkRequest, context: OperationContext) -> None:
    """Have the e-mail of a forgotten password sent. Raises AccountError."""
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
    """An invitation, by its number, and its link; `mailed`: an e-mail with it is on its way."""

    invitation: int
    link: str
    mailed: bool


def invite_by_mail(request: inviting.InviteStaffRequest, context: OperationContext) -> InvitedStaff:
    """Make an invitation, and have its link sent, where the server sends e-mail. Raises GrantError."""
    corpus, campaign = request.rows()
    row = inviting.invite_staff(
        email=request.email, role=request.role, corpus=corpus, campaign=campaign, actor=context.actor
    )
    if settings.SENDS_MAIL:
        jobs.enqueue(kind=INVITATION, arguments={"invitation": row.pk, "language": _language()})
    link = full_address("staff_invite", [inviting.staff_invitation_token(row)])
    return InvitedStaff(invitation=row.pk, link=link, mailed=settings.SENDS_MAIL)


def _language() -> str:
    """The language of an e-mail that the reader of this page asks for."""
    return get_language() or settings.LANGUAGE_CODE


def send_invitation(*, invitation: int, language: str) -> bool:
    """Send an invitation, unless it is over: whether it was sent. Raises EmailError."""
    row = StaffInvitation.objects.select_related("created_by").filter(pk=invitation).first()
    if row is None or inviting.staff_invitation_over(row):
        return False
    about = {"domain": site_host(), "token": inviting.staff_invitation_token(row)}
    _send("staff_invite", row.email, language, about)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageWorkersRequest(ChosenWorkers):
    """The workers read the message on their next page, and by e-mail if they asked for that."""

    text: Annotated[
        str, Field(min_length=1, max_length=LONGEST_MESSAGE), Help(gettext_lazy("Message"), lines=4)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagedWorkers:
    """To how many workers a message was sent, and to how many of them by e-mail too."""

    messaged: int
    mailed: int


def message_workers(request: MessageWorkersRequest, context: OperationContext) -> MessagedWorkers:
    """Send workers a message. Raises MessageError."""
    campaign = request.row()
    workers = list(chosen_workers(request, campaign).values())
    # All or none: a message that is stored is never left without its e-mail.
    with database.writing():
        stored = messages.send_messages(
            campaign=campaign, workers=workers, text=request.text, actor=context.actor
        )
        mailed = ask_for_messages(messages=stored, language=_language())
    return MessagedWorkers(messaged=len(stored), mailed=mailed)


def ask_for_messages(*, messages: Sequence[WorkerMessage], language: str) -> int:
    """Have messages sent by a job to those workers who keep an address for them; to how many."""
    if not settings.SENDS_MAIL:
        return 0
    mailable = [row.pk for row in _mailable([message.pk for message in messages])]
    if mailable:
        jobs.enqueue(kind=MESSAGES, arguments={"messages": mailable, "language": language})
    return len(mailable)


def mail_messages(*, messages: Sequence[int], language: str) -> int:
    """Send these messages, each once, to workers who still keep an address for them; how many that were.
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
    """The newest job that sends each of these invitations, by its number."""
    rows = Job.objects.filter(kind=INVITATION, arguments__invitation__in=list(invitations)).order_by("pk")
    return {row.arguments["invitation"]: row for row in rows}


def request_alarm_mails(raised: Sequence[RaisedAlarm]) -> int:
    """Have each subscriber of these new alarms, which are of one campaign or of the server, sent one e-mail
    about them, by a job; how many."""
    if not raised or not settings.SENDS_MAIL:
        return 0
    to = subscribers(raised[0])
    for row in to:
        arguments = {"subscription": row.pk, "alarms": [alarm.pk for alarm in raised]}
        jobs.enqueue(kind=ALARM_MAIL, arguments=arguments)
    return len(to)


def send_alarms(*, subscription: int, alarms: Sequence[int], named: AlarmsNow) -> bool:
    """Send a subscriber what was raised, in their language: whether it was sent. Raises EmailError.

    `named` says what is wrong with a campaign (None: the server) now, in the language of the moment. Who gave
    up the subscription, or lost the role, gets nothing.
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
    """Have an e-mail sent to `account` by a job, which says that this server can send some."""
    return jobs.enqueue(
        kind=TEST_MAIL, arguments={"account": account.pk, "language": language}, actor=account
    )


def send_test_mail(*, account: int, language: str) -> bool:
    """Send it, where the account has an address: whether it was sent. Raises EmailError."""
    recipient = Account.objects.filter(pk=account, is_active=True).exclude(email="").first()
    if recipient is None:
        return False
    _send("test", recipient.email, language, {"user": recipient})
    return True


def newest_test_mail() -> Job | None:
    """The newest job that tried out whether e-mail can be sent."""
    return Job.objects.filter(kind=TEST_MAIL).order_by("-pk").first()


def digest(address: str) -> str:
    """What stands for an e-mail address; capitals and full-width letters make no other one."""
    normalised = unicodedata.normalize("NFKC", address).strip().casefold()
    return salted_hmac(_SALT, normalised, algorithm="sha256").hexdigest()


def prune_emails() -> None:
    """Forget the e-mails that were sent: their rows are of no use to anybody."""
    with database.writing():
        Job.objects.filter(kind__in=(EMAIL_JOB_KIND, ALARM_MAIL), state=Job.DONE).delete()


def _send(name: str, to: str, language: str, about: Mapping[str, Any]) -> None:
    """Send the e-mail that two templates make, its subject and its text. Raises EmailError."""
    with translation.override(language):
        subject, text = (
            render_to_string(f"annotation/entry/{name}_{part}.txt", {**about, "site": settings.SITE_URL})
            for part in ("subject", "mail")
        )
    try:
        send_mail(" ".join(subject.split()), text, settings.DEFAULT_FROM_EMAIL, [to])
    except (smtplib.SMTPException, OSError) as error:
        # Its own words may hold the address.
        raise EmailError(
            f"the mail server at {settings.EMAIL_HOST} took no e-mail ({type(error).__name__}); "
            "check EMAIL_URL, then resume the job"
        ) from None


def _having(expected: str) -> Iterator[Account]:
    """Active accounts with a password whose address has this digest. They are looked through one by one."""
    accounts: QuerySet[Account] = Account.objects.filter(is_active=True).exclude(email="")
    for account in accounts.iterator():
        if constant_time_compare(digest(account.email), expected) and account.has_usable_password():
            yield account
