"""The first account: created with the link that the server prints, as an admin of everything.

The token of the link is random and stored in a file of DATA_DIR that only the server's user can read: a link
signed with the server's key could be forged by anybody who knows the key of a development server.
"""

import contextlib
import hmac
import os
import secrets
import tempfile
from pathlib import Path

from django.conf import settings

from annotation.audit import record
from annotation.common import database
from annotation.common.locks import locked_folder
from annotation.common.roles import ADMIN
from annotation.models import Account, RoleGrant

_FILE = "first-account"


class TooLate(ValueError):
    """There is an account already, or the link is a different one."""


def token() -> str:
    """Return the token of the link, created if necessary; "" if there is an account already."""
    if Account.objects.exists():
        _file().unlink(missing_ok=True)
        return ""
    _file().parent.mkdir(parents=True, exist_ok=True)
    if not _file().exists():
        # Written atomically, and by the first of two servers that start at once.
        handle, beside = tempfile.mkstemp(dir=_file().parent, prefix=".first-account-")
        try:
            with os.fdopen(handle, "w", encoding="ascii") as out:
                out.write(secrets.token_urlsafe(24))
            with contextlib.suppress(FileExistsError):
                os.link(beside, _file())
        finally:
            os.unlink(beside)
    return _file().read_text(encoding="ascii")


def is_open(token: str) -> bool:
    """Whether `token` is the link's, and there is no account yet."""
    try:
        expected = _file().read_bytes()
    except FileNotFoundError:
        return False
    return hmac.compare_digest(expected, token.encode()) and not Account.objects.exists()


def make_first_account(*, token: str, username: str, password: str) -> Account:
    """Create the first account, an admin of the whole server. Raises TooLate."""
    with locked_folder(_FILE, busy="somebody else is creating the first account"), database.writing():
        if not is_open(token):
            raise TooLate("there is already an account, or this link is not the current one")
        account = Account.objects.create_user(username, password=password)
        RoleGrant.objects.create(account=account, role=ADMIN, granted_by=account)
        record(actor=account, act="first_account", account=username)
    _file().unlink(missing_ok=True)
    return account


def _file() -> Path:
    return Path(settings.DATA_DIR) / _FILE
