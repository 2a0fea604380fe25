"""Pages for reviewers: the queue, one image with its full history, and the forms for rulings."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Campaign, Control
from annotation.moderation import control_items, rulings
from annotation.moderation.rulings import CannotRule
from annotation.protocol.kinds import ABOUT_CHAIN, kind_of
from annotation.queue import image_state
from annotation.selectors import review as selector
from annotation.web.common.access import BROWSING, account_of, for_roles_on
from annotation.web.common.filters import query_number
from annotation.web.corpus.browse import size_of
from annotation.web.staff.campaign_pages import CAMPAIGN_OF_ADDRESS, campaign_frame, query_string
from annotation.web.staff.review_forms import NEW, ruling_in
from annotation.web.staff.review_tables import build_review_page
from annotation.web.staff.wording import FLAGS_IN_WORDS, REASONS_IN_WORDS, item_in_words, question_in_words


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, *BROWSING)
def review_list(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """List the chains that wait for a reviewer, and workers' reports."""
    reason = request.GET.get("reason", "")
    reason = reason if reason in selector.REASONS else ""
    queue = selector.review_queue(campaign=campaign.pk, reason=reason, after=request.GET.get("after", ""))
    everything = request.GET.get("reports") == "all"
    reports, before = selector.worker_reports(
        campaign=campaign.pk, unresolved=not everything, before=query_number(request.GET, "before")
    )
    query: dict[str, Any] = {"reason": reason, "reports": "all" if everything else ""}
    return render(
        request,
        "annotation/staff/queue.html",
        campaign_frame(
            request,
            campaign,
            "review",
            queue=queue,
            waiting=selector.count_chains_in_review(campaign.pk),
            reason=reason,
            reasons=[(key, REASONS_IN_WORDS[key]) for key in selector.REASONS],
            words=REASONS_IN_WORDS,
            reports=[
                (report, question_in_words(report.kind), FLAGS_IN_WORDS.get(report.flag.judgment.flag, ""))
                for report in reports
            ],
            everything=everything,
            asks_about_phrases=any(kind_of(kind).about == ABOUT_CHAIN for kind in campaign.kinds),
            later=query_string(**query, after=queue.after) if queue.after else "",
            earlier_reports=query_string(**query, before=before) if before else "",
            first="" if not request.GET.get("after") else query_string(**query) or "?",
        ),
    )


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, *BROWSING)
def review_image(request: HttpRequest, campaign: Campaign, key: str) -> HttpResponse:
    """Show an image of a campaign: chains, judgments, steps, rulings, and the forms to rule."""
    return _image(request, campaign, key)


@require_POST
@for_roles_on(CAMPAIGN_OF_ADDRESS, *BROWSING)
def ruling_make(request: HttpRequest, campaign: Campaign, key: str) -> HttpResponse:
    """Make the ruling of a form; if it is rejected, show the reason and the input."""
    row = _open(campaign, key)
    try:
        ruling, seen = ruling_in(request.POST)
        done = rulings.make_ruling(
            image=row.pk,
            ruling=ruling,
            seen=seen,
            comment=request.POST.get("comment", "").strip(),
            actor=account_of(request),
        )
    except CannotRule as error:
        return _image(request, campaign, key, problem=str(error))
    waiting = sum(chain.stage == "REVIEW" for chain in done.state.chains)
    messages.success(
        request,
        _("Ruling saved. Another chain of this image needs a ruling.")
        if waiting
        else _("Ruling saved. Nothing in this image needs review now."),
    )
    _warn_of_retired(request, done.retired)
    return redirect(reverse("review_image", args=[campaign.name, key]))


def _warn_of_retired(request: HttpRequest, items: Sequence[Control]) -> None:
    """Show a message naming the control items that a ruling retired."""
    if items:
        message = ngettext(
            "%(n)d control item contradicts the ruling and was retired: %(items)s.",
            "%(n)d control items contradict the ruling and were retired: %(items)s.",
            len(items),
        )
        names = "; ".join(map(item_in_words, control_items.names_of_items(items)))
        messages.warning(request, message % {"n": len(items), "items": names})


def _image(request: HttpRequest, campaign: Campaign, key: str, *, problem: str = "") -> HttpResponse:
    """Render the page of an image; with status 409 and the input if a ruling was rejected."""
    try:
        review = selector.image_under_review(campaign=campaign.pk, key=key)
    except selector.NoSuchImage:
        raise _missing(campaign, key) from None
    state = image_state.state_of(review.open)
    form_data = request.POST if problem else {}
    image = review.open.image
    seen = build_review_page(
        review,
        superseded=frozenset(state.superseded),
        size=size_of(image),
        lit=query_number(request.GET, "chain"),
    )
    if problem:
        for chain in seen.chains:
            chain.lit = chain.ids == form_data.get("chain")
    chosen = next((chain for chain in seen.chains if chain.lit), None)
    return render(
        request,
        "annotation/staff/image.html",
        campaign_frame(
            request,
            campaign,
            "review",
            image=image,
            open=review.open,
            seen=seen,
            chosen=chosen,
            draws=bool(request.GET.get("draw") == "1" and chosen and chosen.linked and seen.frame),
            new=NEW,
            following=selector.next_waiting(review.open),
            reports=[
                judgment
                for judgment in review.judgments
                if judgment.flag and judgment.flag.resolved_at is None
            ],
            flags=FLAGS_IN_WORDS,
            error=problem,
            form_data=form_data,
        ),
        status=409 if problem else 200,
    )


def _open(campaign: Campaign, key: str) -> Any:
    try:
        return selector.open_image(campaign=campaign.pk, key=key)
    except selector.NoSuchImage:
        raise _missing(campaign, key) from None


def _missing(campaign: Campaign, key: str) -> Http404:
    return Http404(
        _("Campaign “%(campaign)s” has no open image “%(key)s”.") % {"campaign": campaign.name, "key": key}
    )
