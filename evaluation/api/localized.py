"""Where systems find phrases, by API: localizing, the sets that came of it, their files and figures."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.doors import On
from annotation.api.rest.fields import CallFields, NameField, TextField, WholeField
from annotation.api.rest.operations import POST, ApiCall, ApiRoute, Created, serves
from annotation.common.roles import RESEARCHER
from annotation.selectors.jobs import Job
from evaluation.api.given import TrainedOnField, as_form
from evaluation.api.systems import RESEARCHES
from evaluation.comparison.missing import MISSING_CHOICES
from evaluation.models import LocalizationSet
from evaluation.web.splits import NotOffered
from evaluation.web.systems.localizations import (
    LOCALIZATION_SET,
    enqueue_localization_scoring,
    import_sent_localizations,
)
from evaluation.web.uploads import UPLOAD_REFUSALS

_TAG = "localizations"
_ON_SET = On(LOCALIZATION_SET, (RESEARCHER,))
_ONE = "localization-sets/<slug:name>"


class LocalizationSetShown(serializers.Serializer[Any]):
    """The regions in which a system finds the mentions of a layer. `system`, `layer` and `regions` are empty
    of a set that was read from a file."""

    name = NameField()
    corpus = NameField()
    system = serializers.CharField()
    split = serializers.CharField()
    layer = serializers.CharField()
    regions = serializers.CharField(help_text="The feature set whose regions were ranked.")
    images = serializers.IntegerField()
    mentions = serializers.IntegerField()
    unknown = serializers.IntegerField(help_text="Mentions without a word that the system knows.")
    digest = serializers.CharField()
    created_at = serializers.DateTimeField()


class LocalizationSetImported(LocalizationSetShown):
    """A localization set as its file was read; the counts are 0 where the same file was read before."""

    clipped = serializers.IntegerField(help_text="Regions that reached out of their picture and were cut.")
    outside = serializers.IntegerField(help_text="Regions wholly outside, which were left out.")
    reordered = serializers.IntegerField(
        help_text="Lines that were not in the order of their scores, and were put in it."
    )
    elsewhere = serializers.IntegerField(
        help_text="Mentions of other images than `split` names: kept, but not counted."
    )


class LocalizationsSent(CallFields):
    """Predictions made elsewhere, as a file of JSON Lines (.gz too): a line for each mention with its
    regions, and lines with the detections of phrases. `system` is a registered system of the corpus that made
    them, `split` a split, a fold or `run:NAME`: the images that it looked at, of which what the file lacks is
    missing output. Without it figures are of all images. A fold is of all images with pictures, dealt by
    `seed`. What `trained_on` says is stored with the system; without one, a system of the set's name is
    entered."""

    name = NameField()
    corpus = NameField()
    system = NameField(required=False)
    split = TextField(required=False)
    seed = WholeField(required=False, max_value=10**9 - 1)
    trained_on = TrainedOnField()
    file = serializers.FileField(required=False)


class LocalizationScoringWanted(CallFields):
    """The layer whose boxes a set is scored by, and another set that it is compared with. `missing`: images
    of which a set has no output are refused (without it), count as the worst result, or are left out."""

    layer = TextField()
    against = NameField(required=False)
    missing = serializers.ChoiceField(MISSING_CHOICES, required=False)


@serves(
    ApiRoute(
        route="localization_sets",
        method=POST,
        path="localization-sets",
        tag=_TAG,
        opens=RESEARCHES,
        body=LocalizationsSent,
        example={"name": "theirs", "corpus": "harbour", "split": "test"},
        uploads=("file",),
        own_transactions=True,
        makes=True,
        answers=LocalizationSetImported,
        refuses=UPLOAD_REFUSALS,
    )
)
def localization_set_upload_call(call: ApiCall) -> Created:
    """Import predictions from a file: all of them, or nothing."""
    made = import_sent_localizations(call.request, as_form(call.data))
    row = LocalizationSet.objects.select_related("corpus", "made_by").get(name=made.name)
    told = {
        **_set_plain(row),
        "clipped": made.clipped,
        "outside": made.outside,
        "reordered": made.reordered,
        "elsewhere": made.elsewhere,
    }
    return Created(told, reverse("v1_localization_set", args=[made.name]))


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


def _set_plain(row: LocalizationSet) -> dict[str, Any]:
    return {
        "name": row.name,
        "corpus": row.corpus.name,
        "system": row.made_by.name if row.made_by is not None else "",
        "split": row.split,
        "layer": row.layer,
        "regions": row.regions,
        "images": row.image_count,
        "mentions": row.mention_count,
        "unknown": row.unknown_count,
        "digest": row.digest,
        "created_at": json_time(row.created_at),
    }
