"""The page of a campaign's recruitment: invitation links, studies of crowd platforms."""

from collections import Counter
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.common.addresses import full_address
from annotation.common.operations import operation_named
from annotation.common.roles import RESEARCHER
from annotation.models import Campaign, Invitation, Study, Visit
from annotation.web.common.access import account_of, for_roles_on
from annotation.web.common.request_forms import RequestForm
from annotation.web.staff.campaign_pages import CAMPAIGN_OF_ADDRESS, act_form, campaign_frame
from annotation.workers import confirmation, invitations
from annotation.workers.platform_visits import PROLIFIC, PROVIDERS
from annotation.workers.requests.studies import study_address

#: Labels of the ways in which platforms identify visitors.
_WAYS = {
    Visit.LINK: gettext_lazy("signed links"),
    Visit.WEBHOOK: gettext_lazy("webhooks"),
    Visit.API: gettext_lazy("the API"),
}


@dataclass(frozen=True, slots=True)
class InvitationRow:
    """An invitation as a line of the page; `over` is why it admits nobody any more."""

    row: Invitation
    address: str
    language: str
    over: str


@dataclass(frozen=True, slots=True)
class StudyRow:
    """A study as a line of the page: its address, how its visitors are confirmed, and the numbers of those
    who came, completed it, were screened out, are confirmed, wait for that, are unverified, were rejected."""

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
    rejected: int


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def recruiting_page(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show how people come to this campaign."""
    languages = dict(settings.LANGUAGES)
    rows = campaign.invitations.select_related("campaign").order_by("-pk")
    studies = [_study(request, row) for row in campaign.studies.order_by("pk")]
    unverified = {study.row.provider: study.platform for study in studies if not study.ways}
    return render(
        request,
        "annotation/staff/entry.html",
        campaign_frame(
            request,
            campaign,
            "entry",
            invitations=[
                InvitationRow(
                    row,
                    full_address("invite", [invitations.invitation_token(row)]),
                    str(languages.get(row.language, row.language)),
                    invitations.why_over(row),
                )
                for row in rows
            ],
            studies=studies,
            unverified=list(unverified.values()),
            verifiable=PROLIFIC in unverified,
            waiting=any(study.waiting for study in studies),
            webhook=full_address("prolific_webhook"),
            signs=bool(settings.PROLIFIC_WEBHOOK_SECRET),
            form=RequestForm(operation_named("make_invitation"), account_of(request)),
            study=act_form(request, "save_study", ids="study-%s", platform=PROLIFIC),
        ),
    )


def _study(request: HttpRequest, row: Study) -> StudyRow:
    outcomes = Counter(row.visits.values_list("outcome", flat=True))
    verified = Counter(row.visits.values_list("verification", flat=True))
    return StudyRow(
        row,
        PROVIDERS[row.provider],
        study_address(row),
        sum(outcomes.values()),
        outcomes[Visit.COMPLETE],
        outcomes[Visit.SCREENED_OUT],
        [str(_WAYS[way]) for way in confirmation.ways_to_confirm(row.provider)],
        *(verified[state] for state in (Visit.CONFIRMED, Visit.WAITING, Visit.UNVERIFIED, Visit.REFUSED)),
    )
