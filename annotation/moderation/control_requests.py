"""Operations on control items: list, count, add from several sources, retire."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import ConfigDict, Field

from annotation.common.operations import (
    FieldError,
    FileUpload,
    Help,
    Invalid,
    Listing,
    OneOf,
    OperationContext,
    invalid,
    result_of,
    with_sheet,
)
from annotation.common.roles import RESEARCHER, REVIEWER
from annotation.datasets.layers import MOST_IMAGES_UPDATED_FOR_PAGE, layer_to_read
from annotation.models import Campaign, Control
from annotation.moderation import worker_status
from annotation.moderation.control_items.from_answers import promote
from annotation.moderation.control_items.from_layer import from_gold
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.kinds import all_kinds, draws
from annotation.protocol.questions import QUESTIONS
from annotation.protocol.terms import Box
from annotation.quality import controls, qualification
from annotation.selectors.controls import control_item_counts, with_answer_counts
from annotation.selectors.corpora import CampaignRequest, check_split
from phrasebox.balance import BalanceSheet

_LARGEST_FILE = 4 * 2**20


def _kinds() -> dict[str, None]:
    return {kind.key: None for kind in all_kinds()}


def _promotable() -> dict[str, None]:
    return {kind.key: None for kind in all_kinds() if kind.promotable}


def _purposes() -> dict[str, Any]:
    return {Control.CONTROL: _("mixed into the work"), Control.QUALIFICATION: _("for the entry test")}


Purpose = Annotated[str, OneOf(_purposes)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlItemsRequest(CampaignRequest):
    """The newest first: active items, or retired ones."""

    kind: Annotated[Annotated[str, OneOf(_kinds)] | None, Help(_("Question"))] = None
    purpose: Annotated[Purpose | None, Help(_("Use"))] = None
    retired: Annotated[bool, Help(_("Retired"), _("Retired ones, instead of those in use"))] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlCountsRequest(CampaignRequest):
    """Active control items, by kind, purpose and answer, and warnings about missing ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerControlsRequest(CampaignRequest):
    """Questions of every kind about images of a layer that is taken as gold."""

    layer: Annotated[str, Field(min_length=1, max_length=100), Help(_("Layer"))]
    images: Annotated[int, Field(ge=1, le=500), Help(_("Images"), _("Drawn at random from the layer's"))] = 60
    purpose: Annotated[Purpose | None, Help(_("Use"), _("Only items for this"))] = None
    seed: Annotated[int, Field(ge=0, le=10**9), Help(_("Seed"), _("Which images and questions"))] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionControlsRequest(CampaignRequest):
    """Images of a split outside the campaign, with their own captions and those of others. Check them: a
    caption of another image may also be right."""

    split: Annotated[str, Field(min_length=1, max_length=40), Help(_("Split"))]
    purpose: Annotated[Purpose | None, Help(_("Use"), _("Only items for this"))] = None
    seed: Annotated[
        Annotated[int, Field(ge=0, le=10**9)] | None,
        Help(_("Seed"), _("Which images; by default the campaign's")),
    ] = None


