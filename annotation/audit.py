"""Who did what: one line for each act of a reviewer, researcher or admin."""

from typing import Any

from annotation.models import Account, AuditEntry, Campaign


def record(*, actor: Account | None, act: str, campaign: Campaign | None = None, **about: Any) -> None:
    """Write that `actor` (None: the command line) did `act`; `about` is plain data.

    Names stand in the line itself, and stay when the account or the campaign is deleted. Call it within the
    act's own transaction.
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
    """What the lines of an act say under `key`, where that begins so."""
    lines = AuditEntry.objects.filter(**{"act": act, f"about__{key}__startswith": beginning})
    values = map(str, lines.values_list(f"about__{key}", flat=True))
    # SQLite's own comparison takes capitals for small letters.
    return [value for value in values if value.startswith(beginning)]
