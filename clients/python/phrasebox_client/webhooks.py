"""Receiving webhooks: check that a call is the server's, and parse it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

#: Maximum age of a call in seconds, also ahead of this machine's clock.
TOLERANCE = 300


class NotSigned(ValueError):
    """A call without the server's signature, or one that is too old."""


def verified_webhook(
    secret: str, headers: Mapping[str, str], body: bytes, *, tolerance: float = TOLERANCE
) -> dict[str, Any]:
    """Return a call's content, as `{"type", "timestamp", "data"}`. Raises NotSigned if it is not the
    server's.

    `body` is the unparsed body, byte for byte. The same call may come more than once: its header `webhook-id`
    identifies it.
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    message, at = lowered.get("webhook-id", ""), lowered.get("webhook-timestamp", "")
    if not (at.isascii() and at.isdigit()) or abs(time.time() - int(at)) > tolerance:
        raise NotSigned("the time of the call is missing, or too far from now")
    key = base64.b64decode(secret[len("whsec_") :] if secret.startswith("whsec_") else secret)
    signed = f"{message}.{at}.".encode() + body
    right = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    if not any(
        hmac.compare_digest(signature.encode(), right.encode())
        for signature in lowered.get("webhook-signature", "").split()
    ):
        raise NotSigned("the signature is not that of this secret")
    event: dict[str, Any] = json.loads(body)
    return event
