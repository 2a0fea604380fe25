"""Secrets that the server must read again, encrypted under its key, so that a copy of the database alone
opens nothing."""

import base64

from cryptography.fernet import Fernet, InvalidToken
from django.utils.crypto import salted_hmac

_SALT = "annotation.second_factor"


class CannotOpen(ValueError):
    """What was sealed under another key, or is damaged."""


def seal(secret: str) -> str:
    """`secret`, encrypted and signed under the server's key."""
    return _lock().encrypt(secret.encode()).decode("ascii")


def unseal(sealed: str) -> str:
    """The secret again. Raises CannotOpen."""
    try:
        return _lock().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise CannotOpen("this was encrypted under another SECRET_KEY") from None


def _lock() -> Fernet:
    return Fernet(base64.urlsafe_b64encode(salted_hmac(_SALT, "", algorithm="sha256").digest()))
