"""What staff do to a campaign as a whole, and the rules by which it stops itself.

A draft is opened, an open campaign paused and resumed, and any of them closed for good. Paused
and closed campaigns hand out nothing; what is in hand is still taken and paid.

A stop rule pauses and never closes: nobody may be there to see it, and closing cannot be undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date
from typing import Any

from annotation.audit import record
from annotation.campaigns.changing import change_some_settings
from annotation.common import database
from annotation.common.by_command import by_command
from annotation.models import Account, Campaign
from annotation.notifications.events import announce
from annotation.notifications.hooks import CAMPAIGN_FINISHED
from annotation.protocol.campaign_settings import CampaignError, settings_of
from annotation.protocol.work import MICROS
from annotation.quality.controls.authoring import raise_revision
from annotation.selectors.campaign import complete_images, spent
from annotation.selectors.campaign.reasons import BUDGET, IMAGES, UNTIL, coded_reason, reason_in_words

LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class StopRule:
    """A stop rule that holds: "budget", "until" or "images", and why, as a campaign keeps it."""

    rule: str
    reason: str

    @property
    def text(self) -> str:
        """Why, for staff and workers, in the reader's language."""
        return reason_in_words(self.reason)


def pause_campaign(*, campaign: Campaign, reason: str, actor: Account | None = None, rule: str = "") -> None:
    """Hand out nothing until `resume_campaign`; workers are told `reason`. Paused already: the reason
    changes.

    `rule` names the stop rule that did it, if one did.
    """
    with database.writing():
        row = _locked(campaign)
        if row.state not in (Campaign.OPEN, Campaign.PAUSED):
            raise CampaignError(f"campaign {row.name!r} is {_is(row)}; only an open one can be paused")
        if (row.state, row.reason) != (Campaign.PAUSED, _short(reason)):
            about = {"rule": rule} if rule else {}
            _move(row, Campaign.PAUSED, "pause_campaign", actor, reason=_short(reason), **about)
    campaign.refresh_from_db()


def resume_campaign(*, campaign: Campaign, actor: Account | None = None) -> None:
    """Hand out again. Refused while a stop rule holds, which would only pause it once more."""
    with database.writing():
        row = _locked(campaign)
        if row.state not in (Campaign.OPEN, Campaign.PAUSED):
            raise CampaignError(f"campaign {row.name!r} is {_is(row)}; only a paused one can be resumed")
        if (held := reached_stop_rule(row)) is not None:
            raise by_command(
                CampaignError(f"campaign {row.name!r} cannot be resumed: {held.text}; set a new stop rule"),
                f"pause_campaign {row.name} --resume --{held.rule} VALUE",
            )
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
    """Set some of budget, until and images anew, as the next version of the settings.

    None takes a rule away; rules that are not named stay. `seen`, and what is raised: as `change_settings`.
    """
    change_some_settings(
        campaign=campaign,
        changed=lambda settings: {**settings, "stop": {**settings.get("stop", {}), **rules}},
        seen=seen,
        actor=actor,
        act="set_stop_rules",
    )


def reached_stop_rule(campaign: Campaign) -> StopRule | None:
    """The first stop rule of the campaign that holds now, None where none does.

    The budget counts what is earned and what the tasks in hand will earn, so that it is passed by
    no more than is handed out between two looks at it.
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
    """A reason as its column takes it."""
    reason = " ".join(reason.split())
    return reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 1] + "…"


def set_open_to_all(*, campaign: Campaign, open_to_all: bool, actor: Account | None = None) -> bool:
    """Let every annotator of the server work on a campaign, or only who was invited, sent or granted it.

    False where it is so already. What somebody holds who may not work on it any more runs out.
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
