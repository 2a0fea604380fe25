"""The page that creates one control item: an image, a question about some of its mentions, the answer."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.campaigns import gold_layer
from annotation.common.roles import RESEARCHER
from annotation.models import Campaign, Control, Image, OpenImage
from annotation.moderation.rulings import CannotRule
from annotation.protocol import questions as q
from annotation.protocol.contents import mention_from
from annotation.protocol.kinds import MEASURED_ON_CONTROLS, draws, kind_of
from annotation.protocol.mentions import mentions_of
from annotation.protocol.terms import Box, Mention
from annotation.quality import controls
from annotation.quality.controls import BadItems, ControlItem
from annotation.selectors.browse import captions_by_number
from annotation.selectors.records import image_record, layer_of, marked_spans
from annotation.web.common.access import account_of, for_roles_on
from annotation.web.common.overlay import Frame
from annotation.web.corpus.browse import size_of
from annotation.web.staff.campaign_pages import CAMPAIGN_OF_ADDRESS, campaign_frame, query_string
from annotation.web.staff.review_forms import boxes_in
from annotation.web.staff.review_tables import ReviewPage, marked_captions
from annotation.web.staff.wording import PURPOSES, answer_in_words, kinds_in_words, question_in_words


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def control_item_new(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Choose an image and a kind of question; then its mentions and the answer. POST adds the item."""
    data = request.POST if request.method == "POST" else request.GET
    kind = data.get("kind", "")
    if campaign.kinds != q.QUESTIONS:
        raise Http404(_("Control items of this campaign cannot be added by hand."))
    kind = kind if kind in campaign.kinds else ""
    key = data.get("image", "").replace("\0", "").strip()
    image = Image.objects.filter(corpus=campaign.corpus, key=key).first() if key else None
    problem, status = "", 200
    if key and image is None:
        problem = _("Corpus “%(corpus)s” has no image “%(key)s”.") % {
            "corpus": campaign.corpus.name,
            "key": key[:100],
        }
        status = 404
    if request.method == "POST" and image is not None:
        try:
            _add(campaign, image, kind, request)
            messages.success(request, _("Control item added. Add another about this image, or go back."))
            return redirect(
                reverse("new_control_item", args=[campaign.name]) + query_string(image=key, kind=kind)
            )
        except (BadItems, CannotRule) as error:
            problem = error.problems[0][1] if isinstance(error, BadItems) else str(error)
            status = 409
    mentions = _mentions(campaign, image) if image else ()
    question_kind = kind_of(kind) if kind else None
    seen = _seen(image, mentions) if image else None
    return render(
        request,
        "annotation/staff/control_item.html",
        campaign_frame(
            request,
            campaign,
            "known",
            image=image,
            seen=seen,
            edits=bool(seen and seen.frame and question_kind and question_kind.shows_boxes),
            mentions=list(enumerate(mentions, 1)),
            chosen=data.getlist("mention"),
            key=key,
            kind=kind,
            kinds=kinds_in_words(campaign),
            question=question_in_words(kind) if question_kind else "",
            purposes=[
                purpose
                for purpose in PURPOSES.items()
                if purpose[0] != Control.CONTROL
                or (question_kind and question_kind.measured_on == MEASURED_ON_CONTROLS)
            ],
            answers=[(a, answer_in_words(kind, a)) for a in question_kind.answers]
            if question_kind and not question_kind.draws
            else [],
            with_boxes=bool(question_kind and question_kind.shows_boxes),
            with_pending=bool(question_kind and question_kind.judges),
            draws=draws(kind),
            form_data=data,
            error=problem,
        ),
        status=status,
    )


def _add(campaign: Campaign, image: Image, kind: str, request: HttpRequest) -> None:
    """Add the item of the form. Raises BadItems, and CannotRule for an invalid box and a missing kind."""
    if not kind:
        raise CannotRule(_("Choose a kind of question."))
    data = request.POST
    known: str | tuple[Box, ...] = data.get("known", "")
    if draws(kind):
        known = _boxes(data.get("left", ""))
    pending = _boxes(data.get("pending", "")) if kind_of(kind).judges else ()
    item = ControlItem(
        kind=kind,
        purpose=data.get("purpose", ""),
        image=image.key,
        mentions=tuple(data.getlist("mention")),
        known=known,
        boxes=_boxes(data.get("accepted", "")) if kind_of(kind).shows_boxes else (),
        pending=pending[0] if pending else None,
        explanation=data.get("explanation", "").replace("\0", "").strip(),
    )
    controls.add_control_items(campaign=campaign, items=[(1, item)], source="page", actor=account_of(request))


def _boxes(text: str) -> tuple[Box, ...]:
    return boxes_in(text) if text.strip() else ()


def _mentions(campaign: Campaign, image: Image) -> tuple[Mention, ...]:
    """Return the mentions of the campaign's questions about the image, opened or not."""
    row = OpenImage.objects.filter(campaign=campaign, image=image).first()
    if row is not None:
        return tuple(mention_from(mention) for mention in row.mentions)
    layer = gold_layer(campaign.corpus)
    record = layer_of(image, layer) if layer else None
    known = record if record and record.chains else None
    marked = marked_spans([image.pk]).get(image.pk)
    return mentions_of(image_record(image, captions_by_number(image), known, marked))


def _seen(image: Image, mentions: tuple[Mention, ...]) -> ReviewPage:
    """Return the picture and its captions, with a number for every mention."""
    numbers = {mention.id: number for number, mention in enumerate(mentions, 1)}
    size = (image.width, image.height) if image.width and image.height else size_of(image)
    return ReviewPage(
        captions=marked_captions(captions_by_number(image), mentions, numbers),
        boxes=[],
        frame=Frame(*size) if size else None,
        lit=0,
        chains=[],
        merges=[],
        rulings=[],
    )
