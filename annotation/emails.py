"""E-mail to people who forgot their password, sent by a job: asking for it tells nobody whether it was sent.

What is asked for is kept as a digest of the address, so that no row holds whatever strangers typed.
"""

from __future__ import annotations

import smtplib
import unicodedata
from collections.abc import Iterator

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import send_mail
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from annotation import jobs, sql
from annotation.models import Account, Job

#: As rows of jobs have it.
KIND = "send_letter"
_SALT = "annotation.letters"
_TEXT, _SUBJECT = "annotation/entry/reset_mail.txt", "annotation/entry/reset_subject.txt"


class NotSent(RuntimeError):
    """The mail server took no e-mail; one line that names no address."""


def ask(*, address: str, domain: str, secure: bool, language: str) -> None:
    """Have an e-mail sent to `address` by a job, if an account has it; the same work whether one has or not.

    `domain` is what its link leads to, by TLS where `secure`; `language` is that of the e-mail.
    """
    arguments = {"digest": digest(address), "domain": domain, "secure": secure, "language": language}
    jobs.enqueue(kind=KIND, arguments=arguments)


def send(*, digest: str, domain: str, secure: bool, language: str) -> int:
    """Send each account whose address has this digest its e-mail; how many that were. Raises NotSent."""
    found = list(_having(digest))
    for account in found:
        about = {
            "domain": domain,
            "protocol": "https" if secure else "http",
            "user": account,
            "uid": urlsafe_base64_encode(force_bytes(account.pk)),
            "token": default_token_generator.make_token(account),
        }
        with translation.override(language):
            subject, text = (render_to_string(template, about) for template in (_SUBJECT, _TEXT))
        try:
            send_mail(" ".join(subject.split()), text, settings.DEFAULT_FROM_EMAIL, [account.email])
        except (smtplib.SMTPException, OSError) as error:
            # Its own words may hold the address.
            raise NotSent(
                f"the mail server at {settings.EMAIL_HOST} took no e-mail ({type(error).__name__}); "
                "check EMAIL_URL, then manage.py jobs --resume"
            ) from None
    return len(found)


def digest(address: str) -> str:
    """What stands for an e-mail address; capitals and full-width letters make no other one."""
    plain = unicodedata.normalize("NFKC", address).strip().casefold()
    return salted_hmac(_SALT, plain, algorithm="sha256").hexdigest()


def prune() -> None:
    """Forget the e-mails that were sent: their rows are of no use to anybody."""
    with sql.writing():
        Job.objects.filter(kind=KIND, state=Job.DONE).delete()


def _having(wanted: str) -> Iterator[Account]:
    """Active accounts with a password whose address has this digest. They are looked through one by one."""
    accounts: QuerySet[Account] = Account.objects.filter(is_active=True).exclude(email="")
    for account in accounts.iterator():
        if constant_time_compare(digest(account.email), wanted) and account.has_usable_password():
            yield account
