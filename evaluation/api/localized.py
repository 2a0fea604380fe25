"""Where systems find phrases, by API: localizing, the sets that came of it, their files and figures."""

from __future__ import annotations

from rest_framework import serializers

from annotation.api.rest.doors import On
from annotation.api.rest.fields import CallFields, NameField, TextField
from annotation.api.rest.operations import POST, ApiCall, ApiRoute, serves
from annotation.common.roles import RESEARCHER
from annotation.selectors.jobs import Job
from evaluation.api.given import as_form
from evaluation.comparison.missing import MISSING_CHOICES
from evaluation.models import LocalizationSet
from evaluation.web.splits import NotOffered
from evaluation.web.systems.localizations import (
    LOCALIZATION_SET,
    enqueue_localization_scoring,
)

_TAG = "localizations"
_ON_SET = On(LOCALIZATION_SET, (RESEARCHER,))
_ONE = "localization-sets/<slug:name>"


class LocalizationScoringWanted(CallFields):
    """The layer whose boxes a set is scored by, and another set that it is compared with. `missing`: images
    of which a set has no output are refused (without it), count as the worst result, or are left out."""

    layer = TextField()
    against = NameField(required=False)
    missing = serializers.ChoiceField(MISSING_CHOICES, required=False)


@serves(
    ApiRoute(
        route="localization_set_score",
        method=POST,
        path=f"{_ONE}/score",
        tag=_TAG,
        opens=_ON_SET,
        body=LocalizationScoringWanted,
        job=True,
        refuses=(NotOffered,),
        example={"layer": "import"},
    )
)
def localization_set_score_call(call: ApiCall, row: LocalizationSet) -> Job:
    """Score a localization set against the boxes of a layer, as a job; the figures stand with the set."""
    return enqueue_localization_scoring(call.request, row, as_form(call.data))
