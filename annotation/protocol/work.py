"""How work is handed out, paid and ended: the settings of leases, pay and stop rules.

None of these numbers is in the papers, save where a field's `metadata["source"]` says so.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from annotation.protocol import kinds

#: Pay is reckoned in millionths of a currency unit, as whole numbers.
MICROS = 1_000_000
PER_ITEM, PER_HOUR, UNPAID = "item", "hour", "none"
BASES = (PER_ITEM, PER_HOUR, UNPAID)
#: How a day is written.
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """`minutes` a task is held without a sign of life; `in_hand` leases per worker and kind at most."""

    minutes: float = field(default=20.0, metadata={"source": "decided"})
    in_hand: int = field(
        default=3, metadata={"source": "decided: the one just answered, the current one and the next"}
    )

    def __post_init__(self) -> None:
        if not self.minutes > 0:
            raise ValueError(f"minutes is {self.minutes}: expected more than 0")
        if self.in_hand < 1:
            raise ValueError(f"in_hand is {self.in_hand}: expected 1 or more")


@dataclass(frozen=True, slots=True)
class PaySettings:
    """What an answer earns: `basis` "item" (by `per_item`, in currency units), "hour" (`hourly`), "none".

    Time counts as far as the page saw activity: gaps of more than `idle_after` seconds do not, and
    an answer without such a report is taken to last `idle_after` seconds at most.
    """

    basis: str = field(default=UNPAID, metadata={"source": "decided"})
    currency: str = field(default="USD", metadata={"source": "decided"})
    per_item: Mapping[str, float] = field(default_factory=dict, metadata={"source": "decided"})
    hourly: float = field(default=0.0, metadata={"source": "decided"})
    idle_after: float = field(default=60.0, metadata={"source": "decided"})

    def __post_init__(self) -> None:
        if self.basis not in BASES:
            raise ValueError(f"basis is {self.basis!r}: expected one of {', '.join(BASES)}")
        if unknown := sorted(set(self.per_item) - set(kinds.names())):
            raise ValueError(f"per_item names {unknown[0]!r}: expected one of {', '.join(kinds.names())}")
        if self.hourly < 0 or min(self.per_item.values(), default=0) < 0:
            raise ValueError("pay is negative: expected 0 or more")
        if not self.idle_after > 0:
            raise ValueError(f"idle_after is {self.idle_after}: expected more than 0 seconds")

    def unpaid(self, kinds: Iterable[str]) -> tuple[str, ...]:
        """Those of `kinds` that earn nothing, however long they take."""
        return tuple(kind for kind in kinds if not self.amount(kind, 3600))

    def amount(self, kind: str, seconds: float) -> int:
        """Millionths of the currency that one answer of `kind` earns after `seconds` of work."""
        if self.basis == PER_ITEM:
            return round(self.per_item.get(kind, 0.0) * MICROS)
        return round(self.hourly * MICROS * seconds / 3600) if self.basis == PER_HOUR else 0


@dataclass(frozen=True, slots=True)
class StopSettings:
    """When handing out ends by itself: `budget` spent (currency units), `until` a day (ISO date, its
    end in UTC), `images` complete. Absent ones never stop."""

    budget: float | None = field(default=None, metadata={"source": "decided"})
    until: str | None = field(default=None, metadata={"source": "decided"})
    images: int | None = field(default=None, metadata={"source": "decided"})

    def __post_init__(self) -> None:
        for name in ("budget", "images"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name} is {value}: expected 0 or more")
        if self.until is not None:
            if not isinstance(self.until, str) or not DAY.fullmatch(self.until):
                raise ValueError(f'until is {self.until}: expected a day in quotes, as "2026-12-31"')
            year, month, day = map(int, self.until.split("-"))
            if not (year and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]):
                raise ValueError(f"until is {self.until}: there is no such day")
