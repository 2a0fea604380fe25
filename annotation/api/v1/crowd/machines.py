"""Machines of a campaign, and its studies on crowd platforms, by API."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.urls import reverse
from rest_framework import serializers

from annotation import jobs
from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.fields import CallFields, NameField, TextField, WholeField
from annotation.api.rest.operations import GET, POST, ApiCall, ApiRoute, Created, serves
from annotation.api.v1.addressed import CAMPAIGN_PATH, PREPARING_TAG, RUNS_CAMPAIGN
from annotation.campaigns import CampaignError, machines
from annotation.models import Campaign, Job, Study
from annotation.protocol.answer_times import DRAWING_SECONDS, LOOKING_SECONDS
from annotation.selectors.machines.reports import MachineReport, machine_reports
from annotation.selectors.machines.savings import machine_saving
from annotation.web.staff.recruiting import study_address
from annotation.workers import platform_visits
from annotation.workers.platform_visits import PROVIDERS, VisitError

_MACHINES = "machines"


class CategoryOfMachine(serializers.Serializer[Any]):
    """Boxes of a category since a machine last learned; `left` says that people draw it."""

    category = serializers.CharField()
    judged = serializers.IntegerField()
    good = serializers.IntegerField()
    left = serializers.BooleanField()


class MachineShown(serializers.Serializer[Any]):
    """A machine that proposes boxes: how its worker stands, and what people said of its boxes."""

    name = serializers.CharField()
    worker = serializers.CharField()
    version = serializers.IntegerField()
    learnt = serializers.IntegerField(
        allow_null=True,
        help_text="Finished images that it learned from; 0: it is a stored proposer as it is. Null before it "
        "has learned, and if `from_file`.",
    )
    source = serializers.CharField()  # type: ignore[assignment]
    from_file = serializers.BooleanField(
        help_text="Its boxes come from a file: it does not learn by itself, and teaching it replaces them."
    )
    state = serializers.CharField()
    judged = serializers.IntegerField()
    good = serializers.IntegerField()
    waiting = serializers.IntegerField()
    works = serializers.BooleanField(
        help_text="It proposes boxes now: the newest of a campaign does, unless it is suspended for drawing."
    )
    categories = CategoryOfMachine(many=True)


class MachineWanted(CallFields):
    """A machine of this name."""

    name = NameField(max_length=30)


class PeopleAnswersShown(serializers.Serializer[Any]):
    """Answers of people: `drawing` a box, and by `looking`."""

    drawing = serializers.FloatField()
    looking = serializers.FloatField()


class PricesShown(serializers.Serializer[Any]):
    """Seconds of a drawing and of a look."""

    drawing = serializers.ListField(child=serializers.FloatField())
    looking = serializers.ListField(child=serializers.FloatField())


class MachineSavingShown(serializers.Serializer[Any]):
    """What machines saved people. `answers` are people's; `alone`, those that they would have given: drawings
    of the accepted boxes too, and no looks at the refused ones."""

    answers = PeopleAnswersShown()
    alone = PeopleAnswersShown()
    prices = PricesShown()
    shares = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField()),
        help_text="Share of people's seconds saved: a row for each price of a look, in it one for each price "
        "of a drawing.",
    )
    drawing_seconds = serializers.FloatField(allow_null=True, help_text="Of a drawing in this campaign.")
    looking_seconds = serializers.FloatField(allow_null=True, help_text="Of a look in this campaign.")
    measured = serializers.FloatField(
        allow_null=True, help_text="The share saved at these seconds; null where people have not done both."
    )


class StudyShown(serializers.Serializer[Any]):
    """A campaign as a crowd platform offers it. `address` is what the platform is to open."""

    provider = serializers.CharField()
    study = serializers.CharField(help_text="The platform's id of it; empty where it has none.")
    wanted = serializers.IntegerField()
    completion_code = serializers.CharField()
    screen_out_code = serializers.CharField()
    address = serializers.CharField()
    created_at = serializers.DateTimeField()


class StudyWanted(CallFields):
    """A study: the platform, its id there (of Prolific), how many answers a visit takes, and the codes for
    those who finish and those who are screened out. The same one again is changed."""

    provider = serializers.ChoiceField(list(PROVIDERS))
    study = TextField(required=False, max_length=100)
    wanted = WholeField()
    completion_code = TextField(required=False, max_length=50)
    screen_out_code = TextField(required=False, max_length=50)


@serves(
    ApiRoute(
        route="machines",
        method=GET,
        path=f"{CAMPAIGN_PATH}/machines",
        tag=_MACHINES,
        opens=RUNS_CAMPAIGN,
        answers=MachineShown,
        listed=True,
    )
)
def machines_list_call(call: ApiCall, campaign: Campaign) -> CursorPage:
    """List a campaign's machines, by name, and what people said of their boxes."""
    return call.rows.of_values(machine_reports(campaign), lambda one: one.name, _machine_plain)


