"""Messages of researchers to workers: a notice on the worker's pages until it is read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, NamedTuple

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import Help, Listing, Named, OperationContext, StoredKind
from annotation.common.roles import WHOLE_SERVER
from annotation.models import Account, Campaign, Worker, WorkerMessage
from annotation.selectors.corpora import campaigns_in
from phrasebox.errors import PhraseboxError

#: The maximum length of a message.
LONGEST_MESSAGE = 2_000
#: The maximum length of a worker's reply.
LONGEST_REPLY = 500
#: The number of newest messages displayed for a worker.
NEWEST_MESSAGES = 10
#: What says which answers a message is about.
_REVIEWS = "reviews__judgment__assignment"


def send_messages(
    *, campaign: Campaign, workers: Sequence[int], text: str, actor: Account | None = None
) -> list[WorkerMessage]:
    """Send each of these workers of a campaign the same message, all or none.

    Raises PhraseboxError for an invalid text, and if a model annotator or erased worker is among them.
    """
    text = "\n".join(line.rstrip() for line in text.replace("\0", "").splitlines()).strip()
    if not text:
        raise PhraseboxError(_("The message is empty: write what the workers should know."))
    if len(text) > LONGEST_MESSAGE:
        raise PhraseboxError(
            _("The message has %(length)d characters; expected %(most)d at most.")
            % {"length": len(text), "most": LONGEST_MESSAGE}
        )
    with database.writing():
        people = Worker.objects.filter(
            pk__in=workers, kind=Worker.PERSON, erased_at__isnull=True, trust_states__campaign=campaign
        )
        names = dict(people.order_by("pk").values_list("pk", "pseudonym"))
        if not names:
            raise PhraseboxError(_("Choose workers: nobody who was chosen can read a message."))
        messages = [
            WorkerMessage.objects.create(campaign=campaign, worker_id=worker, text=text, sent_by=actor)
            for worker in names
        ]
        # Its text is not logged: it may name somebody who is erased later.
        record(actor=actor, act="message_workers", campaign=campaign, workers=list(names.values()))
    return messages


def unread_of_account(account: int) -> list[WorkerMessage]:
    """Return the unread messages to the worker of an account, the oldest first."""
    messages = WorkerMessage.objects.filter(worker__identity__account=account, read_at__isnull=True)
    return list(messages.select_related("campaign").prefetch_related(_REVIEWS).order_by("pk"))


def messages_to(campaign: Campaign, worker: int) -> list[WorkerMessage]:
    """Return the newest messages to a worker of a campaign, the newest first."""
    messages = WorkerMessage.objects.filter(campaign=campaign, worker=worker)
    return list(messages.select_related("sent_by").order_by("-pk")[:NEWEST_MESSAGES])


def received_by(account: Account, *roles: str) -> QuerySet[WorkerMessage]:
    """Return the messages to an account that works here; for a call with a token, within its limit."""
    rows = WorkerMessage.objects.filter(worker__identity__account_id=account.pk)
    if account.limit != WHOLE_SERVER:
        rows = rows.filter(campaign__in=campaigns_in(account.limit))
    return rows.select_related("campaign").prefetch_related(_REVIEWS)


class RejectedAnswers(NamedTuple):
    """Answers that were rejected, and those of them that are captions; `paid` and `unpaid`: whether any of
    them is paid, and whether the pay of any was withheld."""

    number: int
    captions: tuple[str, ...]
    paid: bool
    unpaid: bool


def rejected_answers(message: WorkerMessage) -> RejectedAnswers | None:
    """Return the answers whose rejection a message is about; None if it is about something else."""
    reviews = message.reviews.all()
    if not reviews:
        return None
    contents = (review.judgment.content or {} for review in reviews)
    assignments = (review.judgment.assignment for review in reviews)
    return RejectedAnswers(
        number=len(reviews),
        captions=tuple(content["text"] for content in contents if content.get("text")),
        paid=any(assignment is not None and assignment.pay > 0 for assignment in assignments),
        unpaid=any(review.withheld for review in reviews),
    )


#: Messages to the caller, by their numbers.
RECEIVED_MESSAGES = StoredKind(gettext_lazy("message"), received_by, column="pk")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMessagesRequest:
    """Messages from researchers to you, the newest first; with a token for a corpus or a campaign, only from
    there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMessageRequest:
    """Mark a message as read: it is no longer shown. With a reply, which can be sent only then, and once."""

    message: Annotated[
        int, Named(RECEIVED_MESSAGES), Help(gettext_lazy("Message"), gettext_lazy("Its number"))
    ]
    reply: Annotated[
        str,
        Field(max_length=LONGEST_REPLY),
        Help(gettext_lazy("Your reply"), gettext_lazy("Optional; the researchers read it"), lines=2),
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMessage:
    """A message of a researcher to you; `read_at` is null until you mark it as read. `rejected` are your
    captions that it is about, if it says why they were rejected; `unpaid`: they are not paid."""

    number: int
    campaign: str
    text: str
    rejected: tuple[str, ...]
    unpaid: bool
    sent_at: datetime
    read_at: datetime | None
    reply: str


def list_received_messages(request: ReceivedMessagesRequest, context: OperationContext) -> Listing:
    """Return the messages to the caller."""
    return Listing(received_by(context.actor), "-pk", _received)


def read_message(request: ReadMessageRequest, context: OperationContext) -> None:
    """Record that a message was read, and the reply."""
    with database.writing():
        WorkerMessage.objects.filter(pk=request.message, read_at=None).update(
            read_at=database.now(), reply=request.reply.strip()
        )


def _received(row: WorkerMessage) -> ReceivedMessage:
    rejected = rejected_answers(row)
    return ReceivedMessage(
        number=row.pk,
        campaign=row.campaign.name,
        text=row.text,
        rejected=rejected.captions if rejected else (),
        unpaid=rejected is not None and rejected.unpaid,
        sent_at=row.sent_at,
        read_at=row.read_at,
        reply=row.reply,
    )
