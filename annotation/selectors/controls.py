"""Counts of a campaign's control items, for commands and pages."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from django.db.models import Count, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.models import Assignment, Campaign, Control, Judgment
from annotation.protocol.kinds import (
    MEASURED_ON_CONTROLS,
    MEASURED_ON_NOTHING,
    MEASURED_ON_VERDICTS,
    judged_by,
    kind_of,
    kind_order,
    names,
)
from annotation.protocol.questions import VOTE
from annotation.protocol.trust_settings import GoldCoverage

#: Number of campaigns whose gold coverage a process caches.
CACHED_CAMPAIGNS = 256


def control_item_counts(campaign: Campaign) -> dict[tuple[str, str, str], int]:
    """Return counts of active control items by (kind, purpose, answer), kinds in the order of the
    workflow."""
    rows = (
        Control.objects.filter(campaign=campaign, active=True)
        .values("kind", "purpose", "stratum")
        .annotate(items=Count("id"))
        .values_list("kind", "purpose", "stratum", "items")
    )
    counted = sorted(rows, key=lambda row: (kind_order(row[0]), row[1], row[2]))
    return {(kind, purpose, answer): items for kind, purpose, answer, items in counted}


class ControlMetadata(NamedTuple):
    """Gold coverage of a campaign by kind of question, and the time since when accuracy can be measured.

    `since`: the kinds that have a measure of accuracy, or had one, and when it began: the time of the first
    control item, active or not; for drawing that of Box Quality. Until then the accuracy of those who judge
    boxes is unknown, and their verdicts are no checked answers.
    """

    known: Mapping[str, GoldCoverage]
    since: Mapping[str, datetime]


@lru_cache(maxsize=CACHED_CAMPAIGNS)
def control_metadata(campaign: int, revision: int) -> ControlMetadata:
    """Return the gold coverage of the campaign with this id; cached by the process for each `revision` of the
    campaign."""
    return control_metadata_of([campaign])[campaign]


def control_metadata_of(campaigns: Collection[int]) -> dict[int, ControlMetadata]:
    """Return the current gold coverage of each of these campaigns (ids); one query."""
    rows = Control.objects.filter(campaign__in=campaigns).values_list("campaign", "kind", "purpose", "active")
    first: dict[int, dict[tuple[str, str, bool], datetime]] = {campaign: {} for campaign in campaigns}
    for campaign, kind, purpose, active, at in rows.annotate(at=Min("created_at")):
        first[campaign][kind, purpose, active] = at
    return {campaign: _metadata_from(of) for campaign, of in first.items()}


def _metadata_from(first: Mapping[tuple[str, str, bool], datetime]) -> ControlMetadata:
    """Return the gold coverage from the time of the first item of each (kind, purpose, active or not)."""
    since: dict[str, datetime] = {}
    for kind in names():
        source = judged_by(kind) if kind_of(kind).measured_on == MEASURED_ON_VERDICTS else kind
        came = [first.get((source, Control.CONTROL, active)) for active in (True, False)]
        if (earliest := min(filter(None, came), default=None)) is not None:
            since[kind] = earliest
    measured = {
        MEASURED_ON_CONTROLS: {
            kind for kind, purpose, active in first if active and purpose == Control.CONTROL
        },
        MEASURED_ON_VERDICTS: set(since),
    }
    known = {
        kind: GoldCoverage(
            (kind, Control.QUALIFICATION, True) in first, kind in measured.get(kind_of(kind).measured_on, ())
        )
        for kind in names()
    }
    return ControlMetadata(known, since)


def unchecked_kinds(campaign: Campaign) -> tuple[str, ...]:
    """Return the kinds of a campaign without any check of accuracy, though they could have one."""
    known = control_metadata(campaign.pk, campaign.revision).known
    return tuple(
        kind
        for kind in campaign.kinds
        if kind_of(kind).measured_on != MEASURED_ON_NOTHING and not known[kind].accuracy
    )


def unchecked_answers(campaign: Campaign) -> dict[str, int]:
    """Return by kind the number of answers from before there was any check of them, for kinds that have one
    now."""
    counts = {}
    for kind, since in control_metadata(campaign.pk, campaign.revision).since.items():
        early = Judgment.objects.filter(campaign=campaign, kind=kind, role=VOTE, created_at__lt=since)
        if kind not in unchecked_kinds(campaign) and (count := early.count()):
            counts[kind] = count
    return counts


def with_answer_counts(rows: QuerySet[Control]) -> QuerySet[Control]:
    """Return control items with their graded answers (`answers_given`), and the right ones
    (`answers_right`)."""
    graded = Assignment.objects.filter(control=OuterRef("pk"), right__isnull=False).order_by()
    counts = {"answers_given": graded, "answers_right": graded.filter(right=True)}
    return rows.annotate(
        **{
            name: Coalesce(Subquery(some.values("control").annotate(n=Count("pk")).values("n")), 0)
            for name, some in counts.items()
        }
    )


def answered_controls(controls: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Return (right answers, answers) by control item, without those that nobody answered."""
    rows = Assignment.objects.filter(control__in=list(controls), right__isnull=False).values("control")
    answered = rows.annotate(right_ones=Count("id", filter=Q(right=True)), all_of_them=Count("id"))
    return {
        control: (right, all_of_them)
        for control, right, all_of_them in answered.values_list("control", "right_ones", "all_of_them")
    }
