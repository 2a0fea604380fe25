"""The page of a campaign's answers: filtered by the address, each with what was shown, to be reviewed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from annotation.common.operations import Invalid, operation_named
from annotation.common.roles import RESEARCHER
from annotation.models import Account, Campaign, Judgment
from annotation.protocol.caption_flags import FlagReason
from annotation.protocol.kinds import ABOUT_CHAIN, ABOUT_PAGE, kind_of
from annotation.protocol.questions import QUESTIONS
from annotation.protocol.terms import Box
from annotation.selectors.answer_list import AnswerPage, AnswerWithImage, answer_page, with_images
from annotation.selectors.caption_flags import FLAG_LABELS, caption_kinds, flag_text
from annotation.task_types.base import TASK_TYPES, Page
from annotation.task_types.displayed import DisplayedImage, displayed_images
from annotation.web.common.access import BROWSING, account_of, for_roles_on
from annotation.web.common.filters import query_number
from annotation.web.common.marking import CaptionPiece, caption_pieces
from annotation.web.common.overlay import DrawnBox, Frame, boxes_of
from annotation.web.common.request_forms import RequestForm
from annotation.web.staff.campaign_pages import (
    CAMPAIGN_OF_ADDRESS,
    act_form,
    campaign_frame,
    is_paid,
    query_string,
)
from annotation.web.staff.wording import FLAGS_IN_WORDS, REJECTION_RULES, answer_in_words, question_in_words
from annotation.workers.approvals import platforms_of

#: The filters of the address.
_FILTERS = ("worker", "image", "kind", "role", "state", "flagged", "since", "until")


class WrittenText(NamedTuple):
    """A text of an answer or beside it; `ticked`: whether a page's worker ticked it."""

    text: str
    ticked: bool = False


