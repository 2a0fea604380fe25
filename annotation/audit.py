"""The audit log: one line for each act of a reviewer, researcher or admin."""

from typing import Any

from annotation.models import Account, AuditEntry, Campaign


def record(*, actor: Account | None, act: str, campaign: Campaign | None = None, **about: Any) -> None:
    """Record that `actor` (None: the command line) did `act`; `about` is plain data.

    Names are part of the line, and stay when the account or the campaign is deleted. Call it within the act's
    own transaction.
    """
    AuditEntry.objects.create(
        actor=actor,
        actor_name=actor.get_username() if actor else "",
        act=act,
        campaign=campaign,
        campaign_name=campaign.name if campaign else "",
        about=about,
    )


def audit_values(act: str, key: str, beginning: str) -> list[str]:
    """Return the values of `key` in the lines of an act that start with `beginning`."""
    lines = AuditEntry.objects.filter(**{"act": act, f"about__{key}__startswith": beginning})
    values = map(str, lines.values_list(f"about__{key}", flat=True))
    # SQLite's own comparison ignores case.
    return [value for value in values if value.startswith(beginning)]
