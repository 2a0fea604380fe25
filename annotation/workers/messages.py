"""Messages of researchers to workers: a notice on the worker's next page, until they have read it."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.models import Account, Campaign, Worker, WorkerMessage

#: Characters of a message, at most.
LONGEST_MESSAGE = 2_000
#: Messages that are shown of a worker, the newest.
NEWEST_MESSAGES = 10


class MessageError(ValueError):
    """A message that cannot be sent; one line with the remedy."""


def send_messages(
    *, campaign: Campaign, workers: Sequence[int], text: str, actor: Account | None = None
) -> list[WorkerMessage]:
    """Send each of these workers of a campaign the same message, all or none.

    Raises MessageError on an empty or a long text, and where nobody is named who can read it: machines and
    those who were erased cannot.
    """
    text = "\n".join(line.rstrip() for line in text.replace("\0", "").splitlines()).strip()
    if not text:
        raise MessageError(_("The message is empty: write what the workers should know."))
    if len(text) > LONGEST_MESSAGE:
        raise MessageError(
            _("The message has %(length)d characters; expected %(most)d at most.")
            % {"length": len(text), "most": LONGEST_MESSAGE}
        )
    with database.writing():
        people = Worker.objects.filter(
            pk__in=workers, kind=Worker.PERSON, erased_at__isnull=True, standings__campaign=campaign
        )
        names = dict(people.order_by("pk").values_list("pk", "pseudonym"))
        if not names:
            raise MessageError(_("Choose workers: nobody who was chosen can read a message."))
        sent = [
            WorkerMessage.objects.create(campaign=campaign, worker_id=worker, text=text, sent_by=actor)
            for worker in names
        ]
        # Its words are not kept for ever: they may name somebody who is erased later.
        record(actor=actor, act="message_workers", campaign=campaign, workers=list(names.values()))
    return sent


def unread_of_account(account: int) -> list[WorkerMessage]:
    """What the worker of an account was told and has not read yet, the oldest first."""
    found = WorkerMessage.objects.filter(worker__identity__account=account, read_at__isnull=True)
    return list(found.select_related("campaign").order_by("pk"))


def told_to(campaign: Campaign, worker: int) -> list[WorkerMessage]:
    """The newest messages to a worker of a campaign, the newest first."""
    found = WorkerMessage.objects.filter(campaign=campaign, worker=worker)
    return list(found.select_related("sent_by").order_by("-pk")[:NEWEST_MESSAGES])


def mark_read(*, worker: Worker, message: int) -> bool:
    """Note that a worker has read a message, by its number; False where they have no such message."""
    with database.writing():
        own = WorkerMessage.objects.filter(worker=worker, pk=message)
        own.filter(read_at__isnull=True).update(read_at=database.now())
        return own.exists()
