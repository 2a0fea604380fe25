"""Campaigns in requests and in lists."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from annotation.common.operations import Help, Listing, Named, OneOf, OperationContext, result_of
from annotation.common.roles import RESEARCHER, REVIEWER
from annotation.models import Campaign
from annotation.selectors.campaign.cost import money
from annotation.selectors.corpora import CAMPAIGNS, CORPORA

#: Reasons of the product's own: the stop rules by their names, and a pause without a reason.
BUDGET, UNTIL, IMAGES, PAUSED = "budget", "until", "images", "paused"
_MARK = "="


def coded_reason(word: str, *values: object) -> str:
    """Return the stored form of one of the product's own reasons."""
    return " ".join([_MARK + word, *map(str, values)])


def reason_in_words(reason: str) -> str:
    """Return a stored reason in the current language; a reason that somebody wrote is unchanged."""
    match reason.removeprefix(_MARK).split(maxsplit=2) if reason.startswith(_MARK) else []:
        case [word, micros, currency] if word == BUDGET and micros.isdecimal():
            return gettext("the budget of %(sum)s is spent or reserved") % {
                "sum": money(int(micros), currency)
            }
        case [word, day] if word == UNTIL:
            return gettext("its last day, %(day)s, has passed") % {"day": day}
        case [word, number] if word == IMAGES and number.isdecimal():
            return ngettext(
                "%(n)s image is complete, the number requested",
                "%(n)s images are complete, the number requested",
                int(number),
            ) % {"n": number}
        case [word] if word == PAUSED:
            return gettext("a researcher paused it")
    return reason


def _states() -> dict[str, None]:
    return dict.fromkeys(Campaign.STATES)


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignsRequest:
    """Campaigns by name. The progress of each is in its own status."""

    corpus: Annotated[Annotated[str, Named(CORPORA)] | None, Help(_("Corpus"))] = None
    state: Annotated[Annotated[str, OneOf(_states)] | None, Help(_("State"))] = None
    archived: Annotated[bool, Help(_("Archived"), _("Archived ones, instead of those in use"))] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignSummary:
    """A campaign: a corpus, and the questions about it.

    `reason`: why it is paused or closed; lists omit it if it is `archived`; simulated workers answer it if it
    is `simulated`.
    """

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
    """Return the stored fields of a campaign; its corpus is prefetched if there are many."""
    return result_of(
        CampaignSummary,
        row,
        corpus=row.corpus.name,
        kinds=tuple(row.kinds),
        reason=reason_in_words(row.reason),
        archived=row.archived_at is not None,
    )


def list_campaigns(request: CampaignsRequest, context: OperationContext) -> Listing:
    """Return the campaigns that the caller may see."""
    rows = CAMPAIGNS.rows(context.actor, REVIEWER, RESEARCHER)
    rows = rows.filter(archived_at__isnull=not request.archived)
    if request.corpus is not None:
        rows = rows.filter(corpus__name=request.corpus)
    if request.state is not None:
        rows = rows.filter(state=request.state)
    return Listing(rows, "name", campaign_summary)
