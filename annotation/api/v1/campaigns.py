"""Campaigns by API: the list, one with its figures, opening, pausing, closing, which images come first."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation import campaigns, jobs
from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import Anywhere
from annotation.api.rest.fields import (
    CallFields,
    MoneyField,
    NameField,
    TextField,
)
from annotation.api.rest.operations import DELETE, GET, PATCH, POST, ApiCall, ApiRoute, serves
from annotation.api.v1.addressed import CAMPAIGN_PATH, CAMPAIGNS_TAG, READS_CAMPAIGN, RUNS_CAMPAIGN
from annotation.api.v1.agreement import AgreementShown, agreement_shown
from annotation.api.v1.campaign_settings import check_pay
from annotation.api.v1.preparing.plans import CampaignPlanned, campaign_plan, check_plan, settings_planned
from annotation.campaigns import monitoring
from annotation.campaigns.drafts.opening import check_no_running_pilot, go_on_with_all, pilot_of
from annotation.common.roles import RESEARCHER
from annotation.datasets.layer_rows import LayerError
from annotation.models import Campaign, Job
from annotation.protocol.campaign_settings import CampaignError, settings_of
from annotation.protocol.money import amount_text
from annotation.selectors.campaign import overview
from annotation.selectors.campaign.reasons import PAUSED, coded_reason, reason_in_words
from annotation.selectors.scopes import campaigns_of
from annotation.web.common.access import BROWSING


class CampaignShown(serializers.Serializer[Any]):
    """A campaign: a corpus, and the questions asked about it."""

    name = NameField()
    corpus = NameField()
    tasks = serializers.CharField()
    kinds = serializers.ListField(
        child=serializers.CharField(), help_text="The kinds of question that it asks."
    )
    state = serializers.ChoiceField(Campaign.STATES)
    reason = serializers.CharField(help_text="Why it is paused or closed.")
    open_to_all = serializers.BooleanField()
    simulated = serializers.BooleanField(help_text="Whether simulated workers answer it.")
    settings_version = serializers.IntegerField()
    opened_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    archived = serializers.BooleanField(help_text="Whether lists leave it out.")
    created_at = serializers.DateTimeField()


class KindCostShown(serializers.Serializer[Any]):
    """Answers of one kind of question and what they earned; of them, those on control items and in tests."""

    kind = serializers.CharField()
    answers = serializers.IntegerField()
    controls = serializers.IntegerField()
    double_checks = serializers.IntegerField()
    tests = serializers.IntegerField()
    seconds = serializers.FloatField()
    earned = MoneyField()


class CostShown(serializers.Serializer[Any]):
    """Cost so far, in `currency`. `hourly` is what an hour of work earned, `to_come` what the answers to
    come will earn; null where it is too early to tell."""

    currency = serializers.CharField()
    answers = serializers.IntegerField()
    seconds = serializers.FloatField()
    earned = MoneyField()
    bonuses = MoneyField(help_text="Given beside pay; what was withdrawn is left out.")
    paid = MoneyField()
    due = MoneyField()
    in_hand = MoneyField()
    hourly = MoneyField(allow_null=True)
    to_come = MoneyField(allow_null=True)
    kinds = KindCostShown(many=True)


class ProgressShown(serializers.Serializer[Any]):
    """How far it is: images, chains by stage, open tasks by kind, and the pace."""

    images = serializers.IntegerField(help_text="Those that are open.")
    planned = serializers.IntegerField(help_text="Further ones, which are opened as others are finished.")
    begun = serializers.IntegerField()
    complete = serializers.IntegerField()
    in_review = serializers.IntegerField()
    chains = serializers.DictField(child=serializers.IntegerField())
    open_tasks = serializers.DictField(child=serializers.IntegerField())
    answers_wanted = serializers.IntegerField(allow_null=True)
    answers_last_hour = serializers.IntegerField()
    answers_per_hour = serializers.FloatField()
    newest_answer_at = serializers.DateTimeField(allow_null=True)
    ends_at = serializers.DateTimeField(allow_null=True, help_text="At the pace of the last day.")


class AlarmShown(serializers.Serializer[Any]):
    """What needs attention."""

    code = serializers.CharField()
    kind = serializers.CharField(help_text="The kind of question that it is about; empty for none.")
    text = serializers.CharField()


class CampaignDetailShown(CampaignShown):
    """A campaign with its progress, cost, agreement and what needs attention."""

    progress = ProgressShown()
    cost = CostShown()
    agreement = AgreementShown(many=True)
    alarms = AlarmShown(many=True)
    counted_at = serializers.DateTimeField(
        allow_null=True, help_text="Where counting is slow, figures may be those of this time."
    )


class CampaignFilter(CallFields):
    """Which campaigns."""

    corpus = NameField(required=False)
    state = serializers.ChoiceField(Campaign.STATES, required=False)
    archived = serializers.BooleanField(
        required=False, help_text="true: those that are archived; without it, those that are not."
    )


class Freshness(CallFields):
    """How new the figures have to be."""

    fresh = serializers.BooleanField(
        required=False,
        help_text="true: counted now. Without it, figures that are slow to count may be a minute old.",
    )


class Reasoned(CallFields):
    """Why; workers read it."""

    reason = TextField(required=False, allow_blank=True)


class CampaignChange(CallFields):
    """What can be changed at any time, one of it at least. An open campaign is not archived."""

    open_to_all = serializers.BooleanField(required=False)
    archived = serializers.BooleanField(required=False, help_text="Whether lists leave it out.")


class Priority(CallFields):
    """Images by key or file name, and their priority: higher comes first, 0 is the usual."""

    images = serializers.ListField(child=TextField(max_length=255), min_length=1, max_length=1000)
    priority = serializers.IntegerField(min_value=-1000, max_value=1000)


class PrioritySet(serializers.Serializer[Any]):
    """How many images got the priority."""

    images = serializers.IntegerField()


_EXAMPLE = {
    "name": "quay",
    "corpus": "harbour",
    "tasks": "entities",
    "settings": {"link_votes": 3, "pay": {"basis": "hour", "hourly": 12.5, "currency": "EUR"}},
    "images": 20,
}


@serves(
    ApiRoute(
        route="campaigns",
        method=GET,
        path="campaigns",
        tag=CAMPAIGNS_TAG,
        opens=Anywhere(BROWSING),
        asked=CampaignFilter,
        answers=CampaignShown,
        listed=True,
    )
)
def campaigns_list_call(call: ApiCall) -> CursorPage:
    """List campaigns.

    Those that are open to you, by name. How far each is, its own address tells.
    """
    found = campaigns_of(call.account, *BROWSING).select_related("corpus")
    found = found.filter(archived_at__isnull=not call.asked.get("archived", False))
    if "corpus" in call.asked:
        found = found.filter(corpus__name=call.asked["corpus"])
    if "state" in call.asked:
        found = found.filter(state=call.asked["state"])
    return call.rows.of_rows(found, "name", campaign_plain)


@serves(
    ApiRoute(
        route="campaigns",
        method=POST,
        path="campaigns",
        tag=CAMPAIGNS_TAG,
        opens=Anywhere((RESEARCHER,), corpora=True),
        body=CampaignPlanned,
        job=True,
        refuses=(CampaignError, LayerError),
        example=_EXAMPLE,
    )
)
def campaign_open_call(call: ApiCall) -> Job:
    """Open a campaign.

    The draft is written at once, and a job opens its images and lets workers in. A `pilot` opens 20 of them
    first; `go-on` opens the others. What it would come to, `campaign-plans` tells.
    """
    asked = call.data
    plan = campaign_plan(call.account, asked)
    check_plan(plan)
    settings = settings_planned(asked)
    check_pay(settings, plan.kinds, meant=plan.unpaid)
    draft = {
        "name": asked["name"],
        "corpus": asked["corpus"],
        "tasks": plan.tasks,
        "settings": settings,
        "open_to_all": plan.open_to_all,
    }
    if plan.draft.like is not None:
        made = campaigns.duplicate_campaign(campaign=plan.draft.like, actor=call.account, **draft)
    else:
        made = campaigns.create_campaign(actor=call.account, **draft)
    check_no_running_pilot(made)
    which = {"split": plan.split, "images": plan.images, "tags": list(plan.tags)}
    if plan.pilot:
        which = pilot_of(campaign=made, whole=which)
    if "known" in asked:
        which["known"] = plan.known
    return jobs.enqueue(kind="open_images", arguments=which, campaign=made, actor=call.account)


@serves(
    ApiRoute(
        route="campaign",
        method=GET,
        path=CAMPAIGN_PATH,
        tag=CAMPAIGNS_TAG,
        opens=READS_CAMPAIGN,
        asked=Freshness,
        answers=CampaignDetailShown,
    )
)
def campaign_show_call(call: ApiCall, campaign: Campaign) -> dict[str, Any]:
    """Show a campaign: progress, cost, agreement, and what needs attention."""
    pay = settings_of(campaign.settings).pay
    seen = overview(campaign, pay, fresh=call.asked.get("fresh", False))
    now, pace, cost = seen.funnel, seen.pace, seen.cost
    return {
        **campaign_plain(campaign),
        "progress": {
            "images": now.images,
            "planned": now.planned,
            "begun": now.begun,
            "complete": now.complete,
            "in_review": now.in_review,
            "chains": dict(now.chains),
            "open_tasks": {kind: count.open for kind, count in seen.tasks.items()},
            "answers_wanted": pace.to_come,
            "answers_last_hour": pace.last_hour,
            "answers_per_hour": pace.per_hour,
            "newest_answer_at": json_time(pace.newest_at),
            "ends_at": json_time(pace.ends_at),
        },
        "cost": {
            "currency": cost.currency,
            "answers": cost.answers,
            "seconds": cost.seconds,
            "earned": amount_text(cost.earned, cost.currency),
            "bonuses": amount_text(cost.bonuses, cost.currency),
            "paid": amount_text(cost.paid, cost.currency),
            "due": amount_text(cost.due, cost.currency),
            "in_hand": amount_text(cost.in_hand, cost.currency),
            "hourly": amount_text(cost.hourly, cost.currency) if cost.hourly is not None else None,
            "to_come": amount_text(seen.pay_to_come, cost.currency) if seen.pay_to_come is not None else None,
            "kinds": [
                {
                    "kind": kind,
                    "answers": of.answers,
                    "controls": of.controls,
                    "double_checks": of.double_checks,
                    "tests": of.tests,
                    "seconds": of.seconds,
                    "earned": amount_text(of.pay, cost.currency),
                }
                for kind, of in cost.kinds.items()
            ],
        },
        "agreement": agreement_shown(seen.agreement),
        "alarms": [
            {"code": each.code, "kind": each.kind, "text": each.text} for each in monitoring.alarms(campaign)
        ],
        "counted_at": json_time(seen.counted_at),
    }


@serves(
    ApiRoute(
        route="campaign",
        method=PATCH,
        path=CAMPAIGN_PATH,
        tag=CAMPAIGNS_TAG,
        opens=RUNS_CAMPAIGN,
        body=CampaignChange,
        answers=CampaignShown,
        refuses=(CampaignError,),
        example={"open_to_all": True},
    )
)
def campaign_change_call(call: ApiCall, campaign: Campaign) -> dict[str, Any]:
    """Say whether every annotator of the server may work on a campaign, or archive it."""
    if not call.data:
        raise CampaignError(_("Nothing was chosen: send open_to_all, archived or both."))
    # What may be refused comes first.
    if "archived" in call.data:
        campaigns.archive_campaign(campaign=campaign, archived=call.data["archived"], actor=call.account)
    if "open_to_all" in call.data:
        campaigns.set_open_to_all(campaign=campaign, open_to_all=call.data["open_to_all"], actor=call.account)
    campaign.refresh_from_db()
    return campaign_plain(campaign)


@serves(
    ApiRoute(
        route="campaign",
        method=DELETE,
        path=CAMPAIGN_PATH,
        tag=CAMPAIGNS_TAG,
        opens=RUNS_CAMPAIGN,
        refuses=(CampaignError,),
    )
)
def campaign_delete_call(call: ApiCall, campaign: Campaign) -> None:
    """Delete a campaign that nobody has come to."""
    campaigns.delete_campaign(campaign=campaign, actor=call.account)


@serves(
    ApiRoute(
        route="campaign_go_on",
        method=POST,
        path=f"{CAMPAIGN_PATH}/go-on",
        tag=CAMPAIGNS_TAG,
        opens=RUNS_CAMPAIGN,
        job=True,
        refuses=(CampaignError,),
    )
)
def campaign_go_on_call(call: ApiCall, campaign: Campaign) -> Job:
    """Go on with all images after a pilot.

    A job opens those that the pilot left out; refused where there is no pilot.
    """
    return go_on_with_all(
        campaign=campaign,
        actor=call.account,
        enqueue=lambda row, arguments: jobs.enqueue(
            kind="open_images", arguments=arguments, campaign=row, actor=call.account
        ),
    )


@serves(
    ApiRoute(
        route="campaign_pause",
        method=POST,
        path=f"{CAMPAIGN_PATH}/pause",
        tag=CAMPAIGNS_TAG,
        opens=RUNS_CAMPAIGN,
        body=Reasoned,
        answers=CampaignShown,
        refuses=(CampaignError,),
        example={"reason": "We look at the first answers."},
    )
)
def campaign_pause_call(call: ApiCall, campaign: Campaign) -> dict[str, Any]:
    """Pause a campaign.

    Workers get no new tasks; answers to what they have in hand still count.
    """
    reason = call.data.get("reason") or coded_reason(PAUSED)
    campaigns.pause_campaign(campaign=campaign, reason=reason, actor=call.account)
    return campaign_plain(campaign)


@serves(
    ApiRoute(
        route="campaign_resume",
        method=POST,
        path=f"{CAMPAIGN_PATH}/resume",
        tag=CAMPAIGNS_TAG,
        opens=RUNS_CAMPAIGN,
        answers=CampaignShown,
        refuses=(CampaignError,),
    )
)
def campaign_resume_call(call: ApiCall, campaign: Campaign) -> dict[str, Any]:
    """Resume a paused campaign; refused while a stop rule holds."""
    campaigns.resume_campaign(campaign=campaign, actor=call.account)
    return campaign_plain(campaign)


@serves(
    ApiRoute(
        route="campaign_close",
        method=POST,
        path=f"{CAMPAIGN_PATH}/close",
        tag=CAMPAIGNS_TAG,
        opens=RUNS_CAMPAIGN,
        body=Reasoned,
        answers=CampaignShown,
        refuses=(CampaignError,),
        example={"reason": "Enough answers."},
    )
)
def campaign_close_call(call: ApiCall, campaign: Campaign) -> dict[str, Any]:
    """Close a campaign for good. This cannot be undone."""
    campaigns.close_campaign(campaign=campaign, reason=call.data.get("reason", ""), actor=call.account)
    return campaign_plain(campaign)


@serves(
    ApiRoute(
        route="campaign_order",
        method=POST,
        path=f"{CAMPAIGN_PATH}/priorities",
        tag=CAMPAIGNS_TAG,
        opens=RUNS_CAMPAIGN,
        body=Priority,
        answers=PrioritySet,
        refuses=(CampaignError,),
        example={"images": ["scene-2.png"], "priority": 1},
    )
)
def campaign_prioritise_call(call: ApiCall, campaign: Campaign) -> dict[str, Any]:
    """Say which images come first."""
    done = campaigns.prioritise_images(
        campaign=campaign, images=call.data["images"], priority=call.data["priority"], actor=call.account
    )
    return {"images": done}


def campaign_plain(campaign: Campaign) -> dict[str, Any]:
    """A campaign as plain data; its corpus is read already where there are many."""
    return {
        "name": campaign.name,
        "corpus": campaign.corpus.name,
        "tasks": campaign.tasks,
        "kinds": list(campaign.kinds),
        "state": campaign.state,
        "reason": reason_in_words(campaign.reason),
        "open_to_all": campaign.open_to_all,
        "simulated": campaign.simulated,
        "settings_version": campaign.settings_version,
        "opened_at": json_time(campaign.opened_at),
        "ended_at": json_time(campaign.ended_at),
        "archived": campaign.archived_at is not None,
        "created_at": json_time(campaign.created_at),
    }
