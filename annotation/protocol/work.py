"""Settings of leases, pay and stop rules.

None of these numbers is from the papers, unless a field's `metadata["source"]` says so.
"""

from calendar import monthrange
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from pydantic import Field

from annotation.protocol import kinds
from annotation.protocol.setting_types import MoneyAmount, StorableText, TimeSpan, WholeFromOne, WholeNumber
from annotation.protocol.words import gettext_noop as _
from models_core.checked_fields import BadField, CheckedRecord, check_fields

#: Pay is computed in millionths of a currency unit, as whole numbers.
MICROS = 1_000_000
PER_ITEM: Final = "item"
PER_HOUR: Final = "hour"
UNPAID: Final = "none"
Basis = Literal["item", "hour", "none"]


@dataclass(frozen=True, slots=True)
class LeaseSettings(CheckedRecord):
    """`minutes` until a lease without activity expires; `in_hand` leases per worker and kind at most."""

    minutes: Annotated[
        TimeSpan, Field(description=_("Minutes that a task stays assigned without a sign of life"))
    ] = field(default=20.0, metadata={"source": "decided"})
    in_hand: Annotated[
        WholeFromOne, Field(description=_("Tasks of one kind of question that a worker may hold at a time"))
    ] = field(default=3, metadata={"source": "decided: the one just answered, the current one and the next"})


@dataclass(frozen=True, slots=True)
class PaySettings:
    """Pay of an answer: `basis` "item" (by `per_item`, in currency units), "hour" (`hourly`), "none".

    Time counts as far as the page saw activity: gaps of more than `idle_after` seconds do not, and an answer
    without such a report counts as `idle_after` seconds at most.
    """

    basis: Annotated[
        Basis, Field(description=_("What is paid for: answers (item), time (hour) or nothing (none)"))
    ] = field(default=UNPAID, metadata={"source": "decided"})
    currency: Annotated[StorableText, Field(description=_("Currency of all amounts"))] = field(
        default="USD", metadata={"source": "decided"}
    )
    per_item: Annotated[
        Mapping[str, MoneyAmount], Field(description=_("Pay of one answer, by kind of question (basis item)"))
    ] = field(default_factory=dict, metadata={"source": "decided"})
    hourly: Annotated[MoneyAmount, Field(description=_("Pay of one hour of work (basis hour)"))] = field(
        default=0.0, metadata={"source": "decided"}
    )
    idle_after: Annotated[
        TimeSpan, Field(description=_("Seconds without activity after which time is not paid any more"))
    ] = field(default=60.0, metadata={"source": "decided"})

    def __post_init__(self) -> None:
        check_fields(self)
        if unknown := sorted(set(self.per_item) - set(kinds.names())):
            raise ValueError(f"per_item names {unknown[0]!r}: expected one of {', '.join(kinds.names())}")

    def unpaid(self, kinds: Iterable[str]) -> tuple[str, ...]:
        """Return those of `kinds` that earn nothing, however long they take."""
        return tuple(kind for kind in kinds if not self.amount(kind, 3600))

    def amount(self, kind: str, seconds: float) -> int:
        """Return the millionths of the currency that one answer of `kind` earns after `seconds` of work."""
        if self.basis == PER_ITEM:
            return round(self.per_item.get(kind, 0.0) * MICROS)
        return round(self.hourly * MICROS * seconds / 3600) if self.basis == PER_HOUR else 0


@dataclass(frozen=True, slots=True)
class StopSettings:
    """When tasks stop by themselves: `budget` spent (currency units), `until` a day (ISO date, its end in
    UTC), `images` complete. Missing ones never stop."""

    budget: Annotated[
        MoneyAmount | None, Field(description=_("Money after which the campaign is paused"))
    ] = field(default=None, metadata={"source": "decided"})
    until: Annotated[
        str | None,
        Field(
            pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
            examples=["2026-12-31"],
            json_schema_extra={"format": "date"},
            description=_("Last day of work (its end in UTC), after which the campaign is paused"),
        ),
    ] = field(default=None, metadata={"source": "decided"})
    images: Annotated[
        WholeNumber | None, Field(description=_("Complete images after which the campaign is paused"))
    ] = field(default=None, metadata={"source": "decided"})

    def __post_init__(self) -> None:
        check_fields(self)
        if self.until is not None:
            year, month, day = map(int, self.until.split("-"))
            if not (year and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]):
                raise BadField("until", self.until, "a day that exists")
