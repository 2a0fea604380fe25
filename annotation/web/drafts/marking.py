"""Marking control items: the real question about twelve pictures at once, answered by the draft's owner.

Words and ticks are marked on a grid; boxes are drawn picture by picture, in the workers' editor.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.campaigns.drafts import fields
from annotation.campaigns.drafts.marks import (
    Mark,
    MarkKey,
    is_about,
    mark_for,
    marks_of,
    purposes_of,
    store_marks,
    strata_of_marks,
)
from annotation.campaigns.drafts.posing import (
    GRID_PICTURES,
    PosedQuestion,
    posed_questions,
    posed_without_boxes,
)
from annotation.campaigns.drafts.reading import DraftPlan, marked_kinds
from annotation.models import Control
from annotation.protocol.kinds import BadItem, kind_of
from annotation.protocol.terms import Box
from annotation.task_types.base import TASK_TYPES, BadAnswer, Choice
from annotation.web.annotator.task_page import TaskPage, parts_of_task
from annotation.web.common.filters import query_number
from annotation.web.drafts.draft_pages import draft_frame, for_draft, kind_of_draft, preview_page
from annotation.web.staff.campaign_pages import query_string
from annotation.web.staff.wording import PURPOSES, answer_in_words, kind_in_words

#: Maximum number of grids; nobody marks as many pictures.
_TURNS = 50


@dataclass(frozen=True, slots=True)
class MarkCard:
    """A picture of the grid with its question: choices or texts to be ticked, the mark, the error.

    `name` is that of its fields. `texts`: each with its number, and whether it is ticked. `drawn`: boxes of a
    drawing, None if nobody drew; `done` if no box is missing.
    """

    name: str
    number: int
    posed: PosedQuestion
    task: TaskPage
    question: SafeString
    choices: tuple[Choice, ...]
    chosen: str
    texts: tuple[tuple[int, str, bool], ...]
    error: str
    drawn: int | None
    done: bool

    @property
    def marked(self) -> bool:
        """Whether it is answered."""
        return bool(self.chosen) or self.done or any(ticked for _, _, ticked in self.texts)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_draft
def mark_items(request: HttpRequest, plan: DraftPlan, kind: str) -> HttpResponse:
    """Show the grid of a kind; POST stores every answer that can be a control item, and shows the errors of
    the others."""
    kind = kind_of_draft(plan, kind)
    if kind not in marked_kinds(plan.tasks):
        raise Http404(_("Nobody can grade answers to “%(kind)s”.") % {"kind": kind_in_words(kind)})
    purpose, offset = _purpose_and_offset(request, kind)
    posed = posed_questions(plan, kind, offset=offset)
    wrongs: dict[str, str] = {}
    form_data: Mapping[str, str] | None = None
    if request.method == "POST" and not kind_of(kind).draws:
        form_data = request.POST.dict()
        wrongs = _store_marks(plan, posed, purpose, form_data)
        if not wrongs:
            messages.success(request, _counts_text(plan, kind, purpose))
            if request.POST.get("go") == "more":
                return redirect(_address(plan, kind, purpose, offset + 1))
            return redirect("draft_step", plan.draft.pk, fields.TEST_STEP)
    cards = [
        _card(request, plan, question, purpose, number, form_data, wrongs)
        for number, question in enumerate(posed)
    ]
    about = {
        "kind": kind,
        "kind_name": kind_in_words(kind),
        "purpose": purpose,
        "purposes": [(question, PURPOSES[question]) for question in purposes_of(kind)],
        "offset": offset,
        "cards": cards,
        "marked": sum(card.marked for card in cards),
        "draws": kind_of(kind).draws,
        "ticks": bool(kind_of(kind).most_true),
        "most_true": kind_of(kind).most_true,
        "needs_boxes": posed_without_boxes(plan, kind),
        "counts": _counts(plan, kind, purpose),
        "wrongs": wrongs,
        "later": query_string(purpose=purpose, offset=offset + 1) if len(posed) and offset < _TURNS else "",
        "earlier": (query_string(purpose=purpose, offset=offset - 1) or "?") if offset else "",
    }
    status = HTTPStatus.CONFLICT if wrongs else HTTPStatus.OK
    return render(
        request,
        "annotation/drafts/mark.html",
        draft_frame(plan, fields.TEST_STEP, **about),
        status=status.value,
    )


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_draft
def mark_boxes(request: HttpRequest, plan: DraftPlan, kind: str) -> HttpResponse:
    """Ask for the right boxes of one picture, one after the other until none is missing."""
    kind = kind_of_draft(plan, kind)
    if not kind_of(kind).draws:
        raise Http404(_("No boxes are drawn for “%(kind)s”.") % {"kind": kind_in_words(kind)})
    purpose, offset = _purpose_and_offset(request, kind)
    posed = posed_questions(plan, kind, offset=offset)
    key = request.GET.get("image", "")
    question = next((posed_question for posed_question in posed if posed_question.key == key), None)
    if question is None:
        raise Http404(_("This picture is not on the grid any more: go back and choose another one."))
    mark_key = MarkKey(kind, purpose, question.key)
    mark = marks_of(plan).get(mark_key)
    if mark is not None and not is_about(mark, question):
        mark = None
    status, problem, entered = HTTPStatus.OK, None, dict[str, str]()
    if request.method == "POST":
        entered = request.POST.dict()
        if entered.get("act") == "clear":
            store_marks(draft=plan.draft, marks=[], cleared=[mark_key])
            return redirect(request.get_full_path())
        try:
            if entered.get("of") != question.stamp:
                raise BadItem(_("This picture has changed since you opened this page: draw its boxes again."))
            type_ = TASK_TYPES.get(kind)
            answer = type_.parse(type_.from_form(entered))
            boxes = [Box(*box) for box in mark["known"]] if mark is not None else []
            boxes += [answer.box] if answer.box is not None else []
            new_mark = mark_for(plan, question, purpose, boxes, done=answer.box is None)
            store_marks(draft=plan.draft, marks=[new_mark])
            if answer.box is not None:
                return redirect(request.get_full_path())
            return redirect(_after_drawing(plan, posed, mark_key, offset))
        except BadAnswer as error:
            status, problem = HTTPStatus.UNPROCESSABLE_ENTITY, error
        except BadItem as error:
            status, problem = HTTPStatus.UNPROCESSABLE_ENTITY, BadAnswer("box", str(error))
    with_boxes = PosedQuestion(
        question.kind, question.image, question.key, _with_boxes(question, mark), question.mentions
    )
    task = preview_page(plan, with_boxes, entered, problem)
    about = {
        "kind": kind,
        "purpose": purpose,
        "offset": offset,
        "task": task,
        "stamp": question.stamp,
        "parts": parts_of_task(request, task),
        "drawn": len(mark["known"]) if mark is not None else 0,
        "back": _address(plan, kind, purpose, offset),
        "at": posed.index(question) + 1,
        "all_pictures": len(posed),
    }
    return render(
        request,
        "annotation/drafts/mark_boxes.html",
        draft_frame(plan, fields.TEST_STEP, **about),
        status=status.value,
    )


def _with_boxes(question: PosedQuestion, mark: Mark | None) -> dict[str, Any]:
    """Return the content to show: the question with the boxes drawn so far."""
    return {**question.content, "boxes": list(mark["known"]) if mark is not None else []}


def _after_drawing(plan: DraftPlan, posed: list[PosedQuestion], marked: MarkKey, offset: int) -> str:
    """Return the address of the next unfinished picture of the grid; the grid if there is none."""
    done = marks_of(plan)
    after = [question.key for question in posed]
    after = after[after.index(marked.image) + 1 :] + after[: after.index(marked.image)]
    for key in after:
        mark = done.get(MarkKey(marked.kind, marked.purpose, key))
        if mark is None or not mark["done"]:
            address = reverse("mark_boxes", args=[plan.draft.pk, marked.kind])
            return address + query_string(purpose=marked.purpose, offset=offset, image=key)
    return _address(plan, marked.kind, marked.purpose, offset)


def _purpose_and_offset(request: HttpRequest, kind: str) -> tuple[str, int]:
    """Return the purpose of the items, and the number of the grid, from the address."""
    purpose = request.GET.get("purpose", "")
    purpose = purpose if purpose in purposes_of(kind) else Control.QUALIFICATION
    return purpose, min(query_number(request.GET, "offset") or 0, _TURNS)


def _address(plan: DraftPlan, kind: str, purpose: str, offset: int) -> str:
    return reverse("mark_items", args=[plan.draft.pk, kind]) + query_string(
        purpose=purpose, offset=min(offset, _TURNS) or None
    )


def _store_marks(
    plan: DraftPlan, posed: list[PosedQuestion], purpose: str, form_data: Mapping[str, str]
) -> dict[str, str]:
    """Store the marks of a grid; return the errors of the others by card."""
    marks, cleared, wrongs = list[Mark](), list[MarkKey](), dict[str, str]()
    for number, question in enumerate(posed):
        if f"mark-{number}-of" not in form_data and not _has_answer(number, form_data):
            continue  # it was not on the page yet
        if not _is_for(question, number, form_data):
            wrongs[f"mark-{number}"] = _(
                "The pictures have changed since you opened this page: mark this one again."
            )
            continue
        known = _answered(question, number, form_data)
        if known is None:
            cleared.append(MarkKey(question.kind, purpose, question.key))
            continue
        try:
            marks.append(mark_for(plan, question, purpose, known))
        except BadItem as error:
            wrongs[f"mark-{number}"] = str(error)
    for number in range(len(posed), GRID_PICTURES):
        if _has_answer(number, form_data):
            wrongs[f"mark-{number}"] = _("A picture that you marked is gone: its answer was not saved.")
    store_marks(draft=plan.draft, marks=marks, cleared=cleared)
    return wrongs


def _has_answer(number: int, form_data: Mapping[str, str]) -> bool:
    """Whether a card was answered."""
    name = f"mark-{number}"
    return bool(form_data.get(name)) or any(
        field.startswith(f"{name}-") and field != f"{name}-of" for field in form_data
    )


def _is_for(posed: PosedQuestion, number: int, form_data: Mapping[str, str]) -> bool:
    """Whether a card's answer belongs to this question: the grid is drawn again each time."""
    return form_data.get(f"mark-{number}-of") == posed.stamp


