"""Control items that the owner of a draft answers: stored with it, and created when it opens.

Drawn boxes also answer other questions: a drawn box fits, a box beside it does not, and all together are
complete. `items_of_marks` creates these items too.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from annotation.campaigns.drafts import fields
from annotation.campaigns.drafts.posing import PosedQuestion, worse_box
from annotation.campaigns.drafts.reading import DraftPlan
from annotation.common import database
from annotation.models import CampaignDraft, Control
from annotation.protocol.contents import corners
from annotation.protocol.controls import draw_number
from annotation.protocol.kinds import MEASURED_ON_CONTROLS, Kind, is_counted, judged_by, kind_of
from annotation.protocol.terms import Box
from annotation.quality.controls import ControlItem, CountedControlItem
from annotation.quality.controls.counted import counted_row
from annotation.quality.controls.items import Images, control_row
from annotation.selectors.controls import control_item_counts

#: The largest number of marks of a draft.
MOST_MARKS = 2000
#: A mark as its row stores it: plain data.
Mark = Mapping[str, Any]
MarkedItem = ControlItem | CountedControlItem


class MarkKey(NamedTuple):
    """The key of a mark: the kind of question, the purpose of its items, and the image."""

    kind: str
    purpose: str
    image: str


def purposes_of(kind: str) -> tuple[str, ...]:
    """Return the possible purposes of items of a kind: the test, and the work if accuracy is measured on
    them."""
    measured = kind_of(kind).measured_on == MEASURED_ON_CONTROLS
    return (Control.QUALIFICATION, Control.CONTROL) if measured else (Control.QUALIFICATION,)


def marks_of(plan: DraftPlan) -> dict[MarkKey, Mark]:
    """Return the marks for the draft's corpus and tasks, by key."""
    return {
        MarkKey(mark["kind"], mark["purpose"], mark["image"]): mark
        for mark in plan.draft.marks
        if plan.corpus is not None and mark["corpus"] == plan.corpus.pk and mark["kind"] in plan.kinds
    }


def mark_for(plan: DraftPlan, posed: PosedQuestion, purpose: str, known: Any, *, done: bool = True) -> Mark:
    """Return the mark by which `known` is the answer to a question: its word, boxes, or ticks.

    `done`: for a drawing, whether no further box is missing. Raises BadItem if it cannot be a control
    item.
    """
    assert plan.corpus is not None
    mark = {
        "corpus": plan.corpus.pk,
        "kind": posed.kind,
        "purpose": purpose,
        "image": posed.key,
        "mentions": list(posed.mentions),
        "boxes": [corners(box) for box in posed.boxes],
        "pending": corners(posed.pending) if posed.pending else None,
        "captions": [list(caption) for caption in posed.captions],
        "known": [corners(box) for box in known] if kind_of(posed.kind).draws else known,
        "done": done,
    }
    check_items(plan, [_item(mark)])
    return mark


def is_about(mark: Mark, posed: PosedQuestion) -> bool:
    """Whether a mark answers exactly this question."""
    return (
        tuple(mark["mentions"]) == posed.mentions
        and [list(group) for group in mark["captions"]] == [list(group) for group in posed.captions]
        and [tuple(box) for box in mark["boxes"]] == [tuple(corners(box)) for box in posed.boxes]
    )


def store_marks(*, draft: CampaignDraft, marks: Iterable[Mark], cleared: Iterable[MarkKey] = ()) -> None:
    """Store marks, replacing older ones with the same keys; those with `cleared` keys are deleted.

    Marking items of a test selects that test as the entry.
    """
    marks = list(marks)
    with database.writing():
        row = CampaignDraft.objects.select_for_update(of=("self",)).get(pk=draft.pk)
        gone = {(cleared_key, row.corpus_id) for cleared_key in cleared}
        gone |= {(_mark_key(mark), mark["corpus"]) for mark in marks}
        remaining = [mark for mark in row.marks if (_mark_key(mark), mark["corpus"]) not in gone]
        row.marks = [*remaining, *marks][-MOST_MARKS:]
        if any(mark["purpose"] == Control.QUALIFICATION for mark in marks):
            row.fields = {**row.fields, "entry": fields.ENTRY_MARKED}
        row.save(update_fields=["marks", "fields", "changed_at"])
    draft.refresh_from_db()


def _mark_key(mark: Mark) -> MarkKey:
    return MarkKey(mark["kind"], mark["purpose"], mark["image"])


