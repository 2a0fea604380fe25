"""Calls of the pages of declared operations, from the valid calls of the API (`tests.api.v1.valid`).

Importing this adds to `operations.OPERATIONS` each operation with a page of its own that has no call there
yet. Operations without an API are complete here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.db import transaction
from django.urls import reverse

from annotation.common.operations import Operation as Declared
from annotation.common.operations import all_operations
from annotation.common.operations.requests import request_fields
from annotation.common.roles import RESEARCHER, REVIEWER
from annotation.models import Account, Corpus, SignInRules
from annotation.workers import api_tokens
from annotation.workers.accounts import granting, inviting
from tests.api.v1.valid import VALID
from tests.hostile import paying  # noqa: F401 (adds its operations, which come first)
from tests.hostile.calls import Call
from tests.hostile.operations import (
    ADMIN,
    OPERATIONS,
    READERS,
    RUNNERS,
    SIGNED_IN,
    At,
    by,
    get,
    post,
)


def _somebody(at: At) -> str:
    """Return an account of somebody who never calls."""
    name = at.new("somebody")
    Account.objects.create_user(name, email=f"{name}@example.org")
    return name


def _reviewer(at: At) -> str:
    """Return an account that reviews the corpus quay."""
    name = _somebody(at)
    granting.grant(
        account=Account.objects.get(username=name), role=REVIEWER, corpus=Corpus.objects.get(name="quay")
    )
    return name


def _invitation(at: At) -> int:
    """Return an unused staff invitation."""
    return inviting.invite_staff(email=f"{at.new()}@example.org", role=RESEARCHER).pk


def _token(at: At) -> int:
    """Return a token of the caller, or of somebody else if the caller may have none."""
    owner = at.account if at.account.has_staff_role else Account.objects.get(username=RESEARCHER)
    token = api_tokens.make_api_token(account=owner, name=at.new("to go"), days=1, writes=False)
    return token.token.pk


for _name in ("send_password_link", "make_password_link", "reset_second_factor"):
    post("operation", [ADMIN], _name, account=_somebody)
post("operation", [ADMIN], "grant_role", account=_somebody, role=REVIEWER, corpus="quay")
post("operation", [ADMIN], "revoke_role", account=_reviewer, role=REVIEWER, corpus="quay")
post("operation", [ADMIN], "set_second_factor_rule", who=SignInRules.NOBODY)
post(
    "operation",
    [ADMIN],
    "invite_staff",
    email=lambda at: f"{at.new()}@example.org",
    role=RESEARCHER,
    corpus="quay",
)
post("operation", [ADMIN], "revoke_staff_invitation", invitation=_invitation)
post("operation", READERS, "revoke_token", token=_token)
post(
    "operation",
    READERS,
    "make_token",
    name="nightly export",
    access="write",
    corpus=lambda at: at.choice("", "quay"),
)


def _roles(declared: Declared) -> tuple[str, ...]:
    """Return the permitted roles, by their names in calls."""
    if not declared.permission.roles:
        return SIGNED_IN
    if REVIEWER in declared.permission.roles:
        return READERS
    return RUNNERS if RESEARCHER in declared.permission.roles else (ADMIN,)


def _send(declared: Declared, name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield a field in the form's encoding."""
    if isinstance(value, bool):
        yield name, "true" if value else "false"
    elif isinstance(value, list) and request_fields(declared.request)[name].lines > 1:
        yield name, "\n".join(map(str, value))
    else:
        for item in value if isinstance(value, list) else [value]:
            yield name, str(item)


def _call(declared: Declared) -> Callable[[At], Call]:
    """Return a function that makes its valid call; the form without fields if an earlier call used up what it
    needs."""

    def make(at: At) -> Call:
        call = Call("POST", reverse("operation", args=[declared.name]))
        try:
            with transaction.atomic():
                valid = VALID[declared.name]()
        except Exception:
            return call
        for name, value in {**valid.path_values, **valid.query, **(valid.body or {})}.items():
            call.fields.extend(_send(declared, name, value))
        for name, (called, content) in valid.files.items():
            call.files.append((name, f'filename="{called}"', content))
        return call

    return make


def _enter() -> None:
    attacked = {operations.name for operations in OPERATIONS}
    for operation in all_operations():
        if operation.page is None or operation.page.route:
            continue
        get("operation", _roles(operation), operation.name, called=f"{operation.name} seen")
        if f"operation {operation.name}" not in attacked and operation.name in VALID:
            by("operation", operation.name, _roles(operation))(_call(operation))


_enter()
