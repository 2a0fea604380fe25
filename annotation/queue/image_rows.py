"""Opening images in a campaign: their first rows, and their position in the order of tasks.

Only this module, `refold_image` and `task_rows` write open images, tasks and items.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import connection
from django.db.models import F, OuterRef, Subquery

from annotation.common import database
from annotation.common.database import chunks
from annotation.models import Campaign, Image, Item, OpenImage, Task
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.contents import mention_json, question_content
from annotation.protocol.counted import CountedQuestion, questions_json
from annotation.protocol.double_checks import DoubleChecks, asked_outside
from annotation.protocol.image import Fold
from annotation.protocol.questions import Question
from annotation.protocol.state import ImageSettings
from annotation.protocol.terms import Mention
from annotation.protocol.trust_settings import in_force
from annotation.queue import image_state, task_rows
from annotation.selectors.controls import control_metadata_of

_T = TypeVar("_T")

#: Questions that are only counted, each with the contents of its items.
_CountedQuestions = Sequence[tuple[CountedQuestion, Sequence[dict[str, Any]]]]

#: Number of images whose tasks are moved by one statement.
_TOGETHER = 1_000


def open_images(
    *, campaign: Campaign, images: Iterable[tuple[Image, Sequence[Mention]]], settings: ImageSettings
) -> int:
    """Open images of a campaign: freeze their mentions and settings, create their first questions.

    Images that are open already are skipped. `images` is one chunk, written in one transaction. Returns the
    number of opened images. Raises ValueError if two mentions have the same span.
    """
    stored = {**campaign.settings, "boxes": settings.boxes}
    chunk = list(images)
    with database.writing():
        at = database.now()
        new = _not_open(campaign, chunk)
        states = [Fold(mentions, settings)(()) for _, mentions in new]
        rows = OpenImage.objects.bulk_create(
            OpenImage(
                campaign=campaign,
                image=image,
                position=image.position,
                mentions=[mention_json(mention) for mention in mentions],
                settings=stored,
                settings_version=campaign.settings_version,
                opened_at=at,
                changed_at=at,
            )
            for image, mentions in new
        )
        draw = _double_checks(campaign)
        shares = [draw(image).shares(state.questions) for (image, _), state in zip(new, states, strict=True)]
        questions = (
            (row, question, drawn.get(question.key))
            for row, state, drawn in zip(rows, states, shares, strict=True)
            for question in state.questions
        )
        tasks = _tasks(campaign, questions, at)
        contents = [question_content(question) for state in states for question in state.questions]
        Item.objects.bulk_create(
            Item(task=task, content=content) for task, content in zip(tasks, contents, strict=True)
        )
        of_image: dict[int, dict[str, list[int]]] = {row.pk: {} for row in rows}
        for task in tasks:
            of_image[task.image_id][task.key] = [task.needed, 0]
        for row, state, drawn in zip(rows, states, shares, strict=True):
            row.state = {
                "open": of_image[row.pk],
                "drawn": asked_outside(state.questions, drawn),
                "checks": [],
                "chains": [image_state.chain_of(chain) for chain in state.chains],
                "merged": image_state.merged_of(state),
            }
            row.chain_stages = image_state.chain_stages_of(state.chains)
            row.complete = state.complete
            row.layer_behind = state.complete
        OpenImage.objects.bulk_update(rows, ["state", "chain_stages", "complete", "layer_behind"])
    return len(new)


def open_counted(
    *,
    campaign: Campaign,
    images: Sequence[tuple[Image, _CountedQuestions]],
) -> int:
    """Open images with questions that are only counted, each with the contents of its items.

    Like `open_images`: one chunk in one transaction, skipping those that are open already.
    """
    with database.writing():
        at = database.now()
        new = _not_open(campaign, images)
        draw = _double_checks(campaign)
        shares = [draw(image).shares(question for question, _ in questions) for image, questions in new]
        rows = OpenImage.objects.bulk_create(
            OpenImage(
                campaign=campaign,
                image=image,
                position=image.position,
                questions=questions_json(question for question, _ in questions),
                settings=campaign.settings,
                settings_version=campaign.settings_version,
                state={
                    "open": {question.key: [question.needed, 0] for question, _ in questions},
                    "drawn": asked_outside([question for question, _ in questions], drawn),
                    "checks": [],
                    "chains": [],
                    "merged": [],
                },
                opened_at=at,
                changed_at=at,
            )
            for (image, questions), drawn in zip(new, shares, strict=True)
        )
        _ask(
            campaign,
            [(row, questions, drawn) for row, (_, questions), drawn in zip(rows, new, shares, strict=True)],
            at,
        )
    return len(new)


def ask_more(
    *,
    campaign: Campaign,
    images: Sequence[tuple[Image, _CountedQuestions]],
) -> int:
    """Like `open_counted`, but images that are open already get the questions as well; return their number.

    The questions' keys must be new to the images. Locks the open images in the order of their ids.
    """
    with database.writing():
        at = database.now()
        there = OpenImage.objects.filter(campaign=campaign, image__in=[image.pk for image, _ in images])
        rows = {row.image_id: row for row in there.order_by("id").select_for_update(no_key=True)}
        draw = _double_checks(campaign)
        more = [
            (rows[image.pk], questions, draw(image).shares(questions_of for questions_of, _ in questions))
            for image, questions in images
            if image.pk in rows
        ]
        for row, questions, drawn in more:
            row.questions = [*row.questions, *questions_json(questions_of for questions_of, _ in questions)]
            open_ = {questions_of.key: [questions_of.needed, 0] for questions_of, _ in questions}
            row.state = {
                **row.state,
                "open": {**row.state["open"], **open_},
                "drawn": [
                    *row.state["drawn"],
                    *asked_outside([questions_of for questions_of, _ in questions], drawn),
                ],
            }
            _mark_changed(row, at)
            row.complete = False
        OpenImage.objects.bulk_update(
            rows.values(), ["questions", "state", "opened_at", "changed_at", "complete"]
        )
        _ask(campaign, more, at)
        open_counted(
            campaign=campaign,
            images=[(image, questions) for image, questions in images if image.pk not in rows],
        )
    return len(more)


def reopen_images(*, campaign: Campaign, images: Iterable[int]) -> None:
    """Restart the questions about open images (row ids) under the campaign's current settings.

    Nobody may have answered, and their questions must be removed already. Rulings stay. One chunk, all or
    none.
    """
    with database.writing():
        at = database.now()
        rows = list(OpenImage.objects.filter(pk__in=images).select_related("image").order_by("id"))
        protocol = settings_of(campaign.settings).protocol
        for row in rows:
            boxes = protocol.of_image(pictured=bool(row.image.picture)).boxes
            row.settings = {**campaign.settings, "boxes": boxes}
            row.settings_version = campaign.settings_version
            row.state = {**row.state, "open": {}, "drawn": [], "checks": []}
            _mark_changed(row, at)
        OpenImage.objects.bulk_update(
            rows, ["settings", "settings_version", "state", "opened_at", "changed_at"]
        )
        for row in rows:
            image_state.refold_image(row.pk)
        # As when they were opened: without answers or rulings, the layer does not include them.
        untouched = OpenImage.objects.filter(pk__in=[row.pk for row in rows], rulings_version=0)
        untouched.update(version=0, layer_behind=F("complete"))


def _mark_changed(row: OpenImage, at: datetime) -> None:
    """Mark an open image as having new questions or settings.

    Folds are cached by the time at which an image was opened: each opening needs a different time, even if a
    clock stands still or is set back.
    """
    row.opened_at = max(at, row.opened_at + timedelta(microseconds=1))
    row.changed_at = at


def remove_questions(campaign: Campaign) -> None:
    """Remove a campaign's tasks with their items; nobody may hold or have answered one.

    Uses statements: read one by one, the questions about 30,000 images would fill the memory.
    """
    Item.objects.filter(task__campaign=campaign).delete()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM annotation_task WHERE campaign_id = %s", [campaign.pk])


def _ask(
    campaign: Campaign,
    images: Sequence[tuple[OpenImage, _CountedQuestions, Mapping[str, float]]],
    at: datetime,
) -> None:
    """Create open tasks for counted questions of images, with their items; each image has the shares of its
    drawn questions."""
    rows_to_ask = [
        (row, *question_row, drawn.get(question_row[0].key))
        for row, questions, drawn in images
        for question_row in questions
    ]
    tasks = _tasks(campaign, ((row, question, share) for row, question, _, share in rows_to_ask), at)
    Item.objects.bulk_create(
        Item(task=task, position=position, content=content)
        for task, (_, _, contents, _) in zip(tasks, rows_to_ask, strict=True)
        for position, content in enumerate(contents)
    )


def _double_checks(campaign: Campaign) -> Callable[[Image], DoubleChecks]:
    """Return the function that draws double checks among the questions of an image that open now; one query
    for all images."""
    trust = settings_of(campaign.settings).trust
    known = control_metadata_of([campaign.pk])[campaign.pk].known
    return lambda image: DoubleChecks(
        campaign.seed, image.key, lambda kind: in_force(trust, known[kind]).double_check_share
    )


def _not_open(campaign: Campaign, images: Sequence[tuple[Image, _T]]) -> list[tuple[Image, _T]]:
    """Return those of `images` that the campaign has not opened yet."""
    opened = OpenImage.objects.filter(campaign=campaign, image__in=[image.pk for image, _ in images])
    there = set(opened.values_list("image_id", flat=True))
    return [(image, about) for image, about in images if image.pk not in there]


def analyse_task_tables(campaign: Campaign) -> None:
    """Update the database's statistics after the campaign's images were opened."""
    database.analyse_tables(Task.objects.filter(campaign=campaign).count(), OpenImage, Task, Item)


def _tasks(
    campaign: Campaign,
    questions: Iterable[tuple[OpenImage, Question | CountedQuestion, float | None]],
    at: datetime,
) -> list[Task]:
    """Return open tasks for the first questions of images, each with the share of a drawn one."""
    return Task.objects.bulk_create(
        Task(
            campaign=campaign,
            image=row,
            kind=question.kind,
            key=question.key,
            needed=question.needed,
            rank=task_rows.rank_of(priority=row.priority, position=row.position),
            drawn_share=share,
            created_at=at,
        )
        for row, question, share in questions
    )


def prioritise(*, campaign: Campaign, images: Sequence[int], priority: int) -> int:
    """Set the priority of open images (ids of their `Image`) and of their open tasks. Returns their
    number."""
    with database.writing():
        ids: list[int] = []
        for some in chunks(images, _TOGETHER):
            rows = OpenImage.objects.filter(campaign=campaign, image__in=some)
            ids += rows.values_list("id", flat=True)
        position = OpenImage.objects.filter(pk=OuterRef("image")).values("position")
        # Locked in the order of their ids, as everywhere; states do not change.
        for chunk in chunks(sorted(ids), _TOGETHER):
            rows = OpenImage.objects.filter(pk__in=chunk)
            locked = list(rows.order_by("id").select_for_update().values_list("id", flat=True))
            tasks = Task.objects.filter(image__in=locked)
            tasks.update(rank=task_rows.rank_of(priority=priority, position=0) + Subquery(position))
            rows.update(priority=priority)
    return len(ids)
