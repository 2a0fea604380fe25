"""Operations for reviewing: the queue, the full history of an image, rulings, and workers' reports."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import FieldError, Help, OneOf, OperationContext, Pages, invalid
from annotation.models import Campaign, Flag, OpenImage, Ruling
from annotation.moderation import control_items, rulings
from annotation.protocol.contents import mention_from, ruling_from
from annotation.selectors import review
from annotation.selectors.corpora import CampaignRequest
from annotation.selectors.review import WaitingChain
from annotation.selectors.workers.choosing import RowNumber

Mention = Annotated[str, Field(max_length=100)]
Mentions = Annotated[tuple[Mention, ...], Field(max_length=200)]
_Corners = Annotated[tuple[int, ...], Field(min_length=4, max_length=4)]
ImageKey = Annotated[str, Field(max_length=200)]
ReviewReason = Annotated[str, OneOf(lambda: dict.fromkeys(review.REASONS))]
#: Required fields of a ruling besides its kind, by kind.
_NEEDS = {
    "partition": ("groups",),
    "keep_apart": ("mentions",),
    "boxes": ("mentions", "boxes"),
    "closure": ("mentions", "closure"),
    "resume": ("mentions",),
}
RulingKind = Annotated[str, OneOf(lambda: dict.fromkeys(_NEEDS))]
ClosureKind = Annotated[str, OneOf(lambda: dict.fromkeys(("scene", "none", "excluded")))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewQueueRequest(CampaignRequest):
    """The images with chains that wait for a reviewer, with reasons, the last changed first."""

    reason: Annotated[ReviewReason | None, Help(_("Reason"), _("Only those that wait for it"))] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewImageRequest(CampaignRequest):
    """An open image of a campaign: its chains according to the answers, and its rulings."""

    image: Annotated[ImageKey, Help(_("Image"), _("Its key in the corpus"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeRulingRequest(CampaignRequest):
    """A ruling about mentions of an image, which is computed again with it. A mention is named
    caption:start-end, such as 0:3-5, and a chain by all its mentions."""

    image: Annotated[ImageKey, Help(_("Image"), _("Its key in the corpus"))]
    kind: Annotated[RulingKind, Help(_("Ruling"), _("What it says about the mentions"))]
    mentions: Annotated[Mentions, Help(_("Mentions"), _("Of one chain, or two that stay apart"))] = ()
    groups: Annotated[
        tuple[Mentions, ...],
        Field(max_length=200),
        Help(_("Groups"), _("Of a partition: each is a chain; mentions of two of them are never one")),
    ] = ()
    boxes: Annotated[
        tuple[_Corners, ...],
        Field(max_length=200),
        Help(_("Boxes"), _("The chain's: left, top, right and bottom of each, in pixels from 1")),
    ] = ()
    closure: Annotated[ClosureKind | None, Help(_("Closure"), _("Why the chain has no box"))] = None
    seen: Annotated[
        tuple[Mentions, ...],
        Field(max_length=200),
        Help(_("Seen"), _("Chains as you saw them; nothing is ruled if one has changed")),
    ] = ()
    comment: Annotated[
        str, Field(max_length=1_000), Help(_("Comment"), _("The reason; it is stored with the ruling"))
    ] = ""

    def problems(self) -> Iterator[FieldError]:
        """Yield the missing fields of a ruling of this kind."""
        for name in _NEEDS[self.kind]:
            if not getattr(self, name):
                yield FieldError(name, "missing")
        if self.kind == "keep_apart" and self.mentions and len(self.mentions) != 2:
            yield FieldError("mentions", "two_expected")


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawRulingRequest(CampaignRequest):
    """Without the ruling, the workers' answers decide again."""

    ruling: Annotated[RowNumber, Help(_("Ruling"), _("Its number"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagsRequest(CampaignRequest):
    """Reports that workers sent instead of answers, the newest first."""

    handled: Annotated[bool, Help(_("Handled"), _("Reports that were handled too"))] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveFlagRequest(CampaignRequest):
    """Marks a worker's report as handled."""

    flag: Annotated[RowNumber, Help(_("Report"), _("Its number"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedImage:
    """An image with chains that wait for a reviewer."""

    image: str
    changed_at: datetime
    chains: tuple[WaitingChain, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRuling:
    """A ruling: an assertion about mentions, in force until it is withdrawn."""

    number: int
    ruling: dict[str, Any]
    comment: str
    made_by: str | None
    made_at: datetime
    withdrawn_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainInReview:
    """A chain according to the answers: why it waits for a reviewer, its boxes, or why it has none."""

    mentions: tuple[str, ...]
    title: str
    stage: str
    reason: str
    kind: str
    boxes: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedParts:
    """Chains, or boxes of chains, that were merged: each chain by its first mention."""

    what: str
    chains: tuple[str, ...]
    iou: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedImage:
    """An image of a campaign: its chains, rulings, and number of answers. `mentions` are the words of each
    mention, by its id."""

    image: str
    complete: bool
    version: int
    judgments: int
    mentions: dict[str, str]
    chains: tuple[ChainInReview, ...]
    merged: tuple[MergedParts, ...]
    rulings: tuple[StoredRuling, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuledImage:
    """The image after a ruling was made or withdrawn: the number of chains that still wait, and the control
    items that were retired, since the ruling contradicts them."""

    campaign: str
    image: str
    number: int
    waiting: int
    retired: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFlag:
    """A report that a worker sent instead of an answer."""

    number: int
    image: str
    kind: str
    flag: str
    comment: str
    words: tuple[str, ...]
    worker: str
    control_item: bool
    at: datetime
    handled_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedFlag:
    """Whether the report was open until now."""

    changed: bool


def list_waiting(request: ReviewQueueRequest, context: OperationContext) -> Pages:
    """Return the images that wait."""
    campaign = request.row().pk

    def page(mark: Any, size: int) -> tuple[Iterable[QueuedImage], Any]:
        waiting = review.review_queue(
            campaign=campaign, reason=request.reason or "", after=mark or "", size=size
        )
        images = (
            QueuedImage(image=image.image.key, changed_at=image.changed_at, chains=image.chains)
            for image in waiting.images
        )
        return images, waiting.after or None

    return Pages(page)


def show_reviewed_image(request: ReviewImageRequest, context: OperationContext) -> ReviewedImage:
    """Return the full history of an image. Raises Invalid if it is not open."""
    campaign = request.row()
    _open(campaign, request.image)
    reviewed = review.image_under_review(campaign=campaign.pk, key=request.image)
    return ReviewedImage(
        image=request.image,
        complete=reviewed.open.complete,
        version=reviewed.open.version,
        judgments=len(reviewed.judgments),
        mentions={name: mention.text for name, mention in reviewed.mentions.items()},
        chains=_chains(reviewed.open),
        merged=tuple(
            MergedParts(what=parts["what"], chains=tuple(parts["chains"]), iou=parts["iou"])
            for parts in reviewed.merged
        ),
        rulings=tuple(
            StoredRuling(
                number=ruling.row.pk,
                ruling=ruling.row.content,
                comment=ruling.row.comment,
                made_by=ruling.row.made_by.get_username() if ruling.row.made_by is not None else None,
                made_at=ruling.row.made_at,
                withdrawn_at=ruling.row.withdrawn_at,
            )
            for ruling in reviewed.rulings
        ),
    )


def rule_about_image(request: MakeRulingRequest, context: OperationContext) -> RuledImage:
    """Make a ruling about an image. Raises CannotRule, InvalidContent, and Invalid if it is not open."""
    campaign = request.row()
    row = _open(campaign, request.image)
    content: dict[str, Any] = {
        name: getattr(request, name) for name in ("kind", "mentions", "groups", "boxes")
    }
    content["as"] = request.closure
    if request.kind == "keep_apart":
        content["a"], content["b"] = request.mentions
    done = rulings.make_ruling(
        image=row.pk,
        ruling=ruling_from(content),
        seen=request.seen,
        comment=request.comment,
        actor=context.actor,
    )
    return _ruled(done)


def take_ruling_back(request: WithdrawRulingRequest, context: OperationContext) -> RuledImage:
    """Withdraw a ruling. Raises CannotRule, and Invalid if the campaign has no such ruling."""
    campaign = request.row()
    if not Ruling.objects.filter(image__campaign=campaign, pk=request.ruling).exists():
        raise invalid("ruling", "unknown", kind=_("ruling"), value=request.ruling)
    return _ruled(rulings.withdraw_ruling(campaign=campaign, ruling=request.ruling, actor=context.actor))


def list_flags(request: FlagsRequest, context: OperationContext) -> Pages:
    """Return workers' reports."""
    campaign = request.row().pk

    def page(mark: Any, size: int) -> tuple[Iterable[WorkerFlag], Any]:
        reports, before = review.worker_reports(
            campaign=campaign, unresolved=not request.handled, before=mark, size=size
        )
        return (_flag(report) for report in reports), before

    return Pages(page)


def mark_flag_handled(request: ResolveFlagRequest, context: OperationContext) -> ResolvedFlag:
    """Mark a report as handled. Raises Invalid if the campaign has no such report."""
    campaign = request.row()
    if not Flag.objects.filter(judgment__campaign=campaign, pk=request.flag).exists():
        raise invalid("flag", "unknown", kind=_("report"), value=request.flag)
    return ResolvedFlag(
        changed=rulings.resolve_flag(campaign=campaign, flag=request.flag, actor=context.actor)
    )


def _open(campaign: Campaign, key: str) -> OpenImage:
    try:
        return review.open_image(campaign=campaign.pk, key=key)
    except review.NoSuchImage:
        raise invalid("image", "unknown", kind=_("open image"), value=key) from None


def _chains(row: OpenImage) -> tuple[ChainInReview, ...]:
    mentions = {mention.id: mention for mention in map(mention_from, row.mentions)}
    return tuple(
        ChainInReview(
            mentions=tuple(chain["m"]),
            title=review.chain_title(chain, mentions),
            stage=chain["s"],
            reason=chain["r"],
            kind=chain["k"],
            boxes=tuple(tuple(box) for box in chain["b"]),
        )
        for chain in row.state["chains"]
    )


def _ruled(done: rulings.Ruled) -> RuledImage:
    image = done.ruling.image
    return RuledImage(
        campaign=image.campaign.name,
        image=image.image.key,
        number=done.ruling.pk,
        waiting=sum(chain.stage == "REVIEW" for chain in done.state.chains),
        retired=tuple(map(str, control_items.names_of_items(done.retired))) if done.retired else (),
    )


def _flag(report: review.WorkerReport) -> WorkerFlag:
    return WorkerFlag(
        number=report.flag.pk,
        image=report.image.key,
        kind=report.kind,
        flag=report.flag.judgment.flag,
        comment=report.flag.comment,
        words=report.words,
        worker=report.flag.judgment.worker.pseudonym,
        control_item=report.is_control_item,
        at=report.flag.judgment.created_at,
        handled_at=report.flag.resolved_at,
    )
