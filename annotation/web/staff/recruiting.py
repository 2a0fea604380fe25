"""The page of who comes to a campaign, and how: links that invite, studies of crowd platforms."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, time
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from annotation.common.roles import RESEARCHER
from annotation.models import Campaign, Invitation, Study, Visit
from annotation.web.common.access import account_of, for_roles_on
from annotation.web.staff.frame import CAMPAIGN_OF_ADDRESS, campaign_frame, said
from annotation.workers import confirmation, invitations, platform_visits
from annotation.workers.invitations import InvitationError
from annotation.workers.platform_visits import PROLIFIC, PROVIDERS, VisitError

#: How platforms say who comes, in words.
_WAYS = {
    Visit.LINK: gettext_lazy("signed links"),
    Visit.WEBHOOK: gettext_lazy("webhooks"),
    Visit.API: gettext_lazy("the API"),
}
#: What Prolific is to fill in.
PARAMETERS = "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"


@dataclass(frozen=True, slots=True)
class ShownInvitation:
    """An invitation as a line of the page; `over` says why it lets nobody in any more."""

    row: Invitation
    address: str
    language: str
    over: str


@dataclass(frozen=True, slots=True)
class ShownStudy:
    """A study as a line of the page: where it leads, how its visitors are confirmed, and how many came,
    completed it, were screened out, are confirmed, wait for that, are unverified, were refused."""

    row: Study
    platform: str
    address: str
    came: int
    complete: int
    screened_out: int
    ways: list[str]
    confirmed: int
    waiting: int
    unverified: int
    refused: int


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def recruiting_page(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """How people come to this campaign."""
    return _page(request, campaign)


def _page(
    request: HttpRequest, campaign: Campaign, *, link: QueryDict | None = None, study: QueryDict | None = None
) -> HttpResponse:
    """The page of recruiting; where its form for a link or a study was refused, with what was typed, as
    status 409."""
    refused = link is not None or study is not None
    languages = dict(settings.LANGUAGES)
    rows = campaign.invitations.select_related("campaign").order_by("-pk")
    studies = [_study(request, row) for row in campaign.studies.order_by("pk")]
    unverified = {one.row.provider: one.platform for one in studies if not one.ways}
    return render(
        request,
        "annotation/staff/entry.html",
        campaign_frame(
            request,
            campaign,
            "entry",
            invitations=[
                ShownInvitation(
                    row,
                    request.build_absolute_uri(reverse("invite", args=[invitations.invitation_token(row)])),
                    str(languages.get(row.language, row.language)),
                    invitations.why_over(row),
                )
                for row in rows
            ],
            languages=settings.LANGUAGES,
            studies=studies,
            unverified=list(unverified.values()),
            verifiable=PROLIFIC in unverified,
            waiting=any(one.waiting for one in studies),
            platforms=PROVIDERS.items(),
            webhook=request.build_absolute_uri(reverse("prolific_webhook")),
            signs=bool(settings.PROLIFIC_WEBHOOK_SECRET),
            link=link or {},
            study=study or {},
        ),
        status=409 if refused else 200,
    )


@require_POST
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def invitation_make(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Make a link. Where that is refused, the page is shown again with what was typed."""
    sent = request.POST
    try:
        invitations.make_invitation(
            campaign=campaign,
            label=_plain(sent.get("label", "")),
            uses=_uses(sent.get("uses", "")),
            expires_at=_end_of(sent.get("until", "")),
            language=sent.get("language", ""),
            actor=account_of(request),
        )
    except InvitationError as error:
        messages.error(request, str(error))
        return _page(request, campaign, link=sent)
    messages.success(
        request, _("Link created. Copy it from the list and send it to the people whom you invite.")
    )
    return redirect("entry", campaign.name)


@require_POST
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def invitation_revoke(request: HttpRequest, campaign: Campaign, invitation: int) -> HttpResponse:
    """Take a link back."""
    found = _of(campaign, invitation)
    with said(request) as tell:
        revoked = invitations.revoke_invitation(invitation=found, actor=account_of(request))
        tell(_("Link revoked.") if revoked else _("This link is already revoked."))
    return redirect("entry", campaign.name)


@require_POST
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def study_edit(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Tell of a study on a platform, or change one. Where that is refused, the page is shown again with what
    was typed."""
    sent = request.POST
    try:
        platform_visits.save_study(
            campaign=campaign,
            provider=sent.get("provider", ""),
            external_id=_plain(sent.get("study", "")),
            wanted=_uses(sent.get("wanted", "")) or 0,
            completion_code=_plain(sent.get("completion", "")),
            screen_out_code=_plain(sent.get("screen_out", "")),
            actor=account_of(request),
        )
    except (InvitationError, VisitError) as error:
        messages.error(request, str(error))
        return _page(request, campaign, study=sent)
    messages.success(request, _("Study saved. Give its address to the platform."))
    return redirect("entry", campaign.name)


def study_address(request: HttpRequest, row: Study) -> str:
    """The address that a study's platform is to open."""
    address = request.build_absolute_uri(reverse(row.provider, args=[row.campaign.name]))
    return address + PARAMETERS if row.provider == PROLIFIC else address


def _study(request: HttpRequest, row: Study) -> ShownStudy:
    outcomes = Counter(row.visits.values_list("outcome", flat=True))
    verified = Counter(row.visits.values_list("verification", flat=True))
    return ShownStudy(
        row,
        PROVIDERS[row.provider],
        study_address(request, row),
        sum(outcomes.values()),
        outcomes[Visit.COMPLETE],
        outcomes[Visit.SCREENED_OUT],
        [str(_WAYS[way]) for way in confirmation.ways_to_confirm(row.provider)],
        *(verified[each] for each in (Visit.CONFIRMED, Visit.WAITING, Visit.UNVERIFIED, Visit.REFUSED)),
    )


def _plain(text: str) -> str:
    return text.replace("\0", "").strip()


def _of(campaign: Campaign, invitation: int) -> Invitation:
    found = campaign.invitations.filter(pk=invitation).first()
    if found is None:
        raise Http404(_("This campaign has no such invitation."))
    return found


def _uses(text: str) -> int | None:
    text = text.strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InvitationError(_("“%(text)s” is not a number of people.") % {"text": text[:40]})
    return int(text)


def _end_of(text: str) -> datetime | None:
    """The end of a day, in the server's time zone; None where none is given."""
    if not text.strip():
        return None
    try:
        day = parse_date(text.strip())
    except ValueError:
        day = None
    if day is None:
        raise InvitationError(
            _("“%(text)s” is not a day; expected one like 2026-12-31.") % {"text": text[:40]}
        )
    return datetime.combine(day, time.max, ZoneInfo(settings.TIME_ZONE))
