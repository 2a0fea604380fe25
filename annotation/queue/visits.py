"""How much a platform's study still wants of a worker who came by it.

What counts towards a visit are the answers handed in since it began, those of tests apart. Nothing is handed
out beyond what its study wants, nor once it has ended, whether a page asks or a program. A worker who came
several times may have more as long as one of these visits goes on and has room.

Nothing is locked here: to be called while holding the worker's trust state of the kind. Of several kinds
asked for in the same moment each may get one.
"""

from typing import Any

from django.utils.translation import gettext as _

from annotation.models import Assignment, Visit
from annotation.quality.qualification import QUALIFICATION_ROLE
from annotation.queue.dispatch import NoTask

#: The code of a `NoTask` that says that the worker's studies want no more of them.
NONE_WANTED = "done"

#: What the study of a visit `v` of a worker `i` still wants, besides the states of assignments that follow.
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
    """Whether a visit of the worker's goes on whose study wants more than is answered and in hand."""
    cursor.execute(_MAY_HAVE_MORE, [worker, campaign])
    return cursor.fetchone() is not None


def takes_late_answer(cursor: Any, *, worker: int, campaign: int) -> bool:
    """Whether an answer whose lease is over is one that a study of the worker's asked for, though the visit
    may have ended since."""
    cursor.execute(_TAKES_LATE, [worker, campaign])
    return cursor.fetchone() is not None


def no_task_beyond_visit() -> NoTask:
    """What a worker is told whose studies want no more of them."""
    return NoTask(
        NONE_WANTED, _("Your study does not ask you for more answers here. Go back to your platform.")
    )
