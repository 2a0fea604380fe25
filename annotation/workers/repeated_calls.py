"""API calls that run once, however often they are sent (idempotency keys).

A program that got no response cannot know whether its call succeeded. It sends the call again under the same
key, which it chose, and gets the first response. Keys belong to an account, a route and the scope of the
token, and are stored for a day. A call that failed changed nothing, and leaves its key free.
"""

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

from django.db import IntegrityError
from django.db.models import QuerySet

from annotation.common import database
from annotation.models import Account, RepeatableCall

#: The header with the key.
KEY_HEADER = "Idempotency-Key"
#: How long a key is stored.
KEY_LIFETIME = timedelta(hours=24)
#: Number of rows deleted in one run.
_MOST_PRUNED = 5_000


class KeyReused(ValueError):
    """The key belongs to another call."""


class StillAtWork(ValueError):
    """The same call is running, or was interrupted."""


class CallAnswer(NamedTuple):
    """The response of a call: status, JSON as text and its Location ("" for none)."""

    status: int
    body: str
    location: str


class CallKey(NamedTuple):
    """A call and its key. `digest` is of its address and body."""

    account: Account
    route: str
    key: str
    digest: str


def digest_of_call(address: str, body: bytes) -> str:
    """Return the digest that distinguishes two calls under one key."""
    return hashlib.sha256(address.encode() + b"\n" + body).hexdigest()


def done_once(
    call: CallKey, work: Callable[[], CallAnswer], *, secret: str = "", own_transactions: bool = False
) -> tuple[CallAnswer, bool]:
    """Return the response of a call, and whether it is a repeated one; calls `work` unless it was done under
    the key.

    `secret` is a field of the response that is never stored: a repeated call gets null there. Work with
    `own_transactions` takes long, or several transactions: its key is taken before, and stored after it.
    Other work is one transaction with its key, and a simultaneous repeated call waits for its end. Raises
    KeyReused and StillAtWork.
    """
    if own_transactions:
        before = _begin(call)
        if before is None:
            try:
                answer = work()
            except BaseException:
                _of_call(call).filter(status=0).delete()  # as if it had never been sent
                raise
            _end(call, answer, secret)
    else:
        with database.writing():
            before = _begin(call)
            if before is None:
                answer = work()
                _end(call, answer, secret)
    return (answer, False) if before is None else (before, True)


def _of_call(call: CallKey) -> QuerySet[RepeatableCall]:
    return RepeatableCall.objects.filter(account_id=call.account.pk, route=call.route, key=call.key)


def _begin(call: CallKey) -> CallAnswer | None:
    """Take the key; return None if the call is to run now, else the earlier response."""
    now = database.now()
    _of_call(call).filter(created_at__lte=now - KEY_LIFETIME).delete()
    try:
        with database.writing():
            RepeatableCall.objects.create(
                account_id=call.account.pk, route=call.route, key=call.key, digest=call.digest, created_at=now
            )
    except IntegrityError:
        earlier = _of_call(call).first()
        if earlier is None:  # released at this moment
            raise StillAtWork from None
        if earlier.digest != call.digest:
            raise KeyReused from None
        if not earlier.status:
            raise StillAtWork from None
        return CallAnswer(earlier.status, earlier.body, earlier.location)
    return None


def _end(call: CallKey, answer: CallAnswer, secret: str) -> None:
    """Store the response of a call."""
    body = json.dumps({**json.loads(answer.body), secret: None}) if secret else answer.body
    _of_call(call).update(status=answer.status, body=body, location=answer.location)


def prune_repeated_calls() -> None:
    """Delete calls whose keys have expired, some at a time."""
    while True:
        with database.writing():
            old = RepeatableCall.objects.filter(created_at__lte=database.now() - KEY_LIFETIME)
            old_calls = list(old.values_list("pk", flat=True)[:_MOST_PRUNED])
            RepeatableCall.objects.filter(pk__in=old_calls).delete()
        if len(old_calls) < _MOST_PRUNED:
            return
