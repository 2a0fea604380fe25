"""A task on its page: captions with their phrases marked, the picture with its boxes."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from annotation.instructions import CampaignText
from annotation.models import Campaign
from annotation.protocol.campaign_settings import CampaignSettings
from annotation.protocol.terms import SMALLEST_SIDE
from annotation.protocol.work import PaySettings
from annotation.quality.qualification import QualificationTest
from annotation.queue.available_tasks import Today
from annotation.queue.leases import Lease
from annotation.selectors.campaign.cost import money
from annotation.task_types.base import Choice, Page, TaskType
from annotation.task_types.box_drawing.type import EDGES
from annotation.task_types.displayed import DisplayedImage
from annotation.web.annotator.work_context import WorkContext
from annotation.web.common.marking import CaptionPiece, caption_pieces
from annotation.web.common.overlay import DrawnBox, Frame, boxes_of

#: Minimum number of characters of a caption to be clipped, number that remain on either side of a phrase, and
#: minimum number to hide.
LONG_CAPTION, CONTEXT, WORTH_HIDING = 220, 80, 40
#: Number of heartbeats during a lease, and maximum seconds between two of them.
BEATS, LONGEST_BEAT = 4, 300


@dataclass(frozen=True, slots=True)
class TaskPage:
    """Context of a task page's template.

    `owner` is the worker, under whose id a browser stores unsent answers. `phrases` are the marked ones, in
    the order of their numbers; `choices` come with their keys. `ahead` are the items of a test that this
    worker's page has leased before this one. `earned` is the pay of today's answers, "" without pay. `token`
    is the idempotency key of this page's answer; `idle`, `beat` and `hold` (the duration of the lease) are in
    seconds. `entered` and `wrong` are a rejected form and its error; `field` the invalid field. `left` is the
    remaining work, "" if it is not shown.
    """

    owner: int
    campaign: Campaign
    type: TaskType
    lease: Lease
    page: Page
    image: DisplayedImage
    captions: list[list[CaptionPiece]]
    phrases: list[CaptionPiece]
    frame: Frame | None
    boxes: list[DrawnBox]
    choices: list[tuple[str, Choice]]
    text: CampaignText
    test: QualificationTest | None
    ahead: int
    today: Today
    earned: str
    pay: PaySettings
    token: str
    idle: int
    beat: int
    hold: int
    entered: Mapping[str, str]
    error: str = ""
    field: str = ""
    left: str = ""

    @property
    def minutes(self) -> int:
        """Whole minutes of work today."""
        return int(self.today.seconds // 60)

    @property
    def edges(self) -> list[tuple[str, str, int | None]]:
        """For a box to be drawn: each edge's name, its entered value, and its maximum."""
        most = {"xmin": self.image.width, "xmax": self.image.width}
        return [
            (name, self.entered.get(name, ""), most.get(name, self.image.height) or None) for name in EDGES
        ]

    @property
    def smallest(self) -> int:
        """Minimum side of a box in pixels."""
        return SMALLEST_SIDE

    @property
    def number(self) -> int:
        """The number of this question in a test; 0 outside a test."""
        return self.test.answered + self.ahead + 1 if self.test else 0

    @property
    def earns(self) -> tuple[int, int]:
        """Millionths of the currency: for an answer, and for an hour of work."""
        per_answer = self.pay.amount(self.type.key, 0)
        return per_answer, self.pay.amount(self.type.key, 3600) - per_answer


@dataclass(frozen=True, slots=True)
class WorkSoFar:
    """A worker's work today, and in the current test. Fields as in TaskPage."""

    today: Today = Today()
    test: QualificationTest | None = None
    ahead: int = 0


@dataclass(frozen=True, slots=True)
class InvalidForm:
    """The fields of a rejected form; empty if there was none. Fields as in TaskPage."""

    entered: Mapping[str, str]
    error: str = ""
    field: str = ""


