"""The known items of a campaign, counted: what commands and pages tell of them."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Count, Q

from annotation.models import Assignment, Campaign, Control
from annotation.protocol.questions import KINDS


def known_items(campaign: Campaign) -> dict[tuple[str, str, str], int]:
    """(kind, purpose, answer) -> how many are in use, kinds in the order in which an image meets them."""
    rows = (
        Control.objects.filter(campaign=campaign, active=True)
        .values("kind", "purpose", "stratum")
        .annotate(items=Count("id"))
        .values_list("kind", "purpose", "stratum", "items")
    )
    found = sorted(rows, key=lambda row: (KINDS.index(row[0]), row[1], row[2]))
    return {(kind, purpose, answer): items for kind, purpose, answer, items in found}


def answered(controls: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Control -> (right answers, answers) given on it; those that nobody answered are not there."""
    rows = Assignment.objects.filter(control__in=list(controls), right__isnull=False).values("control")
    told = rows.annotate(right_ones=Count("id", filter=Q(right=True)), all_of_them=Count("id"))
    return {
        control: (right, all_of_them)
        for control, right, all_of_them in told.values_list("control", "right_ones", "all_of_them")
    }