@serves(
    ApiRoute(
        route="machines",
        method=POST,
        path=f"{CAMPAIGN_PATH}/machines",
        tag=_MACHINES,
        opens=RUNS_CAMPAIGN,
        body=MachineWanted,
        makes=True,
        answers=MachineShown,
        refuses=(CampaignError,),
        example={"name": "drawer"},
    )
)
def machine_add_call(call: ApiCall, campaign: Campaign) -> Created:
    """Add a machine to a campaign that asks for boxes. It proposes some once it has learned."""
    made = machines.machine_add(campaign=campaign, name=call.data["name"], actor=call.account)
    shown = next(one for one in machine_reports(campaign) if one.name == made.name)
    return Created(_machine_plain(shown), reverse("v1_machines", args=[campaign.name]))


@serves(
    ApiRoute(
        route="machine_teach",
        method=POST,
        path=f"{CAMPAIGN_PATH}/machines/<slug:machine>/teach",
        tag=_MACHINES,
        opens=RUNS_CAMPAIGN,
        job=True,
        refuses=(CampaignError,),
    )
)
def machine_teach_call(call: ApiCall, campaign: Campaign, machine: str) -> Job:
    """Have a machine learn from the finished images now, as a job. Boxes from a file are replaced."""
    found = machines.machine_named(campaign, machine)
    machines.refuse_closed(campaign)
    machines.refuse_busy(found)
    return jobs.enqueue(
        kind=machines.TEACH_JOB, arguments={"machine": found.name}, campaign=campaign, actor=call.account
    )


@serves(
    ApiRoute(
        route="machine_saving",
        method=GET,
        path=f"{CAMPAIGN_PATH}/machines/saving",
        tag=_MACHINES,
        opens=RUNS_CAMPAIGN,
        answers=MachineSavingShown,
    )
)
def machine_saving_call(call: ApiCall, campaign: Campaign) -> dict[str, Any]:
    """What the machines of a campaign saved its people, by what a drawing and a look take."""
    saving = machine_saving(campaign, machine_reports(campaign))
    return {
        "answers": asdict(saving.times.counts),
        "alone": asdict(saving.alone),
        "prices": {"drawing": DRAWING_SECONDS, "looking": LOOKING_SECONDS},
        "shares": saving.shares,
        "drawing_seconds": saving.times.drawing,
        "looking_seconds": saving.times.looking,
        "measured": saving.measured,
    }


@serves(
    ApiRoute(
        route="studies",
        method=GET,
        path=f"{CAMPAIGN_PATH}/studies",
        tag=PREPARING_TAG,
        opens=RUNS_CAMPAIGN,
        answers=StudyShown,
        listed=True,
    )
)
def studies_list_call(call: ApiCall, campaign: Campaign) -> CursorPage:
    """List a campaign's studies on crowd platforms."""
    rows = Study.objects.filter(campaign=campaign).select_related("campaign")
    return call.rows.of_rows(rows, "pk", lambda row: _study_plain(call, row))


@serves(
    ApiRoute(
        route="studies",
        method=POST,
        path=f"{CAMPAIGN_PATH}/studies",
        tag=PREPARING_TAG,
        opens=RUNS_CAMPAIGN,
        body=StudyWanted,
        makes=True,
        answers=StudyShown,
        refuses=(VisitError,),
        example={"provider": "prolific", "study": "60d9aadeb86739de712faee0", "wanted": 20},
    )
)
def study_save_call(call: ApiCall, campaign: Campaign) -> Created:
    """Tell of a study on a crowd platform, or change one."""
    given = call.data
    row = platform_visits.save_study(
        campaign=campaign,
        provider=given["provider"],
        external_id=given.get("study", ""),
        wanted=given["wanted"],
        completion_code=given.get("completion_code", ""),
        screen_out_code=given.get("screen_out_code", ""),
        actor=call.account,
    )
    return Created(_study_plain(call, row), reverse("v1_studies", args=[campaign.name]))


def _machine_plain(one: MachineReport) -> dict[str, Any]:
    return {
        "name": one.name,
        "worker": one.worker,
        "version": one.version,
        "learnt": one.learnt,
        "source": one.source,
        "from_file": one.from_file,
        "state": one.state,
        "judged": one.judged,
        "good": one.good,
        "waiting": one.waiting,
        "works": one.works,
        "categories": [
            {"category": each.category, "judged": each.judged, "good": each.good, "left": each.left}
            for each in one.categories
        ],
    }


def _study_plain(call: ApiCall, row: Study) -> dict[str, Any]:
    return {
        "provider": row.provider,
        "study": row.external_id,
        "wanted": row.wanted,
        "completion_code": row.completion_code,
        "screen_out_code": row.screen_out_code,
        "address": study_address(call.request, row),
        "created_at": json_time(row.created_at),
    }
