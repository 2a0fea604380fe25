"""Whom an operation is open to: the same rules as pages have, told as problems."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.utils.translation import gettext as _

from annotation.api.problems import Problem
from annotation.common.database import LARGEST_ID
from annotation.common.operations import Has
from annotation.common.roles import WHOLE_SERVER
from annotation.models import Account


def check_permission(permission: Has, account: Account) -> None:
    """Raise Problem where the account's roles let it call nothing of this permission; what the address names
    is looked at later."""
    if permission.server:
        allowed = account.has_role(*permission.roles, on=WHOLE_SERVER)
    else:
        allowed = not permission.roles or account.has_role_somewhere(
            *permission.roles, corpora=permission.corpora
        )
    if not allowed:
        raise no_role(*permission.roles)


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
