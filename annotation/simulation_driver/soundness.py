"""Invariants of a queue in SQL: violations are counted after rehearsals, benchmarks and accidents.

Constraints prevent some violations; those across rows are checked here. The invariants hold whenever no
transaction is running, whatever workers did and whichever process died.
"""

from typing import Any

from django.db import connection

from annotation.models import Campaign
from annotation.protocol.kinds import judging_kinds
from annotation.selectors.same_question import seen_as_control

#: Queries by the name of the violation, over the rows of `campaign`; queries with `judging` run for each kind
#: of question whose answers are verdicts on another's.
VIOLATION_QUERIES: dict[str, str] = {
    "tasks given to more workers than they want": """
        SELECT t.id FROM annotation_task t
        WHERE t.campaign_id = %(campaign)s AND (t.live > t.needed OR t.needed <
            (SELECT count(*) FROM annotation_assignment a
             LEFT JOIN annotation_judgment j ON j.assignment_id = a.id
             WHERE a.task_id = t.id AND (a.state = 'leased' OR
                 (j.role = 'vote' AND NOT j.withdrawn AND j.created_at <= a.expires_at))))""",
    "open tasks that miscount their leases and votes": """
        SELECT t.id FROM annotation_task t
        WHERE t.campaign_id = %(campaign)s AND t.state = 'open' AND t.live <>
              (SELECT count(*) FROM annotation_assignment a WHERE a.task_id = t.id AND a.state = 'leased')
            + (SELECT count(*) FROM annotation_judgment j
               WHERE j.image_id = t.image_id AND j.key = t.key AND j.role = 'vote' AND NOT j.withdrawn)""",
    "keys judged twice by one worker": """
        SELECT min(j.id) FROM annotation_judgment j
        LEFT JOIN annotation_assignment a ON a.id = j.assignment_id
        WHERE j.campaign_id = %(campaign)s AND j.image_id IS NOT NULL AND COALESCE(a.attempt, 0) = 0
        GROUP BY j.image_id, j.worker_id, j.key HAVING count(*) > 1""",
    "answers without their judgment, or with several": """
        SELECT a.id FROM annotation_assignment a LEFT JOIN annotation_judgment j ON j.assignment_id = a.id
        WHERE a.campaign_id = %(campaign)s AND a.state = 'submitted' GROUP BY a.id HAVING count(j.id) <> 1""",
    "judgments on what was not handed in": """
        SELECT j.id FROM annotation_judgment j JOIN annotation_assignment a ON a.id = j.assignment_id
        WHERE j.campaign_id = %(campaign)s AND a.state <> 'submitted'""",
    "boxes judged by who drew them": """
        SELECT j.id FROM annotation_judgment j
        JOIN annotation_task t ON t.image_id = j.image_id AND t.key = j.key
        WHERE j.campaign_id = %(campaign)s AND t.kind = %(judging)s AND t.barred_id = j.worker_id
            AND NOT EXISTS
            (SELECT 1 FROM annotation_assignment a WHERE a.id = j.assignment_id AND a.attempt > 0)""",
    "answers set aside that count": """
        SELECT j.id FROM annotation_judgment j JOIN annotation_assignment a ON a.id = j.assignment_id
        JOIN annotation_worker w ON w.id = a.worker_id
        WHERE j.campaign_id = %(campaign)s AND j.image_id IS NOT NULL AND a.attempt > 0 AND NOT j.withdrawn
            AND w.kind <> 'model'""",
}

MET_TWICE = "questions that one worker had as a task and as a control item"


def violations(campaign: Campaign) -> dict[str, int]:
    """Return the number of violating rows of the campaign, by violation."""
    violation_counts = {}
    with connection.cursor() as cursor:
        for what, statement in VIOLATION_QUERIES.items():
            judging = [kind for kind, _judged in judging_kinds()] if "%(judging)s" in statement else [""]
            violation_counts[what] = sum(_count(cursor, statement, campaign.pk, kind) for kind in judging)
        violation_counts[MET_TWICE] = sum(_met_twice(cursor, campaign.pk, kind) for kind in campaign.kinds)
    return violation_counts


def _count(cursor: Any, statement: str, campaign: int, judging: str) -> int:
    cursor.execute(f"SELECT count(*) FROM ({statement}) AS found", {"campaign": campaign, "judging": judging})
    return int(cursor.fetchone()[0])


def _met_twice(cursor: Any, campaign: int, kind: str) -> int:
    # Answers of one person as two workers are set aside, and their open leases returned.
    cursor.execute(
        f"""SELECT count(*) FROM annotation_assignment a JOIN annotation_task t ON t.id = a.task_id
            WHERE a.campaign_id = %s AND a.kind = %s AND a.attempt = 0
                AND {seen_as_control(kind, "a.worker_id")}""",
        [campaign, kind],
    )
    return int(cursor.fetchone()[0])
