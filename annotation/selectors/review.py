"""Data for reviewers: the chains that wait for them, workers' reports, and the history of an image.

Long lists are paginated by key: an image's by the time of its last change, reports by their id.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet, Sum

from annotation.models import Caption, Flag, Image, Judgment, Move, OpenImage, Ruling
from annotation.protocol.boxes import REVIEW
from annotation.protocol.contents import mention_from, ruling_from
from annotation.protocol.kinds import kind_of
from annotation.protocol.questions import mentions_in
from annotation.protocol.rulings import (
    Boxes,
    Closure,
    KeepApart,
    Partition,
    Phrases,
    Resume,
    UnrelatedCaption,
)
from annotation.protocol.rulings import Ruling as Asserted
from annotation.protocol.terms import Mention, representative

#: Why a chain waits for a reviewer.
REASONS = ("refused", "flagged", "fruitless", "crowded")
#: Number of images, or reports, on a page.
REVIEWS_PER_PAGE = 40

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class NoSuchImage(LookupError):
    """An image that a campaign has not opened."""


@dataclass(frozen=True, slots=True)
class WaitingChain:
    """A chain in review: its number in its image (from 1), its mentions, its representative mention, the
    reason."""

    number: int
    mentions: tuple[str, ...]
    title: str
    reason: str
    boxes: int


@dataclass(frozen=True, slots=True)
class WaitingImage:
    """An image with chains in review, and the time of its last change."""

    image: Image
    changed_at: datetime
    chains: tuple[WaitingChain, ...]


@dataclass(frozen=True, slots=True)
class Queue:
    """A page of the review queue, newest first; `after` is the key of the next page, "" at the end."""

    images: tuple[WaitingImage, ...]
    after: str


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """A report that a worker sent instead of an answer: its image, and the words it is about."""

    flag: Flag
    image: Image
    kind: str
    words: tuple[str, ...]
    is_control_item: bool


@dataclass(slots=True)
class ReviewedJudgment:
    """A judgment for reviewers, and the mentions that it is about."""

    judgment: Judgment
    mentions: tuple[str, ...]
    flag: Flag | None = None


@dataclass(slots=True)
class RulingDetail:
    """A ruling with its assertion."""

    row: Ruling
    asserts: Asserted
    mentions: frozenset[str]

    @property
    def in_force(self) -> bool:
        """Whether the ruling was not withdrawn."""
        return self.row.withdrawn_at is None


@dataclass(slots=True)
class ImageUnderReview:
    """The full history of an open image. `chains` and `merged` are as `refold_image` stored them."""

    open: OpenImage
    captions: list[Caption]
    mentions: dict[str, Mention]
    judgments: list[ReviewedJudgment]
    moves: dict[str, list[Move]] = field(default_factory=dict)
    rulings: list[RulingDetail] = field(default_factory=list)

    @property
    def chains(self) -> list[dict[str, Any]]:
        """The image's chains, as stored by `image_state.chain_of`."""
        chains: list[dict[str, Any]] = self.open.state["chains"]
        return chains

    @property
    def merged(self) -> list[dict[str, Any]]:
        """The log of merges, as stored by `image_state.merged_of`."""
        groups: list[dict[str, Any]] = self.open.state["merged"]
        return groups


def count_chains_in_review(campaign: int) -> int:
    """Return the number of chains of a campaign that wait for a reviewer."""
    rows = OpenImage.objects.filter(campaign=campaign, in_review__gt=0)
    return rows.aggregate(chains=Sum("in_review"))["chains"] or 0


def review_queue(*, campaign: int, reason: str = "", after: str = "", size: int = REVIEWS_PER_PAGE) -> Queue:
    """Return the images with chains in review (for `reason` only, if given), the last changed first."""
    waiting: list[WaitingImage] = []
    last: OpenImage | None = None
    for row in _in_review(campaign, after, size):
        if len(waiting) == size:
            assert last is not None
            return Queue(tuple(waiting), _key(last))
        chains = tuple(chain for chain in _waiting(row) if reason in ("", chain.reason))
        if chains:
            waiting.append(WaitingImage(row.image, row.changed_at, chains))
            last = row
    return Queue(tuple(waiting), "")


def worker_reports(
    *, campaign: int, unresolved: bool = True, before: int | None = None, size: int = REVIEWS_PER_PAGE
) -> tuple[list[WorkerReport], int | None]:
    """Return workers' reports, the newest first, and the id to continue from, None at the end."""
    rows: QuerySet[Flag] = Flag.objects.filter(judgment__campaign=campaign)
    if unresolved:
        rows = rows.filter(resolved_at=None)
    if before is not None:
        rows = rows.filter(pk__lt=before)
    rows = rows.select_related(
        "judgment__worker", "judgment__image__image", "judgment__assignment__control__image", "resolved_by"
    ).order_by("-pk")
    page = list(rows[: size + 1])
    drawings = [row.judgment.key.split("|")[1] for row in page if kind_of(row.judgment.kind).judges]
    of = [row.judgment.image_id for row in page]
    names = dict(Judgment.objects.filter(image__in=of, name__in=drawings).values_list("name", "key"))
    reports = [_report(row, names) for row in page[:size]]
    return reports, page[size - 1].pk if len(page) > size else None


