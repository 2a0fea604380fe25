"""Whom an operation is open to: the same rules as pages have, told as problems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol

from django.utils.translation import gettext as _

from annotation.api.problems import Problem
from annotation.common.database import LARGEST_ID
from annotation.common.roles import WHOLE_SERVER
from annotation.models import Account


class Door(Protocol):
    """Who may call, decided from the account's roles and what the address names."""

    def admit(self, account: Account, place: dict[str, Any]) -> tuple[Any, ...]:
        """What the address names, as rows, to be handed to the operation; `place` keeps the rest of the
        address. Raises Problem."""


@dataclass(frozen=True, slots=True)
class Anywhere:
    """Whoever holds one of `roles` for anything, or, with `corpora`, for a corpus at least."""

    roles: tuple[str, ...]
    corpora: bool = False

    def admit(self, account: Account, place: dict[str, Any]) -> tuple[Any, ...]:
        """Nothing is named; the operation shows and takes no more than the roles are for."""
        if not account.has_role_somewhere(*self.roles, corpora=self.corpora):
            raise no_role(*self.roles)
        return ()


@dataclass(frozen=True, slots=True)
class OfServer:
    """Whoever holds one of `roles` for the whole server."""

    roles: tuple[str, ...]

    def admit(self, account: Account, place: dict[str, Any]) -> tuple[Any, ...]:
        """Nothing is named."""
        if not account.has_role(*self.roles, on=WHOLE_SERVER):
            raise no_role(*self.roles)
        return ()


class SignedIn:
    """Everybody who has a token or a session."""

    def admit(self, account: Account, place: dict[str, Any]) -> tuple[Any, ...]:
        """Nothing is named."""
        return ()


def check_place(place: Mapping[str, Any]) -> None:
    """Raise Problem where an address holds what no row can: too large a number, a null character."""
    for value in place.values():
        if (isinstance(value, int) and value > LARGEST_ID) or (isinstance(value, str) and "\0" in value):
            raise missing(_("There is no such thing here."))


def no_role(*roles: str) -> Problem:
    """A problem of status 403: the account, or its token, has none of these roles here."""
    detail = _("This takes the role %(roles)s: ask an admin of this server.") % {"roles": " / ".join(roles)}
    return Problem(HTTPStatus.FORBIDDEN, "no_role", detail)


def missing(detail: str) -> Problem:
    """A problem of status 404."""
    return Problem(HTTPStatus.NOT_FOUND, "unknown", detail)