@dataclass(frozen=True, slots=True)
class AnswerView:
    """An answer on the page: what was shown, and the answer in words and texts."""

    row: Judgment
    image: DisplayedImage | None
    captions: list[list[CaptionPiece]]
    frame: Frame | None
    boxes: list[DrawnBox]
    question: str
    answer: str
    texts: list[WrittenText]
    page: bool
    corrects: bool
    control: str
    #: The flags of a caption: label, and value against threshold.
    flags: tuple[tuple[str, str], ...]
    #: The address of the form that makes a control item of it, "" if there is none.
    promote: str = ""

    @property
    def reviewable(self) -> bool:
        """Whether a reviewer may decide about it."""
        return self.row.image_id is not None


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, *BROWSING)
def campaign_answers(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """List the answers of a campaign that match the address, the newest first."""
    account = account_of(request)
    data = request.GET.copy()
    data["campaign"] = campaign.name
    form = RequestForm(operation_named("list_answers"), account, data, only_fields=("campaign", *_FILTERS))
    form.fields["kind"].widget.choices = [
        choice for choice in form.fields["kind"].widget.choices if choice[0] in ("", *campaign.kinds)
    ]
    page = AnswerPage([], None)
    if form.is_valid():
        try:
            page = answer_page(form.request, campaign, after=query_number(request.GET, "after"))
        except Invalid as error:
            form.refuse(error)
    query = {name: request.GET.get(name, "") for name in _FILTERS}
    return render(
        request,
        "annotation/staff/answers.html",
        campaign_frame(
            request,
            campaign,
            "answers",
            filters=form,
            filtered=any(query.values()),
            writes=bool(caption_kinds(campaign)),
            more_filters=any(query[name] for name in ("image", "since", "until")),
            answers=_views(page.rows, campaign, promotes=_promotes(campaign, account)),
            review=act_form(request, "review_answers"),
            withholds=_withholds(campaign, account),
            rejection_rules=[REJECTION_RULES[name] for name in platforms_of(campaign)],
            later=query_string(**query, after=page.after) if page.after else "",
            first=(query_string(**query) or "?") if "after" in request.GET else "",
        ),
        status=400 if form.errors else 200,
    )


def _withholds(campaign: Campaign, account: Account) -> bool:
    """Whether the account may withhold the pay of rejected answers."""
    return is_paid(campaign) and account.has_role(RESEARCHER, on=campaign.scope)


def _promotes(campaign: Campaign, account: Account) -> bool:
    """Whether the account may make control items of answers by hand."""
    return campaign.kinds == QUESTIONS and account.has_role(RESEARCHER, on=campaign.scope)


def _views(rows: list[Judgment], campaign: Campaign, *, promotes: bool) -> list[AnswerView]:
    answers = with_images(rows)
    beside = displayed_images({image for answer in answers for image, _number in _captions_of(answer)})
    views = [_view(answer, beside) for answer in answers]
    if not promotes:
        return views
    return [
        replace(view, promote=_promote_address(campaign, answer))
        for view, answer in zip(views, answers, strict=True)
    ]


def _promote_address(campaign: Campaign, answer: AnswerWithImage) -> str:
    """Return the address of the filled-in form of a control item with this answer; "" for reports, and for
    answers to control items."""
    row, content = answer.row, answer.content
    if row.flag or row.image_id is None or answer.image is None or not content:
        return ""
    box = ", ".join(map(str, (row.xmin, row.ymin, row.xmax, row.ymax))) if row.xmin is not None else ""
    fields = {
        "image": answer.image.key,
        "kind": row.kind,
        "mention": content["mentions"],
        "known": "" if box else row.answer,
        "left": box,
        "accepted": "\n".join(", ".join(map(str, corners)) for corners in content["boxes"]),
        "pending": ", ".join(map(str, content["pending"] or ())),
    }
    address = reverse("new_control_item", args=[campaign.name])
    return f"{address}?{urlencode({name: value for name, value in fields.items() if value}, doseq=True)}"


def _captions_of(answer: AnswerWithImage) -> list[tuple[int, int]]:
    """Return the captions, of any image, that an answer about pairs was about."""
    if kind_of(answer.row.kind).about == ABOUT_PAGE:
        return [tuple(pair["caption"]) for pair in _details(answer.row)["pairs"]]
    return [tuple(answer.content["caption"])] if "caption" in answer.content else []


def _details(row: Judgment) -> Mapping[str, Any]:
    return kind_of(row.kind).details(row.key, row.content or {})


def _view(answer: AnswerWithImage, beside: Mapping[int, DisplayedImage]) -> AnswerView:
    row, image = answer.row, answer.image
    page = _shown(answer)
    if page is not None and row.xmin is not None and row.ymin and row.xmax and row.ymax:
        page = Page(page.captions, page.pointed, page.boxes, Box(row.xmin, row.ymin, row.xmax, row.ymax))
    frame = Frame(image.width, image.height) if image is not None and image.width and image.height else None
    captions = []
    if page is not None and image is not None:
        captions = [
            caption_pieces(
                image.captions[number],
                [mention for mention in page.pointed if mention.mention.caption == number],
            )
            for number in page.captions
        ]
    control = row.assignment.control if row.assignment is not None else None
    return AnswerView(
        row=row,
        image=image,
        captions=captions,
        frame=frame,
        boxes=boxes_of(page, frame) if page is not None and frame is not None else [],
        question=str(question_in_words(row.kind)),
        answer=str(
            FLAGS_IN_WORDS.get(row.flag, row.flag) if row.flag else answer_in_words(row.kind, row.answer)
        ),
        texts=_texts(answer, beside),
        page=kind_of(row.kind).about == ABOUT_PAGE,
        corrects=not row.flag and row.image_id is not None and kind_of(row.kind).writes_captions,
        control=control.image.key if control is not None else "",
        flags=tuple(
            (str(FLAG_LABELS[FlagReason(flag.reason)]), flag_text(flag)) for flag in row.caption_flags.all()
        ),
    )


def _shown(answer: AnswerWithImage) -> Page | None:
    """Return what the question showed; None if that is not known, or is more than one image."""
    if answer.image is None or kind_of(answer.row.kind).about != ABOUT_CHAIN or not answer.content:
        return None
    return TASK_TYPES.get(answer.row.kind).page(answer.content, answer.image)


def _texts(answer: AnswerWithImage, beside: Mapping[int, DisplayedImage]) -> list[WrittenText]:
    """Return the worker's own texts, and the captions of pairs."""
    content = answer.row.content or {}
    if kind_of(answer.row.kind).about == ABOUT_PAGE:
        return [
            WrittenText(beside[image].captions[number].text, pair["yes"])
            for pair in _details(answer.row)["pairs"]
            for image, number in [pair["caption"]]
        ]
    captions = [beside[image].captions[number].text for image, number in _captions_of(answer)]
    written = [part["text"] for part in (content, *content.get("regions", ())) if part.get("text")]
    return [WrittenText(text) for text in (*captions, *written)]
