"""How many answers a crowd platform's study still accepts from a worker who came through it.

Answers submitted since a visit began count towards it, except those of tests. Nothing is leased beyond the
study's limit, nor after its end, for pages and programs alike. A worker with several visits may have more
while one of them is active and below its limit.

Nothing is locked here: call it while holding the worker's trust state of the kind. Simultaneous requests for
several kinds may get one each.
"""

from typing import Any

from django.utils.translation import gettext as _

from annotation.models import Assignment, Visit
from annotation.quality.qualification import QUALIFICATION_ROLE
from annotation.queue.dispatch import NoTask

#: The code of a `NoTask` that says that the worker's studies accept no more answers.
NONE_WANTED = "done"

#: The condition that the study of a visit `v` of a worker `i` accepts more than the assignments in the states
#: that follow.
_LEFT = f"""SELECT 1 FROM annotation_identity i JOIN annotation_visit v ON v.identity_id = i.id
    JOIN annotation_study y ON y.id = v.study_id
    WHERE i.worker_id = %s AND y.campaign_id = %s AND y.answers_required > (
        SELECT COUNT(*) FROM annotation_assignment a
        WHERE a.worker_id = i.worker_id AND a.campaign_id = y.campaign_id AND a.role <> '{QUALIFICATION_ROLE}'
            AND ((a.state = '{Assignment.SUBMITTED}' AND a.ended_at >= v.begun_at) {{or_state}}))"""
_MAY_HAVE_MORE = (
    _LEFT.format(or_state=f"OR a.state = '{Assignment.LEASED}'")
    + f""" AND v.outcome = '' AND v.verification <> '{Visit.REFUSED}'
        AND v.reported NOT IN ({", ".join(f"'{word}'" for word in Visit.OVER)}) LIMIT 1"""
)
_TAKES_LATE = _LEFT.format(or_state="") + " LIMIT 1"


def may_have_more(cursor: Any, *, worker: int, campaign: int) -> bool:
    """Whether a visit of the worker is active whose study accepts more than is answered and leased."""
    cursor.execute(_MAY_HAVE_MORE, [worker, campaign])
    return cursor.fetchone() is not None


def takes_late_answer(cursor: Any, *, worker: int, campaign: int) -> bool:
    """Whether a late answer belongs to what a study of the worker's asked for, though the visit may have
    ended since."""
    cursor.execute(_TAKES_LATE, [worker, campaign])
    return cursor.fetchone() is not None


def no_task_beyond_visit() -> NoTask:
    """Return the reason for a worker whose studies accept no more answers."""
    return NoTask(
        NONE_WANTED, _("Your study does not ask you for more answers here. Go back to your platform.")
    )
