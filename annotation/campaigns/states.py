"""Changes of a campaign's state by staff, and its stop rules.

A draft is opened, an open campaign paused and resumed, and any of them closed for good. Paused and closed
campaigns lease nothing; answers to existing leases are still accepted and paid.

A stop rule pauses and never closes: nobody may be there to see it, and closing cannot be undone.

A campaign that simulated workers answer is marked so for good, and never mixed with people's work. Nobody
gets tasks of it except its staff, who may look at its questions; nobody is paid; and its exports say that it
is simulated.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.audit import record
from annotation.campaigns import planned_images
from annotation.campaigns.changing import change_some_settings
from annotation.common import database
from annotation.common.operations import Help, OperationContext
from annotation.models import Account, Assignment, Campaign, Identity, TrustState, Worker
from annotation.notifications.events import announce
from annotation.notifications.hooks import CAMPAIGN_FINISHED
from annotation.protocol.campaign_settings import CampaignError, settings_of
from annotation.protocol.setting_types import MoneyAmount, WholeNumber
from annotation.protocol.work import MICROS
from annotation.quality.controls.authoring import raise_revision
from annotation.selectors.campaign.cost import spent
from annotation.selectors.campaign.progress import complete_images
from annotation.selectors.campaign.summaries import (
    BUDGET,
    IMAGES,
    PAUSED,
    UNTIL,
    CampaignSummary,
    campaign_summary,
    coded_reason,
    reason_in_words,
)
from annotation.selectors.corpora import CampaignRequest

LONGEST_REASON = 200
_WORKERS_SEE = _("Workers see it")


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseCampaignRequest(CampaignRequest):
    """Workers get no new tasks; answers to leased tasks still count. For a paused campaign, the reason
    changes."""

    reason: Annotated[str, Field(max_length=LONGEST_REASON), Help(_("Reason"), _WORKERS_SEE)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeCampaignRequest(CampaignRequest):
    """Workers get tasks again. Rejected while a stop rule applies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseCampaignRequest(CampaignRequest):
    """It ends for good, and cannot be opened again. Its answers, annotations and pay stay."""

    reason: Annotated[str, Field(max_length=LONGEST_REASON), Help(_("Reason"), _WORKERS_SEE)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveCampaignRequest(CampaignRequest):
    """Lists omit archived campaigns, unless requested. An open campaign cannot be archived."""

    archived: Annotated[bool, Help(_("Archived"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenToAllRequest(CampaignRequest):
    """Whether every annotator of the server may work on it, or only those who were invited or have a role for
    it."""

    open_to_all: Annotated[bool, Help(_("Open to every annotator"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPlannedRequest(CampaignRequest):
    """Planned images are not opened; open ones stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRulesRequest(CampaignRequest):
    """When one is reached, the campaign is paused, never closed. A missing rule is removed."""

    budget: Annotated[
        MoneyAmount | None,
        Help(_("Budget"), _("In the campaign's currency; it is paused when that is spent")),
    ] = None
    until: Annotated[date | None, Help(_("Last day"), _("In UTC; it is paused after its end"))] = None
    images: Annotated[
        WholeNumber | None, Help(_("Images"), _("The campaign is paused when this many are complete"))
    ] = None
    base_version: Annotated[
        Annotated[int, Field(ge=0)] | None,
        Help(_("Version"), _("Of the settings that you read; nothing is changed if another is in force")),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedImages:
    """The number of planned images that are no longer opened."""

    images: int


@dataclass(frozen=True, slots=True)
class StopRule:
    """A stop rule that applies: "budget", "until" or "images", and the reason as a campaign stores it."""

    rule: str
    reason: str

    @property
    def text(self) -> str:
        """The reason, for staff and workers, in the reader's language."""
        return reason_in_words(self.reason)


def pause_campaign(
    *, campaign: Campaign, reason: str = "", actor: Account | None = None, rule: str = ""
) -> None:
    """Lease nothing until `resume_campaign`; workers see `reason`. If it is paused already, the reason
    changes.

    `rule` names the stop rule that caused it, if one did.
    """
    reason = reason or coded_reason(PAUSED)
    with database.writing():
        row = _locked(campaign)
        if row.state not in (Campaign.OPEN, Campaign.PAUSED):
            raise CampaignError(f"campaign {row.name!r} is {_is(row)}; only an open one can be paused")
        if (row.state, row.reason) != (Campaign.PAUSED, _short(reason)):
            about = {"rule": rule} if rule else {}
            _move(row, Campaign.PAUSED, "pause_campaign", actor, reason=_short(reason), **about)
    campaign.refresh_from_db()


def resume_campaign(*, campaign: Campaign, actor: Account | None = None) -> None:
    """Lease again. Raises CampaignError while a stop rule applies, which would pause it again."""
    with database.writing():
        row = _locked(campaign)
        if row.state not in (Campaign.OPEN, Campaign.PAUSED):
            raise CampaignError(f"campaign {row.name!r} is {_is(row)}; only a paused one can be resumed")
        if (held := reached_stop_rule(row)) is not None:
            raise CampaignError(f"campaign {row.name!r} cannot be resumed: {held.text}; set a new stop rule")
        if row.state == Campaign.PAUSED:
            _move(row, Campaign.OPEN, "resume_campaign", actor, reason="")
    campaign.refresh_from_db()


def close_campaign(*, campaign: Campaign, reason: str = "", actor: Account | None = None) -> None:
    """End the campaign for good; its answers, layer and pay stay."""
    with database.writing():
        row = _locked(campaign)
        if row.state != Campaign.CLOSED:
            row.ended_at = database.now()
            row.save(update_fields=["ended_at"])
            _move(row, Campaign.CLOSED, "close_campaign", actor, reason=_short(reason))
            announce(CAMPAIGN_FINISHED, campaign=row, data={"why": "closed", "reason": row.reason})
    campaign.refresh_from_db()


def set_stop_rules(
    *, campaign: Campaign, rules: Mapping[str, Any], seen: int | None = None, actor: Account | None = None
) -> None:
    """Change some of budget, until and images, as the next version of the settings.

    None removes a rule; missing rules stay. `seen`, and exceptions: as `change_campaign_settings`.
    """
    change_some_settings(
        campaign=campaign,
        changed=lambda settings: {**settings, "stop": {**settings.get("stop", {}), **rules}},
        seen=seen,
        actor=actor,
        act="set_stop_rules",
    )


def reached_stop_rule(campaign: Campaign) -> StopRule | None:
    """Return the first stop rule of the campaign that applies now, None if none does.

    The budget counts earnings and what the current leases will earn, so that it is exceeded at most by what
    is leased between two checks.
    """
    settings = settings_of(campaign.settings)
    stop, currency = settings.stop, settings.pay.currency
    if stop.budget is not None and spent(campaign, settings.pay) >= stop.budget * MICROS:
        return StopRule(BUDGET, coded_reason(BUDGET, round(stop.budget * MICROS), currency))
    if stop.until is not None and database.now().astimezone(UTC).date() > date.fromisoformat(stop.until):
        return StopRule(UNTIL, coded_reason(UNTIL, stop.until))
    if stop.images is not None and complete_images(campaign) >= stop.images:
        return StopRule(IMAGES, coded_reason(IMAGES, stop.images))
    return None


def archive_campaign(*, campaign: Campaign, archived: bool = True, actor: Account | None = None) -> bool:
    """Archive a campaign, or restore it; return False if that is its state already.

    Raises CampaignError for an open one: people would continue working on a campaign that no list shows.
    """
    with database.writing():
        row = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if archived and row.state == Campaign.OPEN:
            raise CampaignError(
                _("Campaign “%(name)s” is open: pause or close it before you archive it.")
                % {"name": row.name}
            )
        changed = (row.archived_at is not None) != archived
        if changed:
            row.archived_at = database.now() if archived else None
            row.save(update_fields=["archived_at"])
            record(
                actor=actor, act="archive_campaign" if archived else "unarchive_campaign", campaign=campaign
            )
    campaign.refresh_from_db()
    return changed


def set_open_to_all(*, campaign: Campaign, open_to_all: bool, actor: Account | None = None) -> bool:
    """Let every annotator of the server work on a campaign, or only those invited or assigned to it.

    Returns False if that is its state already. Leases of people who may no longer work on it expire.
    """
    with database.writing():
        changed = bool(
            Campaign.objects.filter(pk=campaign.pk)
            .exclude(open_to_all=open_to_all)
            .update(open_to_all=open_to_all)
        )
        if changed:
            record(actor=actor, act="open_to_all", campaign=campaign, open_to_all=open_to_all)
    campaign.open_to_all = open_to_all
    return changed


def mark_simulated(*, campaign: Campaign, actor: Account | None = None) -> None:
    """Mark a campaign before the first simulated answer; it stays marked.

    Raises CampaignError if people have answered or were paid: their work is not mixed with a simulation.
    """
    with database.writing():
        row = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if not row.simulated:
            if _has_people(row):
                raise CampaignError(
                    f"people have answered in campaign {row.name!r}, and simulated answers are never mixed "
                    f"with theirs: simulate a copy of it"
                )
            row.simulated = True
            row.save(update_fields=["simulated"])
            raise_revision(row)
            record(actor=actor, act="mark_simulated", campaign=row)
    campaign.simulated = True


def set_named_stop_rules(request: StopRulesRequest, context: OperationContext) -> CampaignSummary:
    """Replace all stop rules of a campaign."""
    row = request.row()
    until = request.until.isoformat() if request.until is not None else None
    rules = {"budget": request.budget, "until": until, "images": request.images}
    set_stop_rules(campaign=row, rules=rules, seen=request.base_version, actor=context.actor)
    return campaign_summary(row)


def drop_planned_images(request: DropPlannedRequest, context: OperationContext) -> SkippedImages:
    """Open no further images of a campaign."""
    return SkippedImages(images=planned_images.drop_plan(request.row(), actor=context.actor))


def _locked(campaign: Campaign) -> Campaign:
    return Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)


def _move(row: Campaign, state: str, act: str, actor: Account | None, *, reason: str, **about: Any) -> None:
    row.state, row.reason = state, reason
    if state == Campaign.OPEN:
        row.archived_at = None  # people work on it: lists show it
    row.save(update_fields=["state", "reason", "archived_at"])
    raise_revision(row)
    record(actor=actor, act=act, campaign=row, **({"reason": reason} if reason else {}), **about)


def _is(row: Campaign) -> str:
    return "a draft" if row.state == Campaign.DRAFT else row.state


def _short(reason: str) -> str:
    """Return a reason in the length of its column."""
    reason = " ".join(reason.split())
    return reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 1] + "…"


def _has_people(campaign: Campaign) -> bool:
    """Whether anybody answered who is neither simulated nor a model annotator, or was paid."""
    theirs = TrustState.objects.filter(campaign=campaign, worker__kind=Worker.PERSON).exclude(
        worker__identity__provider=Identity.SIMULATED
    )
    answered = Assignment.objects.filter(
        campaign=campaign, worker__in=theirs.values("worker"), state=Assignment.SUBMITTED
    )
    return answered.exists() or campaign.payouts.exists() or campaign.bonuses.exists()
