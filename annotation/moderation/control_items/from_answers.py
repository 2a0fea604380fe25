"""Control items from the campaign's own answers: questions on which everybody agreed."""

from dataclasses import replace

from django.db import connection

from annotation.common import database
from annotation.models import Account, Campaign, Control, Item, Judgment, Task
from annotation.protocol.contents import question_from
from annotation.protocol.controls import draw_sample
from annotation.protocol.image import may_be_asked_again
from annotation.protocol.kinds import all_kinds
from annotation.protocol.questions import VOTE
from annotation.protocol.state import ImageState
from annotation.protocol.trust import SUSPENDED
from annotation.quality.controls.authoring import Added, add_control_items
from annotation.quality.controls.items import ControlItem, ControlItemName
from annotation.queue.image_state import state_of
from phrasebox.errors import PhraseboxError

#: Source of these items in their rows.
PROMOTED_SOURCE = "promoted"
#: Source of a promoted item's copy in a duplicated campaign. It is based on no answers there.
COPIED_SOURCE = "copied"
#: Minimum number of workers whose agreement can be taken as gold.
_LEAST = 2


def promote(
    *,
    campaign: Campaign,
    kind: str,
    at_least: int = 3,
    purpose: str = Control.CONTROL,
    per_answer: int = 15,
    actor: Account | None = None,
) -> Added:
    """Make control items of settled questions that at least `at_least` workers answered, all of them alike.

    Votes and double checks count, even if no question consumed them. Questions are skipped if anybody flagged
    them, if they are open or may be asked again, if they are control items already, or if one of the workers
    who answered is suspended at this kind or has withdrawn answers; also if somebody returned them or let
    them expire, since a late answer may still come. Those that the image no longer asks, because of a ruling
    or a withdrawal, are skipped and named. At most `per_answer` for each answer, drawn by the campaign's
    seed. Raises CannotPromote.

    By default one or two answers settle a question: for more items, use `at_least` two, or a setting with
    more votes.
    """
    promotable = [promotable_kind.key for promotable_kind in all_kinds() if promotable_kind.promotable]
    if kind not in promotable:
        known = ", ".join(promotable)
        raise PhraseboxError(f"answers to {kind!r} cannot be promoted; those to these can: {known}")
    if at_least < _LEAST:
        few = "1 worker is" if at_least == 1 else f"{at_least} workers are"
        raise PhraseboxError(f"{few} too few to agree: expected {_LEAST} or more")
    with database.writing():
        # Prevents rulings and withdrawals between our reading and our writing.
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        return _promoted(campaign, kind, at_least, purpose, per_answer, actor)


def consumed(image: int, key: str, state: ImageState) -> bool:
    """Whether the fold of an open image uses a vote on this question: not if the question is no longer asked,
    because of a ruling or a withdrawal."""
    votes = Judgment.objects.filter(image=image, key=key, role=VOTE, withdrawn=False)
    return any(name not in state.superseded for name in votes.values_list("name", flat=True))


def _promoted(
    campaign: Campaign, kind: str, at_least: int, purpose: str, per_answer: int, actor: Account | None
) -> Added:
    answers = {str(task): answer for task, answer in _agreed(campaign.pk, kind, at_least)}
    chosen: list[str] = []
    unused: list[ControlItemName] = []
    states: dict[int, ImageState] = {}
    for answer in sorted(set(answers.values())):
        alike = [task for task, other_answer in answers.items() if other_answer == answer]
        taken = 0
        for name in draw_sample(alike, len(alike), campaign.seed, "promote"):
            if taken == per_answer:
                break
            task = Task.objects.select_related("image__image").get(pk=int(name))
            if task.image_id not in states:
                states[task.image_id] = state_of(task.image)
            if may_be_asked_again(task.key, states[task.image_id]):
                continue
            if consumed(task.image_id, task.key, states[task.image_id]):
                chosen.append(name)
                taken += 1
            else:
                unused.append(ControlItemName(kind, task.image.image.key, answer))
    contents = Item.objects.filter(task__in=map(int, chosen), position=0).order_by("task")
    items = []
    for number, row in enumerate(contents.select_related("task__image__image"), 1):
        question = question_from(kind, row.task.key, row.content)
        items.append(
            (
                number,
                ControlItem(
                    kind,
                    purpose,
                    row.task.image.image.key,
                    question.mentions,
                    answers[str(row.task_id)],
                    question.boxes,
                    question.pending,
                    key=question.key,
                ),
            )
        )
    added = add_control_items(campaign=campaign, items=items, source=PROMOTED_SOURCE, actor=actor)
    return replace(added, passed_over=tuple(unused))


def _agreed(campaign: int, kind: str, at_least: int) -> list[tuple[int, str]]:
    """Return (task, answer) of the questions that may be promoted."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT t.id, min(j.answer) FROM annotation_judgment j
               JOIN annotation_task t ON t.image_id = j.image_id AND t.key = j.key
               JOIN annotation_openimage o ON o.id = t.image_id
               LEFT JOIN annotation_truststate s
                   ON s.campaign_id = j.campaign_id AND s.worker_id = j.worker_id AND s.kind = j.kind
               WHERE j.campaign_id = %s AND j.kind = %s AND NOT j.withdrawn AND t.state = 'settled'
                   AND NOT EXISTS (SELECT 1 FROM annotation_control c WHERE c.campaign_id = t.campaign_id
                                   AND c.image_id = o.image_id AND c.key = t.key)
                   AND NOT EXISTS (SELECT 1 FROM annotation_assignment a
                                   JOIN annotation_worker w ON w.id = a.worker_id
                                   WHERE a.task_id = t.id AND a.state <> 'submitted' AND w.erased_at IS NULL)
               GROUP BY t.id
               HAVING count(DISTINCT j.worker_id) >= %s
                   AND min(j.answer) = max(j.answer) AND min(j.answer) <> ''
                   AND sum(CASE WHEN s.blocked OR s.state = %s OR s.withdrawn_at IS NOT NULL
                           THEN 1 ELSE 0 END) = 0
               ORDER BY t.id""",
            [campaign, kind, at_least, SUSPENDED],
        )
        return list(cursor.fetchall())
