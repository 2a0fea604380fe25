"""Who did what: one line for each act of a reviewer, researcher or admin."""

from __future__ import annotations

from typing import Any

from annotation.models import Account, AuditEntry, Campaign


def record(*, actor: Account | None, act: str, campaign: Campaign | None = None, **about: Any) -> None:
    """Write that `actor` (None: the command line) did `act`; `about` is plain data.

    Call it within the act's own transaction.
    """
    AuditEntry.objects.create(actor=actor, act=act, campaign=campaign, about=about)
