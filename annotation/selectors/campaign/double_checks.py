"""How far two workers agree who were asked the same thing: percent and Cohen's kappa by kind.

A share of the tasks that one answer settles is asked of a second worker, outside the fold. Kappa is
(observed - expected) / (1 - expected), where expected is how often two would agree who give each
answer as often as the first and the second ones did (Cohen 1960); undefined where that is always.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from annotation.models import Campaign
from annotation.protocol.terms import Box
from annotation.selectors.campaign.kept import kept

#: Double checks looked at, the newest ones: more of them tell no more about today's crowd.
NEWEST = 5_000

#: First answer, second answer, and the IoU of their boxes where both drew one.
Pair = tuple[str, str, float | None]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of one kind: pairs of answers, the share that are equal, kappa, and for drawings the mean IoU of
    the boxes where both drew one."""

    pairs: int
    equal: float
    kappa: float | None
    iou: float | None


def agreement(campaign: Campaign, *, fresh: bool = False) -> dict[str, Agreement]:
    """Kind -> agreement over the newest double checks; kinds without any are not there. Kept as `funnel`."""
    return kept(campaign, "agreement", lambda: _agreement(campaign), fresh=fresh)


def _agreement(campaign: Campaign) -> dict[str, Agreement]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT d.kind, v.answer, d.answer, v.x_min, v.y_min, v.x_max, v.y_max,
                   d.x_min, d.y_min, d.x_max, d.y_max
               FROM (SELECT * FROM annotation_judgment
                     WHERE campaign_id = %s AND role = 'double_check' AND flag = '' AND NOT void
                     ORDER BY id DESC LIMIT %s) d
               JOIN annotation_assignment b ON b.id = d.assignment_id
               JOIN annotation_judgment v ON v.id = (
                   SELECT min(j.id) FROM annotation_assignment a
                   JOIN annotation_judgment j ON j.assignment_id = a.id
                   WHERE a.task_id = b.task_id AND a.id <> b.id
                       AND j.role = 'vote' AND j.flag = '' AND NOT j.void)""",
            [campaign.pk, NEWEST],
        )
        pairs: dict[str, list[Pair]] = {}
        for kind, first, second, *corners in cursor.fetchall():
            both = all(corner is not None for corner in corners)
            iou = Box(*corners[:4]).iou(Box(*corners[4:])) if both else None
            pairs.setdefault(kind, []).append((first, second, iou))
    return {kind: measured(found) for kind, found in sorted(pairs.items())}


def measured(pairs: Sequence[Pair]) -> Agreement:
    """The agreement of some pairs, one at least."""
    count = len(pairs)
    observed = sum(first == second for first, second, _ in pairs) / count
    firsts, seconds = Counter(p[0] for p in pairs), Counter(p[1] for p in pairs)
    expected = sum(firsts[answer] * seconds[answer] for answer in firsts) / count**2
    overlaps = [iou for *_, iou in pairs if iou is not None]
    return Agreement(
        pairs=count,
        equal=observed,
        kappa=(observed - expected) / (1 - expected) if expected < 1 else None,
        iou=sum(overlaps) / len(overlaps) if overlaps else None,
    )
