"""Thousands of valid and spoilt calls by one visitor: the responses, and errors.

The visitor's session is kept alive. Changes by calls stay for an episode, then the world is reset: otherwise
nothing would be left to do after a while. All is drawn from a seed, so that a run can be repeated.
"""

from __future__ import annotations

import logging
import shutil
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from django.contrib.messages import constants
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.core.handlers.wsgi import WSGIRequest
from django.core.signals import got_request_exception
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.test.client import ClientHandler

from annotation.common.session_store import stored_key
from annotation.models import Account
from annotation.quality.controls import control_pool
from annotation.selectors import answers, spelling
from annotation.task_types.displayed import displayed_image
from config.single_thread_worker import in_utf_8
from tests.hostile import calls, declared  # noqa: F401 (enters its operations)
from tests.hostile.calls import Call, spoilt
from tests.hostile.operations import OPERATIONS, STRANGER, At, Operation
from tests.web.world import confirm

#: Maximum number of calls of an episode; the share of spoilt calls, and of those that belong to other roles.
EPISODE, SPOILT, OTHERS = 80, 0.5, 0.05
CSRF = "c" * 32

#: An operation, and how its call is spoilt before it is sent; None leaves it unchanged.
Step = tuple[Operation, Callable[[Call, Random], Call] | None]


class Door(ClientHandler):
    """What Django's client calls in place of a server, behind the first of our own layers."""

    def __call__(self, environ: dict[str, Any]) -> Any:
        if in_utf_8(environ.get("CONTENT_TYPE", "")):
            return super().__call__(environ)
        http_response: Any = HttpResponse(status=400)
        http_response.wsgi_request = WSGIRequest({**environ, "CONTENT_TYPE": ""})
        return http_response


class Visitor(Client):
    """A browser that gets error responses like others, and whose forms have the required tokens."""

    def __init__(self) -> None:
        super().__init__(enforce_csrf_checks=True, raise_request_exception=False)
        self.handler = Door(enforce_csrf_checks=True)
        self.cookies["csrf"] = CSRF


