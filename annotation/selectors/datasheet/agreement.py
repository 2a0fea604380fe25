"""How far people agree on each kind of question, over everything of a campaign that two of them answered."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection

from annotation.models import Campaign
from annotation.protocol.kinds import kind_of
from annotation.protocol.terms import Box
from annotation.selectors.datasheet.intervals import IntervalEstimate, cohen_kappa, equal_share, mean_overlap

#: Rows taken from the database at once.
_ROWS = 5_000

#: The first two answers of people to each question that two answered, in the order in which they came: of
#: votes, of those that came too late to count, and of double checks. Whether a third is asked for follows
#: from these two, and does not choose them.
_TWO = """WITH placed AS (
    SELECT j.image_id, j.kind, j.key, j.answer, j.x_min, j.y_min, j.x_max, j.y_max,
        row_number() OVER (PARTITION BY j.image_id, j.key ORDER BY j.id) AS place
    FROM annotation_judgment j
    WHERE j.campaign_id = %s AND j.image_id IS NOT NULL AND NOT j.void AND j.flag = ''
        AND j.role IN ('vote', 'surplus', 'double_check')
        AND j.worker_id NOT IN (SELECT worker_id FROM annotation_machine WHERE campaign_id = %s))
SELECT {columns}
FROM placed a JOIN placed b ON b.image_id = a.image_id AND b.key = a.key AND b.place = 2
WHERE a.place = 1 {rest}"""


@dataclass(frozen=True, slots=True)
class QuestionAgreement:
    """Of one kind of question: how many pairs of answers about how many images, and how far they agree.

    `kappa` is None where it is undefined, `overlap` (mean IoU) where no two people drew a box.
    """

    pairs: int
    images: int
    equal: IntervalEstimate
    kappa: IntervalEstimate | None
    overlap: IntervalEstimate | None


def agreement_by_question(campaign: Campaign) -> dict[str, QuestionAgreement]:
    """Kind -> agreement; without kinds whose questions nobody answered twice, or whose answers are texts or
    ticks: there the word that is compared says nothing."""
    pairs: dict[str, dict[int, Counter[tuple[str, str]]]] = defaultdict(lambda: defaultdict(Counter))
    counted = _TWO.format(
        columns="a.kind, a.image_id, a.answer, b.answer, count(*)",
        rest="GROUP BY a.kind, a.image_id, a.answer, b.answer",
    )
    for kind, image, first, second, count in _rows(counted, campaign):
        if not (kind_of(kind).writes or kind_of(kind).with_content):
            pairs[kind][image][first, second] += count
    overlaps: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    drawn = _TWO.format(
        columns="a.kind, a.image_id, a.x_min, a.y_min, a.x_max, a.y_max, b.x_min, b.y_min, b.x_max, b.y_max",
        rest="AND a.x_min IS NOT NULL AND b.x_min IS NOT NULL",
    )
    for kind, image, *corners in _rows(drawn, campaign):
        if kind in pairs:
            overlaps[kind][image].append(Box(*corners[:4]).iou(Box(*corners[4:])))
    return {
        kind: QuestionAgreement(
            pairs=sum(of.total() for of in found.values()),
            images=len(found),
            equal=equal_share(found),
            kappa=cohen_kappa(found),
            overlap=mean_overlap(overlaps[kind]) if kind in overlaps else None,
        )
        for kind, found in sorted(pairs.items())
    }


def _rows(sql: str, campaign: Campaign) -> Iterator[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, [campaign.pk, campaign.pk])
        while rows := cursor.fetchmany(_ROWS):
            yield from rows
