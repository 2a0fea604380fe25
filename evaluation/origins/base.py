"""What an origin of systems is: a key, what people call it, and whether such a system ranks here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from annotation.registry import Registry


@dataclass(frozen=True, slots=True)
class Origin:
    """One origin. `title` is translated; `ranks`: what it takes to rank is kept here."""

    key: str
    title: Any
    ranks: bool


ORIGINS: Registry[Origin] = Registry("origin")