_Corners = Annotated[tuple[Annotated[int, Field(ge=1, le=10**6)], ...], Field(min_length=4, max_length=4)]
_Boxes = Annotated[tuple[_Corners, ...], Field(max_length=200)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenControl:
    """A question about some mentions of an image, and its gold answer: a word, or, for drawing, the boxes
    that are still to be drawn. `boxes` are the accepted ones, for kinds that show them; `pending` is the box
    to be judged. Boxes are in pixels: left, top, right, bottom; from 1, both edges included."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    kind: Annotated[str, OneOf(_kinds)]
    purpose: Purpose
    image: Annotated[str, Field(max_length=255)]
    mentions: Annotated[tuple[Annotated[str, Field(max_length=40)], ...], Field(min_length=1, max_length=200)]
    answer: Annotated[str, Field(max_length=40)] = ""
    drawn: _Boxes = ()
    boxes: _Boxes = ()
    pending: _Corners | None = None
    explanation: Annotated[str, Field(max_length=2000)] = ""

    def item(self) -> controls.ControlItem:
        """Return the item. Raises ValueError for an invalid box."""
        return controls.ControlItem(
            kind=self.kind,
            purpose=self.purpose,
            image=self.image,
            mentions=self.mentions,
            known=_boxes(self.drawn) if draws(self.kind) else self.answer,
            boxes=_boxes(self.boxes),
            pending=Box(*self.pending) if self.pending else None,
            explanation=self.explanation,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AddControlsRequest(CampaignRequest):
    """Items that you wrote, all or none."""

    items: Annotated[
        tuple[WrittenControl, ...],
        Field(min_length=1, max_length=500),
        Help(_("Items"), _("Questions with their gold answers")),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteRequest(CampaignRequest):
    """Settled questions to which all workers gave the same answer become control items."""

    kind: Annotated[str, OneOf(_promotable), Help(_("Question"))]
    at_least: Annotated[int, Field(ge=2, le=100), Help(_("Workers who agree, at least"))] = 3
    purpose: Annotated[Purpose, Help(_("Use"))] = Control.CONTROL


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportControlsRequest(CampaignRequest):
    """All of the file, or none: each row is an item (docs/trust.md)."""

    file: Annotated[
        Path,
        FileUpload(most=_LARGEST_FILE),
        Help(_("CSV"), _("kind, purpose, image, mentions, boxes, pending, known, explanation")),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetireControlRequest(CampaignRequest):
    """Answers given to it keep counting, unless it was wrong itself: then it is removed from everybody's
    accuracy."""

    item: Annotated[int, Field(ge=1, le=10**12), Help(_("Item"), _("Its number"))]
    incorrect: Annotated[bool, Help(_("The item itself was wrong"))] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlItemSummary:
    """A control item: its question and image, its gold answer, and how many of its answers were right.
    `mentions` are ids: caption:start-end. For a drawing the `answer` is drawn or none, and the boxes are
    `drawn`: left, top, right, bottom, in pixels from 1, both edges included."""

    number: int
    kind: str
    purpose: str
    image: str
    mentions: tuple[str, ...]
    answer: str
    drawn: tuple[tuple[int, ...], ...]
    source: str
    in_use: bool
    right: int
    answers: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlCount:
    """Number of active control items of one kind, purpose and answer."""

    kind: str
    purpose: str
    answer: str
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlItemCounts:
    """Numbers of active control items, and `warnings` about missing ones."""

    counts: tuple[ControlCount, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedControls:
    """How many control items were added and how many existed (`there`); names of those that were skipped,
    since something contradicts their answer or they are not asked any more."""

    added: int
    there: int
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedControls(AddedControls):
    """What became of the rows of a file."""

    sheet: BalanceSheet


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredControl:
    """The number of workers whose accuracy changed."""

    workers: int


def list_control_items(request: ControlItemsRequest, context: OperationContext) -> Listing:
    """Return a campaign's control items."""
    rows = Control.objects.filter(campaign__name=request.campaign, active=not request.retired)
    if request.kind is not None:
        rows = rows.filter(kind=request.kind)
    if request.purpose is not None:
        rows = rows.filter(purpose=request.purpose)
    return Listing(with_answer_counts(rows.select_related("image")), "-pk", _item)


def count_control_items(request: ControlCountsRequest, context: OperationContext) -> ControlItemCounts:
    """Return the numbers of a campaign's control items."""
    row = request.row()
    settings = settings_of(row.settings)
    return ControlItemCounts(
        counts=tuple(
            ControlCount(kind=kind, purpose=purpose, answer=answer, items=items)
            for (kind, purpose, answer), items in control_item_counts(row).items()
        ),
        warnings=(
            *qualification.test_warnings(campaign=row, settings=settings).values(),
            *controls.control_warnings(campaign=row, settings=settings.trust).values(),
        ),
    )


def add_controls_from_layer(request: LayerControlsRequest, context: OperationContext) -> AddedControls:
    """Add control items from a layer. Raises PhraseboxError, LayerBehind, UnknownName."""
    row, actor = request.row(), context.actor
    if actor is not None and not _may_read_layer(actor, row, request.layer):
        raise controls.BadItem(_("Your role covers only this campaign, not the layers of its corpus."))
    most = MOST_IMAGES_UPDATED_FOR_PAGE if actor is not None else None
    layer = layer_to_read(row.corpus, request.layer, most=most)
    assert layer is not None  # a name was given
    purposes = [request.purpose] if request.purpose else Control.PURPOSES
    done = from_gold(
        campaign=row, layer=layer, images=request.images, seed=request.seed, purposes=purposes, actor=actor
    )
    return _added(done)


def add_controls_from_captions(request: CaptionControlsRequest, context: OperationContext) -> AddedControls:
    """Add control items from the captions of a split. Raises BadItem, UnknownName."""
    row = request.row()
    check_split(row.corpus, request.split)
    done = controls.from_split(
        campaign=row,
        split=request.split,
        seed=row.seed if request.seed is None else request.seed,
        purposes=[request.purpose] if request.purpose else Control.PURPOSES,
        actor=context.actor,
    )
    return _added(done)


def promote_answers(request: PromoteRequest, context: OperationContext) -> AddedControls:
    """Make control items from answers on which workers agree. Raises CannotPromote."""
    done = promote(
        campaign=request.row(),
        kind=request.kind,
        at_least=request.at_least,
        purpose=request.purpose,
        actor=context.actor,
    )
    return _added(done)


@with_sheet
def import_controls(request: ImportControlsRequest, context: OperationContext) -> ImportedControls:
    """Add the control items of a CSV file. Raises BadItems, FormatError."""
    done = controls.from_csv(campaign=request.row(), file=request.file, actor=context.actor)
    return result_of(ImportedControls, _added(done), sheet=BalanceSheet())


def retire_control_item(request: RetireControlRequest, context: OperationContext) -> RetiredControl:
    """Retire a control item."""
    row = request.row()
    if not Control.objects.filter(campaign=row, pk=request.item, active=True).exists():
        raise invalid("item", "unknown", kind=_("control item in use"), value=request.item)
    if request.incorrect:
        changed = worker_status.disown_control_item(campaign=row, control=request.item, actor=context.actor)
        return RetiredControl(workers=changed)
    controls.retire_control_items(campaign=row, controls=[request.item], actor=context.actor)
    return RetiredControl(workers=0)


def _may_read_layer(account: Any, campaign: Campaign, layer: str) -> bool:
    """Whether an account may read the layer of that name: the campaign's own, or any with a role for its
    corpus."""
    return bool(layer == campaign.name or account.has_role(REVIEWER, RESEARCHER, on=campaign.corpus.scope))


def _item(row: Any) -> ControlItemSummary:
    drawing = draws(row.kind)
    return ControlItemSummary(
        number=row.pk,
        kind=row.kind,
        purpose=row.purpose,
        image=row.image.key,
        mentions=tuple(row.content.get("mentions", [])),
        answer=("drawn" if row.known else "none") if drawing else row.stratum,
        drawn=tuple(map(tuple, row.known)) if drawing else (),
        source=row.source,
        in_use=row.active,
        right=row.answers_right,
        answers=row.answers_given,
        created_at=row.created_at,
    )


def _added(done: controls.Added) -> AddedControls:
    return AddedControls(added=done.added, there=done.there, skipped=tuple(map(str, done.passed_over)))


def add_controls(request: AddControlsRequest, context: OperationContext) -> AddedControls:
    """Add hand-written items. Raises Invalid, which names each invalid one, and BadItem."""
    campaign = request.row()
    if campaign.kinds != QUESTIONS:
        raise controls.BadItem(_("Control items of this campaign cannot be added by hand."))
    items: list[tuple[int, controls.ControlItem]] = []
    problems: list[tuple[int, str]] = []
    for number, written in enumerate(request.items):
        try:
            items.append((number, written.item()))
        except ValueError as error:
            problems.append((number, str(error)))
    try:
        done = controls.add_control_items(
            campaign=campaign, items=items, source="api", actor=context.actor, problems=problems
        )
    except controls.BadItems as error:
        errors = (
            FieldError(f"items.{number}", "wrong", {"message": what}) for number, what in error.problems
        )
        raise Invalid(*errors) from error
    return _added(done)


def _boxes(rows: tuple[tuple[int, ...], ...]) -> tuple[Box, ...]:
    return tuple(Box(*corners) for corners in rows)
