"""A campaign before it is opened, by API: what a program asks for, read as the pages read a draft."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework import serializers

from annotation.api.problems import FieldProblem, Problem
from annotation.api.rest.doors import Anywhere
from annotation.api.rest.fields import (
    CallFields,
    MoneyField,
    NameField,
    PlainField,
    TextField,
    WholeField,
)
from annotation.api.rest.operations import POST, ApiCall, ApiRoute, serves
from annotation.api.v1.addressed import CAMPAIGNS_TAG
from annotation.campaigns.drafts import fields
from annotation.campaigns.drafts.estimate import DraftEstimate, estimate_draft
from annotation.campaigns.drafts.readiness import can_open, readiness
from annotation.campaigns.drafts.reading import PILOT_IMAGES, DraftPlan, read_draft
from annotation.common.roles import RESEARCHER
from annotation.models import Account, Campaign, CampaignDraft, Corpus
from annotation.protocol.campaign_settings import CampaignError, settings_of_tasks
from annotation.protocol.kinds import all_tasks
from annotation.protocol.money import amount_text, rounded_amount
from annotation.protocol.work import MICROS
from annotation.selectors.scopes import campaigns_of, corpora_of

_NO_CAMPAIGN = gettext_lazy("There is no campaign “%(name)s” here.")
#: Fields of a plan that are checked before a campaign is made; what else is wrong, its services refuse.
_CHECKED = ("split", "tags", "known")


class CampaignPlanned(CallFields):
    """A campaign to be opened. `settings` are as in a TOML file, absent ones are defaults; `like` takes
    texts and control items from another campaign. `tags` are queries: images are drawn by them, with equal
    shares of each. `known` names what control items and an entry test are made from when it opens: a layer
    that is taken for the truth, or, of questions about pairs, a split that is not asked about. Where some
    kind of question would earn nothing, `unpaid` says that this is meant."""

    name = NameField()
    corpus = NameField()
    tasks = TextField(max_length=40, help_text=f"One of {', '.join(all_tasks())}.")
    settings = PlainField(required=False)
    like = NameField(required=False)
    split = TextField(required=False, max_length=40)
    images = WholeField(required=False, min_value=1, max_value=10**9 - 1)
    tags = serializers.ListField(
        child=serializers.RegexField(r"^[^\r\n]+$", max_length=200),
        required=False,
        min_length=1,
        max_length=50,
    )
    known = TextField(required=False, max_length=100)
    open_to_all = serializers.BooleanField(
        required=False, help_text="Whether every annotator of the server may work on it."
    )
    unpaid = serializers.BooleanField(required=False)
    pilot = serializers.BooleanField(required=False)


class RangeShown(serializers.Serializer[Any]):
    """A figure with its 95 % interval."""

    value = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()


class CostRangeShown(serializers.Serializer[Any]):
    """An amount with its 95 % interval."""

    value = MoneyField()
    low = MoneyField()
    high = MoneyField()


class PlanEstimateShown(serializers.Serializer[Any]):
    """What a campaign will take. `sampled`: images that the protocol was rehearsed on, 0 where everything is
    counted; `guessed`: what they show was guessed from their captions. The test is not paid and not in it."""

    images = serializers.IntegerField()
    answers = RangeShown()
    hours = RangeShown()
    cost = CostRangeShown()
    currency = serializers.CharField()
    by_kind = serializers.DictField(child=serializers.FloatField(), help_text="Answers of each kind.")
    pilot_images = serializers.IntegerField()
    pilot_cost = MoneyField()
    sampled = serializers.IntegerField()
    guessed = serializers.BooleanField()


class ReadinessShown(serializers.Serializer[Any]):
    """One thing that a campaign needs. Nothing opens while a line is `missing`; `advice` is worth knowing."""

    state = serializers.ChoiceField(["done", "missing", "advice"])
    title = serializers.CharField()
    text = serializers.CharField()
    step = serializers.ChoiceField(fields.STEPS, help_text="The page on which it is set.")


class CrowdSizeShown(serializers.Serializer[Any]):
    """How many different workers a campaign needs: nobody answers a question twice."""

    least = serializers.IntegerField(help_text="With fewer, a question may stay open.")
    enough = serializers.IntegerField(
        help_text="With so many, none stays open, also where a question is reported or comes back."
    )


class CampaignPlanShown(serializers.Serializer[Any]):
    """What a campaign would come to, and whether it can be opened; no estimate where it has no image."""

    ready = serializers.BooleanField()
    workers = CrowdSizeShown()
    readiness = ReadinessShown(many=True)
    estimate = PlanEstimateShown(allow_null=True)


@serves(
    ApiRoute(
        route="campaign_plans",
        method=POST,
        path="campaign-plans",
        tag=CAMPAIGNS_TAG,
        opens=Anywhere((RESEARCHER,), corpora=True),
        body=CampaignPlanned,
        own_transactions=True,
        answers=CampaignPlanShown,
        refuses=(CampaignError,),
        example={
            "name": "quay",
            "corpus": "harbour",
            "tasks": "entities",
            "settings": {"pay": {"basis": "hour", "hourly": 12.5, "currency": "EUR"}},
            "images": 200,
            "known": "import",
        },
    )
)
def campaign_plan_call(call: ApiCall) -> dict[str, Any]:
    """Plan a campaign: what is missing, and hours and cost with an interval. Nothing is opened.

    It takes what opening a campaign takes. Of questions about chains the protocol is rehearsed on some
    images.
    """
    plan = campaign_plan(call.account, call.data)
    lines = readiness(plan)
    found = estimate_draft(plan, pilot=PILOT_IMAGES)
    return {
        "ready": can_open(lines),
        "workers": asdict(plan.crowd_size()),
        "readiness": [asdict(line) for line in lines],
        "estimate": _estimate_plain(found, plan) if found is not None else None,
    }


def campaign_plan(account: Account, asked: Mapping[str, Any]) -> DraftPlan:
    """What a `CampaignPlanned` says, read as the pages read the draft of an account; nothing is stored.

    Raises Problem where there are no such tasks, CampaignError on a corpus, a campaign or settings that
    cannot be.
    """
    tasks = asked["tasks"]
    if tasks not in all_tasks():
        told = _("There are no tasks of this name; known: %(known)s.") % {"known": ", ".join(all_tasks())}
        raise _wrong({"tasks": told}, code="invalid_choice")
    settings = settings_of_tasks(tasks, asked.get("settings", {}))
    entry = fields.ENTRY_PRACTICE if settings.trust.qualification else fields.ENTRY_NONE
    if "known" in asked:
        entry = fields.ENTRY_KNOWN
        if asked.get("settings", {}).get("trust", {}).get("qualification") is False:
            raise CampaignError(
                _("“known” makes an entry test, and the settings say that there is none: leave out either.")
            )
    typed = {
        "name": asked["name"],
        "tasks": tasks,
        "split": asked.get("split", ""),
        "images": str(asked.get("images", "")),
        "tags": "\n".join(asked.get("tags", ())),
        "entry": entry,
        "known": asked.get("known", ""),
        **{name: "yes" if asked.get(name) else "" for name in ("unpaid", "pilot", "open_to_all")},
    }
    draft = CampaignDraft(
        pk=0,  # of no row: estimates draw by it
        owner=account,
        corpus=_corpus(account, asked["corpus"]),
        like=campaign_to_run(account, asked["like"]) if "like" in asked else None,
        fields=typed,
        settings=settings.as_dict(),
    )
    return read_draft(draft)


def settings_planned(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a `CampaignPlanned`, with the test that `known` makes."""
    settings: dict[str, Any] = asked.get("settings", {})
    if "known" not in asked:
        return settings
    return {**settings, "trust": {**settings.get("trust", {}), "qualification": True}}


