"""What a receiver of webhooks needs: whether a call is the server's, and what it says."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

#: Seconds that a call may be old, or ahead of this machine's clock.
TOLERANCE = 300


class NotSigned(ValueError):
    """A call that the server did not sign, or that is too old."""


def verified_webhook(
    secret: str, headers: Mapping[str, str], body: bytes, *, tolerance: float = TOLERANCE
) -> dict[str, Any]:
    """What a call says, as `{"type", "timestamp", "data"}`; raises NotSigned where it is not the server's.

    `body` is the body byte for byte, before anything parses it. The same call may come more than once: its
    header `webhook-id` tells whether you had it already.
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
