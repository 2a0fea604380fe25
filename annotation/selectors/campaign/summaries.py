"""Campaigns as requests name them, and as lists have them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import Help, Listing, Named, OneOf, OperationContext, result_of
from annotation.common.roles import RESEARCHER, REVIEWER
from annotation.models import Campaign
from annotation.selectors.campaign.reasons import reason_in_words
from annotation.selectors.corpora import CAMPAIGNS, CORPORA


def _states() -> dict[str, None]:
    return dict.fromkeys(Campaign.STATES)


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignsRequest:
    """Campaigns, by name. How far each is, its own status says."""

    corpus: Annotated[Annotated[str, Named(CORPORA)] | None, Help(_("Corpus"))] = None
    state: Annotated[Annotated[str, OneOf(_states)] | None, Help(_("State"))] = None
    archived: Annotated[bool, Help(_("Archived"), _("Those that are archived, else those that are not"))] = (
        False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignSummary:
    """A campaign: a corpus, and the questions asked about it. `reason`: why it is paused or closed; lists
    leave it out where it is `archived`; simulated workers answer it where it is `simulated`."""

    name: str
    corpus: str
    tasks: str
    kinds: tuple[str, ...]
    state: str
    reason: str
    open_to_all: bool
    simulated: bool
    settings_version: int
    opened_at: datetime | None
    ended_at: datetime | None
    archived: bool
    created_at: datetime


def campaign_summary(row: Campaign) -> CampaignSummary:
    """What is stored of a campaign; its corpus is read already where there are many."""
    return result_of(
        CampaignSummary,
        row,
        corpus=row.corpus.name,
        kinds=tuple(row.kinds),
        reason=reason_in_words(row.reason),
        archived=row.archived_at is not None,
    )


def list_campaigns(request: CampaignsRequest, context: OperationContext) -> Listing:
    """The campaigns that the caller may see."""
    rows = CAMPAIGNS.rows(context.actor, REVIEWER, RESEARCHER)
    rows = rows.filter(archived_at__isnull=not request.archived)
    if request.corpus is not None:
        rows = rows.filter(corpus__name=request.corpus)
    if request.state is not None:
        rows = rows.filter(state=request.state)
    return Listing(rows, "name", campaign_summary)
