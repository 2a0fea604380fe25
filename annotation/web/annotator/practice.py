"""Practice: a few questions about built-in scenes, with immediate feedback on each answer and the reason.

Nothing is stored. The progress and the number of right answers are in the address, which only the worker
sees; the pages are the same with and without scripts. If practice is the only entry, as there is no test, the
session remembers which items were right, until the work begins.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.common.roles import ANNOTATOR
from annotation.protocol.campaign_settings import CampaignSettings, settings_of
from annotation.protocol.kinds import kind_of
from annotation.protocol.questions import Answer
from annotation.queue.leases import Lease
from annotation.task_types.base import BadAnswer, Page, TaskType
from annotation.task_types.displayed import DisplayedImage
from annotation.task_types.practice import PRACTICE, NamedBox, PracticeItem, Verdict, practice_scene
from annotation.web.annotator.task_page import (
    InvalidForm,
    TaskPage,
    WorkSoFar,
    build_task_page,
    parts_of_task,
)
from annotation.web.annotator.task_texts import note_practice, practice_due, text_of
from annotation.web.annotator.work_context import WorkContext, work_of_request
from annotation.web.common.access import for_roles
from annotation.web.common.overlay import DrawnBox, Frame, Tag, boxes_of, draw_overlay

#: In the picture of a described one: our regions are A, B, C, in the first colour; the worker's are 1, 2, 3
#: in the second.
_OURS, THEIRS = 1, 2


@dataclass(frozen=True, slots=True)
class _Feedback:
    """A verdict in words: the answer, the right answer, and wrongly judged sentences.

    `ticks` are these sentences: the picture, the text, whether it describes it. `regions` are boxes by their
    names in the picture, with their words: ours, then the worker's.
    """

    verdict: Verdict
    why: Any
    answered: Any = ""
    right: Any = ""
    percent: int | None = None
    ticks: tuple[tuple[DisplayedImage, str, bool], ...] = ()
    written: str = ""
    models: tuple[str, ...] = ()
    regions: tuple[tuple[str, str], ...] = ()
    described: tuple[tuple[str, str], ...] = ()


class FixedPageType:
    """A task type with a fixed page: that of an item that belongs to no campaign."""

    def __init__(self, type: TaskType, page: Page) -> None:
        self._type, self._page = type, page

    def page(self, content: object, image: object) -> Page:
        """Return the fixed page for any content."""
        return self._page

    def __getattr__(self, name: str) -> Any:
        return getattr(self._type, name)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_roles(ANNOTATOR)
def practice(request: HttpRequest, name: str, kind: str) -> HttpResponse:
    """Show item `n` (from 1) of a kind; POST answers it and shows the verdict; after the last, the
    results."""
    work = work_of_request(request, name, kind)
    practice = PRACTICE.get(kind)
    items = practice.items
    number = _between(request.GET.get("n", ""), 1, len(items) + 1)
    right = _between(request.GET.get("right", ""), 0, number - 1)
    graded = sum(bool(item.right) for item in items)
    about: dict[str, Any] = {"work": work, "number": number, "all": len(items), "graded": graded}
    if number > len(items):
        text = text_of(campaign=work.campaign, kind=kind)
        again = practice_due(request, work)
        over = {**about, "right": min(right, graded), "again": again, "text": text, "owner": work.worker.pk}
        return render(request, "annotation/tasks/practised.html", over)
    item = items[number - 1]
    page, image = practice.posed(item)
    numbers = _numbers(work, practice.content(item))
    status, entered, problem, answer = HTTPStatus.OK, {}, None, None
    if request.method == "POST":
        entered = request.POST.dict()
        try:
            answer = work.type.parse_for(work.type.from_form(entered), numbers.__getitem__)
        except BadAnswer as error:
            status, problem = HTTPStatus.UNPROCESSABLE_ENTITY, error
    task_page = _task_page(work, page, image, entered, problem)
    parts = parts_of_task(request, task_page)
    if answer is not None:
        verdict, named = practice.judged(item, answer), practice.named_boxes(item, answer)
        feedback = _feedback_on(item, page, answer, verdict, named)
        right += feedback.verdict.right is True
        note_practice(request, work, number, feedback.verdict.right is True)
        judged_page = replace(task_page, boxes=_boxes(item, page, answer, verdict, named))
        parts = replace(parts, picture=parts_of_task(request, judged_page).picture)
        about["feedback"] = feedback
    about |= {
        "sentence": item.sentence,
        "task": task_page,
        "parts": parts,
        "onward": "?" + urlencode({"n": number + 1, "right": right}),
    }
    return render(request, "annotation/tasks/practice.html", about, status=status.value)


def _numbers(work: WorkContext, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers for an item: its content's own, else the campaign's."""
    answers = settings_of(work.campaign.settings).answers
    return {name: content.get(name, answers.number(name)) for name in kind_of(work.kind).numbers}


def _task_page(
    work: WorkContext, page: Page, image: DisplayedImage, entered: dict[str, str], problem: BadAnswer | None
) -> TaskPage:
    """Lay out the item like a task, with the parts of a task that practice has."""
    return build_task_page(
        replace(work, type=cast(TaskType, FixedPageType(work.type, page))),
        lease=Lease(0, work.kind, "", 0, _numbers(work, {}), "", timezone.now(), None, None),
        image=image,
        text=text_of(campaign=work.campaign, kind=work.kind),
        settings=CampaignSettings(),
        done=WorkSoFar(),
        form=InvalidForm(entered, str(problem), problem.field) if problem else InvalidForm(entered),
    )


def _feedback_on(
    item: PracticeItem, page: Page, answer: Answer, verdict: Verdict, named: tuple[NamedBox, ...]
) -> _Feedback:
    labels = {choice.value: choice.label for choice in page.choices}
    content = answer.content or {}
    several = len(labels) > 1
    return _Feedback(
        verdict,
        item.why,
        answered=labels.get(answer.answer, "") if several else "",
        right=labels.get(item.right, "") if several else "",
        percent=None if verdict.overlap is None else round(100 * verdict.overlap),
        ticks=tuple(
            (page.about[block].image, *item.blocks[block][1][number]) for block, number in verdict.wrong_ticks
        ),
        written=content.get("text", ""),
        models=item.models,
        regions=tuple((entity.name, entity.words) for entity in named if entity.ours),
        described=tuple((entity.name, entity.words) for entity in named if not entity.ours),
    )


def _boxes(
    item: PracticeItem, page: Page, answer: Answer, verdict: Verdict, named: tuple[NamedBox, ...]
) -> list[DrawnBox]:
    """Return the boxes of the question, with those that were drawn and the right ones."""
    size = practice_scene(item.scene).image
    frame = Frame(size.width, size.height)
    if named:
        tagged: list[tuple[Any, list[Tag]]] = [
            (entity.box, [Tag(_OURS if entity.ours else THEIRS, entity.name)]) for entity in named
        ]
        return draw_overlay(tagged, frame)
    boxes_to_draw = (*page.boxes, *verdict.right_boxes)
    return boxes_of(replace(page, boxes=boxes_to_draw, pending=answer.box or page.pending), frame)


def _between(text: str, least: int, most: int) -> int:
    """Return a number of the address, clamped to its bounds; the minimum if it is invalid."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else least
    return max(least, min(number, most))
