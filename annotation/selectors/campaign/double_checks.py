"""How far two people agree, over the questions of a campaign that were drawn for a second answer."""

from collections import Counter, defaultdict
from itertools import groupby

from django.db import connection

from annotation.models import Campaign, Task
from annotation.protocol.agreement import AnswerPair, DoubleCheckAgreement, measure_agreement
from annotation.protocol.double_checks import REPORTED
from annotation.protocol.kinds import kind_order
from annotation.protocol.terms import Box
from annotation.selectors.campaign.kept import kept_figure

#: Every drawn question with its answers in the order in which they came, as
#: `protocol.double_checks.answers_of_people` reads them; a question without any has one row. A machine
#: answers instead of people: what it alone answered is asked of nobody, and is not counted.
_DRAWN = """SELECT t.id, t.kind, t.state, t.drawn_share, w.kind = 'machine', j.worker_id, j.answer,
       j.x_min, j.y_min, j.x_max, j.y_max
   FROM annotation_task t
   LEFT JOIN annotation_assignment a ON a.task_id = t.id
   LEFT JOIN annotation_judgment j ON j.assignment_id = a.id AND NOT j.void
       AND j.role IN ('vote', 'double_check')
   LEFT JOIN annotation_worker w ON w.id = j.worker_id
   WHERE t.campaign_id = %s AND t.drawn_share IS NOT NULL
   ORDER BY t.id, j.id"""


def agreement(campaign: Campaign, *, fresh: bool = False) -> dict[str, DoubleCheckAgreement]:
    """Kind -> agreement; kinds of which no question was drawn are not there. Kept as `funnel` is."""
    return kept_figure(campaign, "agreement", lambda: _agreement(campaign), fresh=fresh)


def _agreement(campaign: Campaign) -> dict[str, DoubleCheckAgreement]:
    pairs: dict[str, list[AnswerPair]] = defaultdict(list)
    drawn, waiting = Counter[str](), Counter[str]()
    with connection.cursor() as cursor:
        cursor.execute(_DRAWN, [campaign.pk])
        for (_, kind, state, share), rows in groupby(cursor.fetchall(), key=lambda row: row[:4]):
            people: dict[int, tuple[str, Box | None]] = {}
            by_machine = False
            for *_of, is_model, worker, answer, x_min, y_min, x_max, y_max in rows:
                by_machine |= bool(is_model)
                if worker is not None and not is_model:
                    box = None if x_min is None else Box(x_min, y_min, x_max, y_max)
                    people.setdefault(worker, (answer or REPORTED, box))
            if by_machine and not people:
                continue
            drawn[kind] += 1
            if len(people) > 1:
                (first_worker, (first, box)), (two, (second, second_answer)), *_ = people.items()
                iou = box.iou(second_answer) if box and second_answer else None
                pairs[kind].append(AnswerPair(first, second, share, (first_worker, two), iou))
            elif state == Task.OPEN:
                waiting[kind] += 1
    return {
        kind: measure_agreement(pairs[kind], drawn=drawn[kind], waiting=waiting[kind])
        for kind in sorted(drawn, key=kind_order)
    }
