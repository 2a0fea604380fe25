"""How far two workers agree who were asked the same thing: percent and Cohen's kappa by kind.

A share of the tasks that one answer settles is asked of a second worker, outside the fold; their answer is
compared with the first of a person. Kappa is
(observed - expected) / (1 - expected), where expected is how often two would agree who give each
answer as often as the first and the second ones did (Cohen 1960); undefined where that is always.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db import connection

from annotation.common import database
from annotation.models import Campaign
from annotation.protocol.terms import Box
from annotation.selectors.campaign.kept import kept_figure

#: Double checks looked at, the newest ones: more of them tell no more about today's crowd.
NEWEST_DOUBLE_CHECKS = 5_000

#: First answer, second answer, and the IoU of their boxes where both drew one.
_Pair = tuple[str, str, float | None]


class _Answer(NamedTuple):
    """A judgment's word and the corners of its box; these are None together."""

    answer: str
    x_min: int | None
    y_min: int | None
    x_max: int | None
    y_max: int | None

    @property
    def box(self) -> Box | None:
        """The box, where one was drawn."""
        if self.x_min is None or self.y_min is None or self.x_max is None or self.y_max is None:
            return None
        return Box(self.x_min, self.y_min, self.x_max, self.y_max)


#: The columns of `_Answer`, of the judgment `{of}`.
_ANSWER = "{of}.answer, {of}.x_min, {of}.y_min, {of}.x_max, {of}.y_max"


@dataclass(frozen=True, slots=True)
class DoubleCheckAgreement:
    """Of one kind: pairs of answers, the share that are equal, kappa, and for drawings the mean IoU of
    the boxes where both drew one."""

    pairs: int
    equal: float
    kappa: float | None
    iou: float | None


def agreement(campaign: Campaign, *, fresh: bool = False) -> dict[str, DoubleCheckAgreement]:
    """Kind -> agreement over the newest double checks; kinds without any are not there. Kept as `funnel`."""
    return kept_figure(campaign, "agreement", lambda: _agreement(campaign), fresh=fresh)


def _agreement(campaign: Campaign) -> dict[str, DoubleCheckAgreement]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT d.kind, {_ANSWER.format(of="v")}, {_ANSWER.format(of="d")}
               FROM (SELECT * FROM annotation_judgment
                     WHERE campaign_id = %s AND role = 'double_check' AND flag = '' AND NOT void
                     ORDER BY id DESC LIMIT %s) d
               JOIN annotation_assignment b ON b.id = d.assignment_id
               JOIN annotation_judgment v ON v.id = (
                   SELECT min(j.id) FROM annotation_assignment a
                   JOIN annotation_judgment j ON j.assignment_id = a.id
                   JOIN annotation_worker w ON w.id = j.worker_id AND w.kind <> 'machine'
                   WHERE a.task_id = b.task_id AND a.id <> b.id
                       AND j.role = 'vote' AND j.flag = '' AND NOT j.void)""",
            [campaign.pk, NEWEST_DOUBLE_CHECKS],
        )
        pairs: dict[str, list[_Pair]] = {}
        for kind, *answers in cursor.fetchall():
            first, second = database.split_row(answers, _Answer, _Answer)
            iou = first.box.iou(second.box) if first.box and second.box else None
            pairs.setdefault(kind, []).append((first.answer, second.answer, iou))
    return {kind: measured(found) for kind, found in sorted(pairs.items())}


def measured(pairs: Sequence[_Pair]) -> DoubleCheckAgreement:
    """The agreement of some pairs, one at least."""
    count = len(pairs)
    observed = sum(first == second for first, second, _ in pairs) / count
    firsts = Counter(first for first, _, _ in pairs)
    seconds = Counter(second for _, second, _ in pairs)
    expected = sum(firsts[answer] * seconds[answer] for answer in firsts) / count**2
    overlaps = [iou for *_, iou in pairs if iou is not None]
    return DoubleCheckAgreement(
        pairs=count,
        equal=observed,
        kappa=(observed - expected) / (1 - expected) if expected < 1 else None,
        iou=sum(overlaps) / len(overlaps) if overlaps else None,
    )