@dataclass
class Outcome:
    """The result of an attack: statuses, number of successes per operation, and errors."""

    role: str
    statuses: Counter[int] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    @property
    def calls(self) -> int:
        return sum(self.statuses.values())

    @property
    def succeeded(self) -> int:
        return sum(number for status, number in self.statuses.items() if 200 <= status < 400)

    def never(self) -> set[str]:
        """Return operations of the role that never succeeded."""
        return {item.name for item in operations_of(self.role)} - self.done.keys()

    def __str__(self) -> str:
        by_hundred = Counter(status // 100 for status in self.statuses.elements())
        text = ", ".join(f"{number} {hundred}xx" for hundred, number in sorted(by_hundred.items()))
        mine = {item.name for item in operations_of(self.role)}
        done = sorted((number, name) for name, number in self.done.items() if name in mine)
        rarest = ", ".join(f"{name} {number}" for number, name in done[:3])
        return (
            f"{self.role}: {self.calls} calls, {self.succeeded / self.calls:.0%} succeeded ({text}); "
            f"{len(done)} of {len(mine)} operations did, most seldom {rarest}"
        )


def operations_of(role: str) -> list[Operation]:
    """Return the operations of a role."""
    return [operations for operations in OPERATIONS if role in operations.roles]


def attack(role: str, calls: int, *, seed: int, data: Path, in_order: bool = True) -> Outcome:
    """Make `calls` calls as `role`; `data` is DATA_DIR, reset with the database after every episode.

    First each of the role's operations once, valid, unless not `in_order`.
    """
    rng, outcome = Random(f"{role} {seed}"), Outcome(role)
    _attack(outcome, islice(_turns(role, rng, in_order), calls), rng, data)
    return outcome


def sweep(role: str, *, data: Path) -> Outcome:
    """Put each hostile value into every field of the operations of which this is the first role, one at a
    time."""
    rng, outcome = Random(role), Outcome(role)
    _attack(outcome, _sweeping(role, rng), rng, data)
    return outcome


def _attack(outcome: Outcome, turns: Iterator[Step], rng: Random, data: Path) -> None:
    stored = data.with_name(f"{data.name}-kept")
    shutil.copytree(data, stored, dirs_exist_ok=True)
    more = True
    while more:
        _forget()
        with _undone():
            more = _episode(outcome, turns, rng)
        shutil.rmtree(data)
        shutil.copytree(stored, data)


def _turns(role: str, rng: Random, in_order: bool) -> Iterator[Step]:
    """Yield operations without end, and how their calls are spoilt."""
    mine, others = operations_of(role), [item for item in OPERATIONS if role not in item.roles]
    for item in rng.sample(mine, len(mine)) if in_order else ():
        yield item, None
    while True:
        theirs = others if others and rng.random() < OTHERS else mine
        yield rng.choice(theirs), spoilt if rng.random() < SPOILT else None


def _sweeping(role: str, rng: Random) -> Iterator[Step]:
    for operations in OPERATIONS:
        if tuple(operations.roles[:1]) != (role,):
            continue
        with _undone():
            places = calls.slots(operations.make(At(role, Visitor(), rng)))
        for location in places:
            for item in calls.others(location):
                yield operations, partial(_with, location, item)


def _with(index: calls.Slot, another: Any, call: Call, rng: Random) -> Call:
    calls.put(call, index, another)
    return call


def _episode(outcome: Outcome, turns: Iterator[Step], rng: Random) -> bool:
    """Make the calls of one session; return whether more are left."""
    client = Visitor()
    if outcome.role != STRANGER:
        client.force_login(Account.objects.get(username=outcome.role))
        confirm(client)
    session = client.cookies["session"].value if outcome.role != STRANGER else ""
    at = At(outcome.role, client, rng)
    created = 0
    for operation, change in islice(turns, EPISODE):
        created += 1
        call = operation.make(at)
        _send(outcome, client, operation, change(call, rng) if change else call, bad=change is not None)
        held = client.cookies["session"].value if "session" in client.cookies else ""
        if held != session or (session and not Session.objects.filter(pk=stored_key(session)).exists()):
            return True
    return created == EPISODE


def _send(outcome: Outcome, client: Client, operation: Operation, call: Call, *, bad: bool = False) -> None:
    raised: list[str] = []

    def note(**_about: Any) -> None:
        raised.append(traceback.format_exc())

    got_request_exception.connect(note)
    try:
        body, kind = call.content()
        headers = {"X-CSRFToken": CSRF, **call.headers}
        answer: Any = client.generic(call.method, call.address(), body, kind, headers=headers)
        if answer.streaming:
            b"".join(answer.streaming_content)
        status = answer.status_code
    except Exception:
        raised.append(traceback.format_exc())
        status = 500
    finally:
        got_request_exception.disconnect(note)
    outcome.statuses[status] += 1
    if status >= 500:
        text = f"{call.method} {call.address()[:300]!a} {kind[:80]!a} {body[:400]!r} {call.headers!r:.300}"
        outcome.broken.append(f"{operation.name}: {text}\n{raised[-1] if raised else status}")
    elif 200 <= status < 400 and not bad and not _is_refusal(answer):
        outcome.done[operation.name] += 1


def _is_refusal(answer: Any) -> bool:
    """Return whether a response redirects to the sign-in page, or to one with the reason why nothing was
    done."""
    if answer.status_code == 302 and answer["Location"].startswith("/sign-in/?"):
        return True
    message = getattr(answer.wsgi_request, "_messages", None)
    return any(item.level >= constants.WARNING for item in getattr(message, "_queued_messages", ()))


@contextmanager
def _undone() -> Iterator[None]:
    """Roll back everything that is written in the context."""
    quiet = logging.getLogger("django.request"), logging.getLogger("django.security")
    before = [log.level for log in quiet]
    for log in quiet:
        log.setLevel(logging.CRITICAL + 1)
    try:
        with transaction.atomic():
            yield
            transaction.set_rollback(True)
    finally:
        for log, level in zip(quiet, before, strict=True):
            log.setLevel(level)


def _forget() -> None:
    """Clear caches of rows that do not exist any more."""
    cache.clear()
    control_pool.cache_clear()
    displayed_image.cache_clear()
    answers.image_key.cache_clear()
    spelling.corpus_words.cache_clear()
