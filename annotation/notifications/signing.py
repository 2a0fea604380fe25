"""Signatures of webhooks, after Standard Webhooks (standardwebhooks.com, specification 1.0.0).

Signed is `ID.TIME.BODY`: the message's id, seconds since 1970, the body byte for byte. The signature is
HMAC-SHA256 in base64, behind `v1,`. The secret is `whsec_` and 32 bytes in base64; they are the key.
"""

import base64
import hashlib
import hmac

from django.utils.crypto import salted_hmac

ID_HEADER = "webhook-id"
TIME_HEADER = "webhook-timestamp"
SIGNATURE_HEADER = "webhook-signature"
SECRET_PREFIX = "whsec_"
_SALT = "annotation.webhooks"


def secret_of(salt: str) -> str:
    """The secret of a webhook with this salt. It is computed from SECRET_KEY, so that neither the database
    nor a backup holds it."""
    key = salted_hmac(_SALT, salt, algorithm="sha256").digest()
    return SECRET_PREFIX + base64.b64encode(key).decode()


def webhook_signature(*, secret: str, message: str, at: int, body: bytes) -> str:
    """The signature of a body that is sent as `message` at `at` (seconds since 1970)."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = f"{message}.{at}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