def build_task_page(
    work: WorkContext,
    *,
    lease: Lease,
    image: DisplayedImage,
    text: CampaignText,
    settings: CampaignSettings,
    done: WorkSoFar,
    form: InvalidForm,
    left: str = "",
) -> TaskPage:
    """Lay out a lease's question over its image; `settings` are those of the lease."""
    page = work.type.page(lease.content, image)
    captions = [
        clipped(
            caption_pieces(
                image.captions[number],
                [mention for mention in page.pointed if mention.mention.caption == number],
            )
        )
        for number in page.captions
    ]
    phrases = sorted((bit for caption in captions for bit in caption if bit.number), key=lambda b: b.number)
    frame = Frame(image.width, image.height) if image.width and image.height else None
    pay, seconds = settings.pay, settings.lease.minutes * 60
    return TaskPage(
        owner=work.worker.pk,
        campaign=work.campaign,
        type=work.type,
        lease=lease,
        page=page,
        image=image,
        captions=captions,
        phrases=phrases,
        frame=frame,
        boxes=boxes_of(page, frame) if frame else [],
        choices=choices_with_keys(page.choices),
        text=text,
        test=done.test,
        ahead=done.ahead,
        today=done.today,
        earned=money(done.today.pay, pay.currency) if done.today.pay else "",
        pay=pay,
        token=secrets.token_urlsafe(16),
        idle=round(pay.idle_after),
        beat=max(1, min(LONGEST_BEAT, round(seconds / BEATS))),
        hold=max(1, round(seconds)),
        entered=form.entered,
        error=form.error,
        field=form.field,
        left=left,
    )


def choices_with_keys(choices: Sequence[Choice]) -> list[tuple[str, Choice]]:
    """Return each choice with its key: its number, or the digit that the answer itself is."""
    return [
        (choice.value if choice.value.isdigit() else str(number), choice)
        for number, choice in enumerate(choices, 1)
    ]


def clipped(pieces: Sequence[CaptionPiece]) -> list[CaptionPiece]:
    """Return a long caption with the parts far from its phrases hidden, at word boundaries; others
    unchanged."""
    if sum(len(piece.text) for piece in pieces) <= LONG_CAPTION:
        return list(pieces)
    marked = [index for index, piece in enumerate(pieces) if piece.number]
    clipped_pieces: list[CaptionPiece] = []
    for index, piece in enumerate(pieces):
        behind = CONTEXT if marked and marked[0] < index else 0
        before = CONTEXT if marked and index < marked[-1] else 0
        if piece.number or len(piece.text) < behind + before + WORTH_HIDING:
            clipped_pieces.append(piece)
            continue
        text = piece.text
        start = max(text.rfind(" ", 0, behind + 1), 0)
        end = text.find(" ", len(text) - before) if before else len(text)
        end = end if end >= 0 else len(text)
        parts = (piece._replace(text=text[:start]), CaptionPiece(text[start:end], cut=True))
        clipped_pieces += [part for part in (*parts, CaptionPiece(text[end:])) if part.text]
    return clipped_pieces


#: The parts of a kind's own template, and their separator in `_parts.html`.
_PARTS, _BETWEEN = "annotation/tasks/_parts.html", "<!-- next part -->"


@dataclass(frozen=True, slots=True)
class TaskParts:
    """The parts of a kind's own template: scripts and styles, picture, question, fields, buttons."""

    modules: SafeString
    picture: SafeString
    question: SafeString
    editor: SafeString
    choices: SafeString


def parts_of_task(request: HttpRequest, task_page: TaskPage) -> TaskParts:
    """Render the parts of the kind's template, which its author wrote for a task's frame."""
    whole = render_to_string(task_page.type.template, {"task": task_page, "around": _PARTS}, request)
    # The template escapes all foreign text.
    return TaskParts(*(mark_safe(part.strip()) for part in whole.split(_BETWEEN)))