def _answered(posed: PosedQuestion, number: int, form_data: Mapping[str, str]) -> Any:
    """Return the answer of a card: a word, ticks, or None."""
    if "blocks" in posed.content:
        (block,) = posed.content["blocks"]
        ticks = [f"mark-{number}-{index}" in form_data for index in range(len(block["captions"]))]
        return ticks if any(ticks) else None
    word = form_data.get(f"mark-{number}", "")
    return word if word in _words(posed.kind) else None


def _words(kind: str) -> tuple[str, ...]:
    """Return the possible answers of a control item."""
    about = kind_of(kind)
    return tuple(word for word in about.answers if not about.strata or word in about.strata)


def _card(
    request: HttpRequest,
    plan: DraftPlan,
    posed: PosedQuestion,
    purpose: str,
    number: int,
    form_data: Mapping[str, str] | None,
    wrongs: Mapping[str, str],
) -> MarkCard:
    kind, name = kind_of(posed.kind), f"mark-{number}"
    if form_data is not None and not _is_for(posed, number, form_data):
        form_data = None  # it belongs to another picture
    mark = marks_of(plan).get(MarkKey(posed.kind, purpose, posed.key))
    if mark is not None and not is_about(mark, posed):
        mark = None
    question = posed
    if kind.draws and mark is not None:
        content = {**posed.content, "boxes": list(mark["known"])}
        question = PosedQuestion(posed.kind, posed.image, posed.key, content, posed.mentions)
    task = preview_page(plan, question)
    texts: tuple[tuple[int, str, bool], ...] = ()
    chosen = ""
    if "blocks" in posed.content:
        (block,) = task.page.about
        ticked = mark["known"] if mark is not None else [False] * len(block.sentences)
        texts = tuple(
            (index, text, f"{name}-{index}" in form_data if form_data is not None else bool(ticked[index]))
            for index, (_name, text) in enumerate(block.sentences)
        )
    elif not kind.draws:
        chosen = (
            form_data.get(name, "") if form_data is not None else (mark["known"] if mark is not None else "")
        )
    return MarkCard(
        name,
        number + 1,
        posed,
        task,
        parts_of_task(request, task).question,
        tuple(choice for choice in task.page.choices if choice.value in _words(posed.kind)),
        chosen,
        texts,
        wrongs.get(name, ""),
        len(mark["known"]) if kind.draws and mark is not None else None,
        bool(kind.draws and mark is not None and mark["done"]),
    )


def _counts(plan: DraftPlan, kind: str, purpose: str) -> list[tuple[Any, int]]:
    """Return the number of items for each answer, over all grids."""
    counts: Mapping[str, int] = strata_of_marks(plan).get((kind, purpose)) or {}
    return [(answer_in_words(kind, answer), number) for answer, number in sorted(counts.items())]


def _counts_text(plan: DraftPlan, kind: str, purpose: str) -> str:
    number = sum(strata_of_marks(plan).get((kind, purpose), {}).values())
    return ngettext("%(n)d item of %(kind)s is marked.", "%(n)d items of %(kind)s are marked.", number) % {
        "n": number,
        "kind": kind_in_words(kind),
    }
