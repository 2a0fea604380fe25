"""The known items of a campaign, counted: what commands and pages tell of them."""

from __future__ import annotations

from django.db.models import Count

from annotation.models import Campaign, Control
from annotation.protocol.questions import QUESTIONS


def known_items(campaign: Campaign) -> dict[tuple[str, str, str], int]:
    """(kind, purpose, answer) -> how many are in use, kinds in the order in which an image meets them."""
    rows = (
        Control.objects.filter(campaign=campaign, active=True)
        .values("kind", "purpose", "stratum")
        .annotate(items=Count("id"))
        .values_list("kind", "purpose", "stratum", "items")
    )
    found = sorted(rows, key=lambda row: (QUESTIONS.index(row[0]), row[1], row[2]))
    return {(kind, purpose, answer): items for kind, purpose, answer, items in found}