def check_plan(plan: DraftPlan) -> None:
    """Raise Problem where a campaign names images or a source of its test that are not there."""
    if wrong := {name: plan.problems[name] for name in _CHECKED if name in plan.problems}:
        raise _wrong(wrong)


def campaign_to_run(account: Account, name: str) -> Campaign:
    """The campaign of that name, where the caller may run it. Raises CampaignError."""
    found = campaigns_of(account, RESEARCHER).select_related("corpus").filter(name=name).first()
    if found is None:
        raise CampaignError(str(_NO_CAMPAIGN) % {"name": name})
    return found


def _corpus(account: Account, name: str) -> Corpus:
    found = corpora_of(account, RESEARCHER).filter(published=True, name=name).first()
    if found is None:
        raise CampaignError(_("There is no corpus “%(name)s” here.") % {"name": name})
    return found


def _wrong(told: Mapping[str, str], *, code: str = "invalid") -> Problem:
    errors = [FieldProblem(name, code, text) for name, text in told.items()]
    first = errors[0]
    detail = f"{first.field}: {first.detail}"
    return Problem(HTTPStatus.BAD_REQUEST, "bad_request", detail, field=first.field, errors=errors)


def _estimate_plain(found: DraftEstimate, plan: DraftPlan) -> dict[str, Any]:
    currency = plan.settings.pay.currency
    return {
        "images": found.images,
        "answers": asdict(found.answers),
        "hours": asdict(found.hours),
        "cost": {name: _amount(value, currency) for name, value in asdict(found.cost).items()},
        "currency": currency,
        "by_kind": dict(found.by_kind),
        "pilot_images": found.pilot,
        "pilot_cost": _amount(found.pilot_cost, currency),
        "sampled": found.sampled,
        "guessed": found.guessed,
    }


def _amount(value: float, currency: str) -> str:
    """Currency units as a decimal text, in the digits of the currency: an estimate knows no more."""
    return amount_text(rounded_amount(round(value * MICROS), currency), currency)
