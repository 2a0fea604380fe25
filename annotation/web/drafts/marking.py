"""Marking control items: the real question about twelve pictures at once, answered by the draft's owner.

Words and ticks are marked on a grid; boxes are drawn one picture after the other, in the workers' editor.
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
    BadItem,
    Mark,
    MarkPlace,
    is_about,
    keep_marks,
    mark_for,
    marks_of,
    purposes_of,
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
from annotation.protocol.kinds import kind_of
from annotation.protocol.terms import Box
from annotation.task_types.base import TASK_TYPES, BadAnswer, Choice
from annotation.web.annotator.task_page import TaskPage
from annotation.web.annotator.task_parts import parts_of_task
from annotation.web.common.filters import query_number
from annotation.web.drafts.frame import draft_frame, for_draft, kind_of_draft, shown_task
from annotation.web.staff.frame import query_string
from annotation.web.staff.wording import PURPOSES, answer_in_words, kind_in_words

#: Grids that can be turned to; nobody marks as many pictures.
_TURNS = 50


@dataclass(frozen=True, slots=True)
class MarkCard:
    """A picture of the grid with its question: choices or texts to be ticked, what was marked, what is wrong.

    `name` is that of its fields. `texts`: each with its number, and whether it is ticked. `drawn`: boxes of a
    drawing, None where nobody drew; `done` where no more is missing.
    """

    name: str
    number: int
    posed: PosedQuestion
    desk: TaskPage
    question: SafeString
    choices: tuple[Choice, ...]
    chosen: str
    texts: tuple[tuple[int, str, bool], ...]
    wrong: str
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
    """The grid of a kind; POST keeps every answer that can be a control item, and says what is wrong with the
    others."""
    kind = kind_of_draft(plan, kind)
    if kind not in marked_kinds(plan.tasks):
        raise Http404(_("Nobody can grade answers to “%(kind)s”.") % {"kind": kind_in_words(kind)})
    purpose, turn = _place(request, kind)
    posed = posed_questions(plan, kind, turn=turn)
    wrongs: dict[str, str] = {}
    given: Mapping[str, str] | None = None
    if request.method == "POST" and not kind_of(kind).draws:
        given = request.POST.dict()
        wrongs = _keep(plan, posed, purpose, given)
        if not wrongs:
            messages.success(request, _told(plan, kind, purpose))
            if request.POST.get("go") == "more":
                return redirect(_address(plan, kind, purpose, turn + 1))
            return redirect("draft_step", plan.draft.pk, fields.TEST_STEP)
    cards = [_card(request, plan, each, purpose, number, given, wrongs) for number, each in enumerate(posed)]
    about = {
        "kind": kind,
        "kind_name": kind_in_words(kind),
        "purpose": purpose,
        "purposes": [(each, PURPOSES[each]) for each in purposes_of(kind)],
        "turn": turn,
        "cards": cards,
        "marked": sum(card.marked for card in cards),
        "draws": kind_of(kind).draws,
        "ticks": bool(kind_of(kind).most_true),
        "most_true": kind_of(kind).most_true,
        "needs_boxes": posed_without_boxes(plan, kind),
        "counts": _counts(plan, kind, purpose),
        "wrongs": wrongs,
        "later": query_string(purpose=purpose, turn=turn + 1) if len(posed) and turn < _TURNS else "",
        "earlier": (query_string(purpose=purpose, turn=turn - 1) or "?") if turn else "",
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
    """The right boxes of one picture, drawn one after the other until no further one is missing."""
    kind = kind_of_draft(plan, kind)
    if not kind_of(kind).draws:
        raise Http404(_("No boxes are drawn for “%(kind)s”.") % {"kind": kind_in_words(kind)})
    purpose, turn = _place(request, kind)
    posed = posed_questions(plan, kind, turn=turn)
    key = request.GET.get("image", "")
    asked = next((each for each in posed if each.key == key), None)
    if asked is None:
        raise Http404(_("This picture is not on the grid any more: go back and choose another one."))
    place = MarkPlace(kind, purpose, asked.key)
    mark = marks_of(plan).get(place)
    if mark is not None and not is_about(mark, asked):
        mark = None
    status, wrong, entered = HTTPStatus.OK, None, dict[str, str]()
    if request.method == "POST":
        entered = request.POST.dict()
        if entered.get("act") == "clear":
            keep_marks(draft=plan.draft, marks=[], cleared=[place])
            return redirect(request.get_full_path())
        try:
            if entered.get("of") != asked.stamp:
                raise BadItem(_("This picture has changed since you opened this page: draw its boxes again."))
            type_ = TASK_TYPES.get(kind)
            answer = type_.parse(type_.from_form(entered))
            boxes = [Box(*box) for box in mark["known"]] if mark is not None else []
            boxes += [answer.box] if answer.box is not None else []
            made = mark_for(plan, asked, purpose, boxes, done=answer.box is None)
            keep_marks(draft=plan.draft, marks=[made])
            if answer.box is not None:
                return redirect(request.get_full_path())
            return redirect(_after_drawing(plan, posed, place, turn))
        except BadAnswer as error:
            status, wrong = HTTPStatus.UNPROCESSABLE_ENTITY, error
        except BadItem as error:
            status, wrong = HTTPStatus.UNPROCESSABLE_ENTITY, BadAnswer("box", str(error))
    shown = PosedQuestion(asked.kind, asked.image, asked.key, _with_boxes(asked, mark), asked.mentions)
    desk = shown_task(plan, shown, entered, wrong)
    about = {
        "kind": kind,
        "purpose": purpose,
        "turn": turn,
        "desk": desk,
        "stamp": asked.stamp,
        "parts": parts_of_task(request, desk),
        "drawn": len(mark["known"]) if mark is not None else 0,
        "back": _address(plan, kind, purpose, turn),
        "at": posed.index(asked) + 1,
        "all_pictures": len(posed),
    }
    return render(
        request,
        "annotation/drafts/mark_boxes.html",
        draft_frame(plan, fields.TEST_STEP, **about),
        status=status.value,
    )


def _with_boxes(asked: PosedQuestion, mark: Mark | None) -> dict[str, Any]:
    """What the page shows: the question, beside the boxes that were drawn already."""
    return {**asked.content, "boxes": list(mark["known"]) if mark is not None else []}


def _after_drawing(plan: DraftPlan, posed: list[PosedQuestion], place: MarkPlace, turn: int) -> str:
    """The next picture of the grid that is not finished; the grid where all are."""
    done = marks_of(plan)
    after = [each.key for each in posed]
    after = after[after.index(place.image) + 1 :] + after[: after.index(place.image)]
    for key in after:
        mark = done.get(MarkPlace(place.kind, place.purpose, key))
        if mark is None or not mark["done"]:
            address = reverse("mark_boxes", args=[plan.draft.pk, place.kind])
            return address + query_string(purpose=place.purpose, turn=turn, image=key)
    return _address(plan, place.kind, place.purpose, turn)


def _place(request: HttpRequest, kind: str) -> tuple[str, int]:
    """What the items are for, and which grid, by the address."""
    purpose = request.GET.get("purpose", "")
    purpose = purpose if purpose in purposes_of(kind) else Control.QUALIFICATION
    return purpose, min(query_number(request.GET, "turn") or 0, _TURNS)


def _address(plan: DraftPlan, kind: str, purpose: str, turn: int) -> str:
    return reverse("mark_items", args=[plan.draft.pk, kind]) + query_string(
        purpose=purpose, turn=min(turn, _TURNS) or None
    )


def _keep(
    plan: DraftPlan, posed: list[PosedQuestion], purpose: str, given: Mapping[str, str]
) -> dict[str, str]:
    """Keep what a grid sent; by card, what is wrong with the others."""
    marks, cleared, wrongs = list[Mark](), list[MarkPlace](), dict[str, str]()
    for number, each in enumerate(posed):
        if f"mark-{number}-of" not in given and not _is_given(number, given):
            continue  # it was not on the page yet
        if not _is_for(each, number, given):
            wrongs[f"mark-{number}"] = _(
                "The pictures have changed since you opened this page: mark this one again."
            )
            continue
        known = _answered(each, number, given)
        if known is None:
            cleared.append(MarkPlace(each.kind, purpose, each.key))
            continue
        try:
            marks.append(mark_for(plan, each, purpose, known))
        except BadItem as error:
            wrongs[f"mark-{number}"] = str(error)
    for number in range(len(posed), GRID_PICTURES):
        if _is_given(number, given):
            wrongs[f"mark-{number}"] = _("A picture that you marked is gone: its answer was not saved.")
    keep_marks(draft=plan.draft, marks=marks, cleared=cleared)
    return wrongs


def _is_given(number: int, given: Mapping[str, str]) -> bool:
    """Whether a card was answered."""
    name = f"mark-{number}"
    return bool(given.get(name)) or any(
        field.startswith(f"{name}-") and field != f"{name}-of" for field in given
    )


def _is_for(posed: PosedQuestion, number: int, given: Mapping[str, str]) -> bool:
    """Whether what a card was given is about this very question: the grid is drawn anew each time."""
    return given.get(f"mark-{number}-of") == posed.stamp


def _answered(posed: PosedQuestion, number: int, given: Mapping[str, str]) -> Any:
    """The answer that a card was given: a word, ticks, or None."""
    if "blocks" in posed.content:
        (block,) = posed.content["blocks"]
        ticks = [f"mark-{number}-{place}" in given for place in range(len(block["captions"]))]
        return ticks if any(ticks) else None
    word = given.get(f"mark-{number}", "")
    return word if word in _words(posed.kind) else None


def _words(kind: str) -> tuple[str, ...]:
    """The answers that a control item may have."""
    about = kind_of(kind)
    return tuple(word for word in about.answers if not about.strata or word in about.strata)


def _card(
    request: HttpRequest,
    plan: DraftPlan,
    posed: PosedQuestion,
    purpose: str,
    number: int,
    given: Mapping[str, str] | None,
    wrongs: Mapping[str, str],
) -> MarkCard:
    kind, name = kind_of(posed.kind), f"mark-{number}"
    if given is not None and not _is_for(posed, number, given):
        given = None  # it is about another picture
    mark = marks_of(plan).get(MarkPlace(posed.kind, purpose, posed.key))
    if mark is not None and not is_about(mark, posed):
        mark = None
    shown = posed
    if kind.draws and mark is not None:
        content = {**posed.content, "boxes": list(mark["known"])}
        shown = PosedQuestion(posed.kind, posed.image, posed.key, content, posed.mentions)
    desk = shown_task(plan, shown)
    texts: tuple[tuple[int, str, bool], ...] = ()
    chosen = ""
    if "blocks" in posed.content:
        (block,) = desk.page.about
        ticked = mark["known"] if mark is not None else [False] * len(block.sentences)
        texts = tuple(
            (place, text, f"{name}-{place}" in given if given is not None else bool(ticked[place]))
            for place, (_name, text) in enumerate(block.sentences)
        )
    elif not kind.draws:
        chosen = given.get(name, "") if given is not None else (mark["known"] if mark is not None else "")
    return MarkCard(
        name,
        number + 1,
        posed,
        desk,
        parts_of_task(request, desk).question,
        tuple(choice for choice in desk.page.choices if choice.value in _words(posed.kind)),
        chosen,
        texts,
        wrongs.get(name, ""),
        len(mark["known"]) if kind.draws and mark is not None else None,
        bool(kind.draws and mark is not None and mark["done"]),
    )


def _counts(plan: DraftPlan, kind: str, purpose: str) -> list[tuple[Any, int]]:
    """How many items there are of each answer, of all grids."""
    found: Mapping[str, int] = strata_of_marks(plan).get((kind, purpose)) or {}
    return [(answer_in_words(kind, answer), number) for answer, number in sorted(found.items())]


def _told(plan: DraftPlan, kind: str, purpose: str) -> str:
    number = sum(strata_of_marks(plan).get((kind, purpose), {}).values())
    return ngettext("%(n)d item of %(kind)s is marked.", "%(n)d items of %(kind)s are marked.", number) % {
        "n": number,
        "kind": kind_in_words(kind),
    }