def image_under_review(*, campaign: int, key: str) -> ImageUnderReview:
    """Return the full history of the image `key` of a campaign. Raises NoSuchImage."""
    row = open_image(campaign=campaign, key=key)
    moves: dict[str, list[Move]] = defaultdict(list)
    for move in Move.objects.filter(image=row).order_by("pk"):
        moves[move.chain].append(move)
    judgments = Judgment.objects.filter(image=row).select_related("worker", "report").order_by("pk")
    names = {judgment.name: judgment.key for judgment in judgments}
    return ImageUnderReview(
        open=row,
        captions=list(Caption.objects.filter(image=row.image_id).order_by("number")),
        mentions={mention.id: mention for mention in map(mention_from, row.mentions)},
        judgments=[
            ReviewedJudgment(item, mentions_in(item.key, names), getattr(item, "report", None))
            for item in judgments
        ],
        moves=dict(moves),
        rulings=[
            RulingDetail(ruling, asserts, named(asserts))
            for ruling in row.rulings.select_related("made_by", "withdrawn_by").order_by("pk")
            for asserts in [ruling_from(ruling.content)]
        ],
    )


def open_image(*, campaign: int, key: str) -> OpenImage:
    """Return the image `key` of a campaign, with its Image and its Campaign. Raises NoSuchImage."""
    # PostgreSQL rejects a null character.
    rows = OpenImage.objects.select_related("image", "campaign__corpus")
    row = None if "\0" in key else rows.filter(campaign=campaign, image__key=key).first()
    if row is None:
        raise NoSuchImage(f"image {key!r} is not open in this campaign")
    return row


def next_waiting(row: OpenImage) -> Image | None:
    """Return the image in review that follows `row` in the queue, else the first; None if it is the only
    one."""
    rows = OpenImage.objects.filter(campaign=row.campaign_id, in_review__gt=0).exclude(pk=row.pk)
    rows = rows.select_related("image").order_by("-changed_at", "-pk")
    waiting = rows.filter(_beyond(_key(row))).first() or rows.first()
    return waiting.image if waiting else None


def named(ruling: Asserted) -> frozenset[str]:
    """Return the mentions that a ruling names."""
    match ruling:
        case Partition(groups):
            return frozenset(name for group in groups for name in group)
        case KeepApart(a, b):
            return frozenset((a, b))
        case Phrases(removed, added):
            return frozenset((*removed, *(mention.id for mention in added)))
        case UnrelatedCaption():
            return frozenset()
        case Boxes(mentions) | Closure(mentions) | Resume(mentions):
            return frozenset(mentions)


def chain_title(chain: Mapping[str, Any], mentions: Mapping[str, Mention]) -> str:
    """Return the title of a stored chain: its longest mention."""
    return representative(mentions[name] for name in chain["m"]).text


def _in_review(campaign: int, after: str, size: int) -> Iterator[OpenImage]:
    """Yield open images with chains in review, from `after` on, read in pages."""
    rows = OpenImage.objects.filter(campaign=campaign, in_review__gt=0).select_related("image")
    rows = rows.order_by("-changed_at", "-pk")
    while True:
        page = list((rows.filter(_beyond(after)) if after else rows)[: size + 1])
        yield from page
        if len(page) <= size:
            return
        after = _key(page[-1])


def _key(row: OpenImage) -> str:
    return f"{(row.changed_at - _EPOCH) // timedelta(microseconds=1)}-{row.pk}"


def _beyond(key: str) -> Q:
    """Return the condition of images after that key; of all, if the key is empty or invalid."""
    moment, _, pk = key.partition("-")
    if not (_number(moment) and _number(pk)):
        return Q()
    at = _EPOCH + timedelta(microseconds=int(moment))
    return Q(changed_at__lt=at) | Q(changed_at=at, pk__lt=int(pk))


def _number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 18


def _waiting(row: OpenImage) -> Iterator[WaitingChain]:
    mentions = {mention.id: mention for mention in map(mention_from, row.mentions)}
    for number, chain in enumerate(row.state["chains"], 1):
        if chain["s"] == REVIEW:
            title = chain_title(chain, mentions)
            yield WaitingChain(number, tuple(chain["m"]), title, chain["r"], len(chain["b"]))


def _report(row: Flag, names: Mapping[str, str]) -> WorkerReport:
    judgment = row.judgment
    if judgment.image is not None:
        # A phrase that was removed since is still what the report is about.
        stored = [*(judgment.image.opened_mentions or ()), *judgment.image.mentions]
        mentions = {m.id: m for m in map(mention_from, stored)}
        about = tuple(name for name in mentions_in(judgment.key, names) if name in mentions)
        words = tuple(mentions[name].text for name in about)
        return WorkerReport(row, judgment.image.image, judgment.kind, words, is_control_item=False)
    assert judgment.assignment is not None and judgment.assignment.control is not None
    return WorkerReport(row, judgment.assignment.control.image, judgment.kind, (), is_control_item=True)
