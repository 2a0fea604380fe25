"""Known items from the campaign's own work: questions on which everybody agreed."""

from __future__ import annotations

from django.db import connection

from annotation.controls.authoring import Added, add
from annotation.controls.items import KnownItem
from annotation.models import Account, Campaign, Control, Item
from annotation.protocol.contents import question_from
from annotation.protocol.controls import drawn
from annotation.protocol.questions import BOX_DRAWING, QUESTIONS
from annotation.protocol.trust import SUSPENDED

#: Where they come from, as their rows say it.
SOURCE = "promoted"
#: The least number of workers whose agreement can be taken for the truth.
LEAST = 2


class CannotPromote(ValueError):
    """A kind whose answers cannot agree, or an agreement of too few."""


def promote(
    *,
    campaign: Campaign,
    kind: str,
    at_least: int = 3,
    purpose: str = Control.CONTROL,
    per_answer: int = 15,
    actor: Account | None = None,
) -> Added:
    """Make known items of settled questions that `at_least` workers answered, all of them alike.

    Votes and double checks count, also those that no question consumed. Left out are questions that
    anybody flagged, that are open, that are known items already, or that a worker answered who is
    suspended, taken off or discarded at this kind. At most `per_answer` for each answer, drawn by the
    campaign's seed. Raises CannotPromote.

    By default a question is settled by one answer or two: to have more of them, ask for `at_least` two,
    or set more votes.
    """
    if kind not in QUESTIONS or kind == BOX_DRAWING:
        known = ", ".join(name for name in QUESTIONS if name != BOX_DRAWING)
        raise CannotPromote(f"answers to {kind!r} cannot be promoted; those to these can: {known}")
    if at_least < LEAST:
        raise CannotPromote(f"agreement of {at_least} is none: expected {LEAST} workers or more")
    found = {str(task): answer for task, answer in _agreed(campaign.pk, kind, at_least)}
    chosen = [
        task
        for answer in sorted(set(found.values()))
        for task in drawn(
            (task for task, given in found.items() if given == answer), per_answer, campaign.seed, "promote"
        )
    ]
    contents = Item.objects.filter(task__in=map(int, chosen), position=0).order_by("task")
    items = []
    for number, row in enumerate(contents.select_related("task__image__image"), 1):
        question = question_from(kind, row.task.key, row.content)
        items.append(
            (
                number,
                KnownItem(
                    kind,
                    purpose,
                    row.task.image.image.key,
                    question.mentions,
                    found[str(row.task_id)],
                    question.boxes,
                    question.pending,
                    key=question.key,
                ),
            )
        )
    return add(campaign=campaign, items=items, source=SOURCE, actor=actor)


def _agreed(campaign: int, kind: str, at_least: int) -> list[tuple[int, str]]:
    """(task, answer) of the questions that may be promoted."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT t.id, min(j.answer) FROM annotation_judgment j
               JOIN annotation_task t ON t.image_id = j.image_id AND t.key = j.key
               JOIN annotation_openimage o ON o.id = t.image_id
               LEFT JOIN annotation_standing s
                   ON s.campaign_id = j.campaign_id AND s.worker_id = j.worker_id AND s.kind = j.kind
               WHERE j.campaign_id = %s AND j.kind = %s AND NOT j.void AND t.state = 'settled'
                   AND NOT EXISTS (SELECT 1 FROM annotation_control c WHERE c.campaign_id = t.campaign_id
                                   AND c.image_id = o.image_id AND c.key = t.key)
               GROUP BY t.id
               HAVING count(DISTINCT j.worker_id) >= %s
                   AND min(j.answer) = max(j.answer) AND min(j.answer) <> ''
                   AND sum(CASE WHEN s.blocked OR s.state = %s OR s.withdrawn_at IS NOT NULL
                           THEN 1 ELSE 0 END) = 0
               ORDER BY t.id""",
            [campaign, kind, at_least, SUSPENDED],
        )
        return list(cursor.fetchall())
