"""Trust states as rows: read, updated by an event, written back.

`protocol.trust.trust_after` computes the new state. Hold the trust state's row lock when calling a function
that writes; lock several in the order of their ids.
"""

from datetime import datetime
from typing import Any, NamedTuple

from annotation.common import database
from annotation.models import Campaign, Identity
from annotation.models import TrustState as Row
from annotation.protocol.trust import Event, QualificationTaken, WorkerJoined, WorkerTrust, trust_after
from annotation.protocol.trust_settings import TrustSettings


class TrustStateColumns(NamedTuple):
    """The columns of a trust state, as in its row; each field has the name of its column."""

    kind: str
    state: str
    entered: bool
    entered_tasks: int | None
    entered_approved: int | None
    examined_right: int | None
    examined_items: int | None
    items: int
    known: int
    right: int
    last: str


def trust_from_row(row: Row | TrustStateColumns) -> WorkerTrust:
    """Return the trust state of a row."""
    return WorkerTrust(
        row.kind,
        row.state,
        WorkerJoined(row.entered_tasks, row.entered_approved) if row.entered else None,
        _examined(row),
        row.items,
        row.known,
        row.right,
        tuple(mark == "1" for mark in row.last),
    )


def _examined(row: Row | TrustStateColumns) -> QualificationTaken | None:
    if not row.examined_items or row.examined_right is None:
        return None
    return QualificationTaken(row.examined_right, row.examined_items)


def _values_of(trust: WorkerTrust) -> dict[str, Any]:
    """Return a trust state as the values of its row's columns (`TrustStateColumns`)."""
    entered, examined = trust.entered, trust.examined
    return {
        "kind": trust.kind,
        "state": trust.state,
        "entered": entered is not None,
        "entered_tasks": entered.tasks if entered else None,
        "entered_approved": entered.approved if entered else None,
        "examined_right": examined.right if examined else None,
        "examined_items": examined.items if examined else None,
        "items": trust.items,
        "known": trust.known,
        "right": trust.right,
        "last": "".join("01"[right] for right in trust.last),
    }


def store_trust(row: Row, trust: WorkerTrust, **also: Any) -> None:
    """Write `trust` to its row, and the columns in `also`."""
    for name, value in {**_values_of(trust), "changed_at": database.now(), **also}.items():
        setattr(row, name, value)
    row.save()


def note(row: Row, event: Event, settings: TrustSettings) -> WorkerTrust:
    """Update the row's trust state by one event and write it."""
    trust = trust_after(trust_from_row(row), event, settings)
    store_trust(row, trust)
    return trust


def join_campaign(*, worker: int, campaign: Campaign, kind: str, settings: TrustSettings) -> Row:
    """Return the worker's trust state for `kind`, created if missing from the reputation that their source
    reports."""
    existing = Row.objects.filter(campaign=campaign, worker_id=worker, kind=kind).first()
    if existing is not None:
        return existing
    identity = Identity.objects.filter(worker_id=worker).first()
    entered = WorkerJoined(identity.tasks, identity.approved) if identity else WorkerJoined()
    first = trust_after(WorkerTrust(kind), entered, settings)
    row, _ = Row.objects.get_or_create(
        campaign=campaign,
        worker_id=worker,
        kind=kind,
        defaults={**_values_of(first), "changed_at": database.now()},
    )
    return row


def trust_update(
    row_id: int, trust: WorkerTrust, at: datetime, *, cursor_at: int | None = None
) -> database.Statement:
    """Return the statement that writes the changes of a trust state by work, for
    `database.send_statements`."""
    moved = "" if cursor_at is None else ", cursor = %s"
    return (
        f"""UPDATE annotation_truststate SET state = %s, items = %s, known = %s, "right" = %s, last = %s,
               changed_at = %s{moved} WHERE id = %s""",
        [
            trust.state,
            trust.items,
            trust.known,
            trust.right,
            "".join("01"[right] for right in trust.last),
            database.sql_time(at),
            *([] if cursor_at is None else [cursor_at]),
            row_id,
        ],
    )
