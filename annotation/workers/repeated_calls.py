"""Calls of the API that are done once, however often they are sent.

A program that got no answer cannot know whether its call was done. It sends the call again under the same key
of its own choice, and gets the answer of the first. Keys belong to an account and a route, and are kept for a
day. A call that failed changed nothing, and leaves its key free.
"""

import hashlib
from datetime import timedelta
from typing import NamedTuple

from django.db import IntegrityError

from annotation.common import database
from annotation.models import Account, RepeatableCall

#: For how long a key is kept.
KEY_KEPT = timedelta(hours=24)
#: Rows deleted in one turn.
_MOST_PRUNED = 5_000


class KeyReused(ValueError):
    """The key stands for another call."""


class StillAtWork(ValueError):
    """The same call is being done just now, or was cut off while it was."""


class CallAnswer(NamedTuple):
    """What a call was answered: status, JSON as text and the address it pointed to ("" for none)."""

    status: int
    body: str
    location: str


class CallKey(NamedTuple):
    """A call and the key that it was sent under. `digest` is of its address and body."""

    account: Account
    route: str
    key: str
    digest: str


def digest_of_call(address: str, body: bytes) -> str:
    """What tells two calls under one key apart."""
    return hashlib.sha256(address.encode() + b"\n" + body).hexdigest()


def begin_call(call: CallKey) -> CallAnswer | None:
    """Take the key; None where the call is to be done now, else what it was answered before.

    Within a transaction, whoever sends the same key meanwhile waits for its end. Raises KeyReused and
    StillAtWork.
    """
    now = database.now()
    mine = {"account_id": call.account.pk, "route": call.route, "key": call.key}
    RepeatableCall.objects.filter(**mine, created_at__lte=now - KEY_KEPT).delete()
    try:
        with database.writing():
            RepeatableCall.objects.create(**mine, digest=call.digest, created_at=now)
    except IntegrityError:
        earlier = RepeatableCall.objects.filter(**mine).first()
        if earlier is None:  # given back this very moment
            raise StillAtWork from None
        if earlier.digest != call.digest:
            raise KeyReused from None
        if not earlier.status:
            raise StillAtWork from None
        return CallAnswer(earlier.status, earlier.body, earlier.location)
    return None


def end_call(call: CallKey, answer: CallAnswer) -> None:
    """Keep what the call was answered."""
    RepeatableCall.objects.filter(account_id=call.account.pk, route=call.route, key=call.key).update(
        status=answer.status, body=answer.body, location=answer.location
    )


def give_key_back(call: CallKey) -> None:
    """The call failed: its key is as if it had never been sent."""
    RepeatableCall.objects.filter(
        account_id=call.account.pk, route=call.route, key=call.key, status=0
    ).delete()


def prune_repeated_calls() -> None:
    """Delete the calls whose keys are kept no longer, some at a time."""
    while True:
        with database.writing():
            old = RepeatableCall.objects.filter(created_at__lte=database.now() - KEY_KEPT)
            old_calls = list(old.values_list("pk", flat=True)[:_MOST_PRUNED])
            RepeatableCall.objects.filter(pk__in=old_calls).delete()
        if len(old_calls) < _MOST_PRUNED:
            return
