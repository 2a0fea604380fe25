"""Settings that a command takes as KEY=VALUE."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError


def setting_of(text: str) -> tuple[str, Any]:
    """KEY=VALUE, the value as JSON where it is some, else as text. Raises CommandError."""
    key, sign, value = text.partition("=")
    if not sign:
        raise CommandError(f"setting {text!r}: expected KEY=VALUE")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value
