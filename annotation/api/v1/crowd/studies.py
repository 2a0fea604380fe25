"""Studies of a campaign on crowd platforms, by API."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.fields import CallFields, TextField, WholeField
from annotation.api.rest.operations import GET, POST, ApiCall, ApiRoute, Created, serves
from annotation.api.v1.addressed import CAMPAIGN_PATH, PREPARING_TAG, RUNS_CAMPAIGN
from annotation.models import Campaign, Study
from annotation.web.staff.recruiting import study_address
from annotation.workers import platform_visits
from annotation.workers.platform_visits import PROVIDERS, VisitError


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