def items_of_marks(plan: DraftPlan) -> list[MarkedItem]:
    """Return the control items made from the marks, including those that follow from drawn boxes."""
    items: list[MarkedItem] = []
    marks = marks_of(plan)
    for mark_key, mark in marks.items():
        kind = kind_of(mark_key.kind)
        if kind.draws:
            if mark["done"]:
                items += [
                    item
                    for item in _of_drawing(plan, kind, mark)
                    if item.kind == kind.key or MarkKey(item.kind, item.purpose, item.image) not in marks
                ]
        else:
            items.append(_item(mark))
    return _balanced(plan, items)


def _of_drawing(plan: DraftPlan, kind: Kind, mark: Mark) -> Iterator[ControlItem]:
    """Yield the items that follow from drawn boxes: for drawing, and for the kinds that show boxes."""
    boxes = tuple(sorted(Box(*box) for box in mark["known"]))
    mentions, image, purpose = tuple(mark["mentions"]), mark["image"], mark["purpose"]
    yield ControlItem(kind.key, purpose, image, mentions, boxes)
    judging = judged_by(kind.key)
    if not boxes or not judging:
        return
    yield ControlItem(kind.key, purpose, image, mentions, (), boxes=boxes)
    # One for the test, another for the work; which answer each has depends on the picture.
    for number, use in enumerate(purposes_of(judging)):
        worse = (draw_number("fits", image, mark["mentions"]) < 0.5) != bool(number)
        fits, fails = kind_of(judging).strata
        pending = worse_box(boxes[0], boxes) if worse else boxes[0]
        yield ControlItem(judging, use, image, mentions, fails if worse else fits, pending=pending)
        for key in plan.kinds:
            if kind_of(key).needs_boxes:
                missing, complete = kind_of(key).strata
                displayed_boxes, known = (
                    (boxes[:-1], missing) if worse and len(boxes) > 1 else (boxes, complete)
                )
                yield ControlItem(key, use, image, mentions, known, boxes=displayed_boxes)


def _balanced(plan: DraftPlan, items: list[MarkedItem]) -> list[MarkedItem]:
    """Remove the items of kinds that follow from drawn boxes and have only one answer: nobody could begin
    such a test."""
    marked = {mark_key.kind for mark_key in marks_of(plan)}
    answers: dict[tuple[str, str], set[str]] = defaultdict(set)
    for item in items:
        answers[item.kind, item.purpose].add(str(item.known))
    return [item for item in items if item.kind in marked or len(answers[item.kind, item.purpose]) > 1]


def strata_of_marks(plan: DraftPlan) -> dict[tuple[str, str], Counter[str]]:
    """Return (kind, purpose) -> the number of items by answer; invalid items are skipped."""
    strata: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for item in items_of_marks(plan):
        kind = kind_of(item.kind)
        if kind.draws:
            answer = kind.strata[0] if item.known else kind.strata[1]
        elif isinstance(item.known, tuple):
            answer = str(sum(map(bool, item.known)))
        else:
            answer = item.known
        strata[item.kind, item.purpose][answer] += 1
    return dict(strata)


def strata_there(plan: DraftPlan) -> dict[tuple[str, str], Counter[str]]:
    """Return the counts of `strata_of_marks` plus the items copied from the draft's original campaign."""
    strata = strata_of_marks(plan)
    like = plan.like
    if like is not None and plan.corpus is not None and like.corpus_id == plan.corpus.pk:
        for (kind, purpose, answer), number in control_item_counts(like).items():
            if kind in plan.kinds:
                strata.setdefault((kind, purpose), Counter())[answer] += number
    return strata


def check_items(plan: DraftPlan, items: Iterable[MarkedItem]) -> None:
    """Raise BadItem if one of the items cannot be a control item of the campaign; nothing is stored."""
    assert plan.corpus is not None
    items = list(items)
    images = Images(plan.corpus.pk, {item.image for item in items})
    campaign = plan.unsaved()
    for item in items:
        if isinstance(item, CountedControlItem):
            counted_row(item, campaign=campaign, images=images)
        else:
            control_row(item, campaign=campaign, images=images)


def _item(mark: Mark) -> MarkedItem:
    """Return the control item of a mark."""
    if is_counted(mark["kind"]):
        known = tuple(mark["known"]) if isinstance(mark["known"], list) else mark["known"]
        captions = tuple((key, number) for key, number in mark["captions"])
        return CountedControlItem(mark["kind"], mark["purpose"], mark["image"], known, captions)
    known = mark["known"]
    return ControlItem(
        mark["kind"],
        mark["purpose"],
        mark["image"],
        tuple(mark["mentions"]),
        known if isinstance(known, str) else tuple(Box(*box) for box in known),
        boxes=tuple(Box(*box) for box in mark["boxes"]),
        pending=Box(*mark["pending"]) if mark["pending"] else None,
    )
