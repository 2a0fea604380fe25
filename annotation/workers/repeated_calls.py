"""Calls of the API that are done once, however often they are sent.

A program that got no answer cannot know whether its call was done. It sends the call again under the same key
of its own choice, and gets the answer of the first. Keys belong to an account, a route and what the token is
for, and are kept for a day. A call that failed changed nothing, and leaves its key free.
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

#: The header under whose value a call is done once.
KEY_HEADER = "Idempotency-Key"
#: For how long a key is kept.
KEY_LIFETIME = timedelta(hours=24)
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


def done_once(
    call: CallKey, work: Callable[[], CallAnswer], *, secret: str = "", own_transactions: bool = False
) -> tuple[CallAnswer, bool]:
    """What a call is answered, and whether it was so before; `work` is done unless it was done under the key.

    `secret` is a field of the answer that is stored nowhere: the same call gets null there. Work within
    `own_transactions` takes long, or several of them: its key is taken before, and kept after. Other work is
    one transaction with its key, and a caller that sends it meanwhile waits for its end. Raises KeyReused and
    StillAtWork.
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
    """Take the key; None where the call is to be done now, else what it was answered before."""
    now = database.now()
    _of_call(call).filter(created_at__lte=now - KEY_LIFETIME).delete()
    try:
        with database.writing():
            RepeatableCall.objects.create(
                account_id=call.account.pk, route=call.route, key=call.key, digest=call.digest, created_at=now
            )
    except IntegrityError:
        earlier = _of_call(call).first()
        if earlier is None:  # given back this very moment
            raise StillAtWork from None
        if earlier.digest != call.digest:
            raise KeyReused from None
        if not earlier.status:
            raise StillAtWork from None
        return CallAnswer(earlier.status, earlier.body, earlier.location)
    return None


def _end(call: CallKey, answer: CallAnswer, secret: str) -> None:
    """Keep what the call was answered."""
    body = json.dumps({**json.loads(answer.body), secret: None}) if secret else answer.body
    _of_call(call).update(status=answer.status, body=body, location=answer.location)


def prune_repeated_calls() -> None:
    """Delete the calls whose keys are kept no longer, some at a time."""
    while True:
        with database.writing():
            old = RepeatableCall.objects.filter(created_at__lte=database.now() - KEY_LIFETIME)
            old_calls = list(old.values_list("pk", flat=True)[:_MOST_PRUNED])
            RepeatableCall.objects.filter(pk__in=old_calls).delete()
        if len(old_calls) < _MOST_PRUNED:
            return
