"""Captions that systems wrote, by API: the sets, their files, and mixing them to be judged."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse
from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import On
from annotation.api.rest.fields import CallFields, NameField, WholeField
from annotation.api.rest.operations import DELETE, GET, POST, ApiCall, ApiRoute, serves
from annotation.common.roles import RESEARCHER
from annotation.selectors.jobs import Job
from annotation.selectors.scopes import within_scope
from evaluation.api.given import as_form
from evaluation.api.systems import RESEARCHES, OfCorpus
from evaluation.models import CaptionSet
from evaluation.services.captions.sets import remove_caption_set, write_coco_results
from evaluation.web.frame import file_download
from evaluation.web.splits import NotOffered
from evaluation.web.systems.captions import CAPTION_SET, enqueue_judging

_TAG = "captions"
_ON_SET = On(CAPTION_SET, (RESEARCHER,))
_ONE = "caption-sets/<slug:name>"


class CaptionSetShown(serializers.Serializer[Any]):
    """Captions that one system wrote. `in_training` of them stand word for word among its training
    captions."""

    name = NameField()
    corpus = NameField()
    system = serializers.CharField()
    split = serializers.CharField()
    regions = serializers.CharField(help_text="The feature set whose regions were described; empty: images.")
    images = serializers.IntegerField()
    captions = serializers.IntegerField()
    distinct = serializers.IntegerField()
    in_training = serializers.IntegerField()
    digest = serializers.CharField()
    created_at = serializers.DateTimeField()


class MixingWanted(CallFields):
    """A corpus in which captions of this set, of others (`with`) and of people are to be judged, and how
    many of people's each image has. All images without a number of them."""

    name = NameField()
    people = WholeField(required=False, max_value=10)
    images = WholeField(required=False, max_value=10**6)
    controls = WholeField(required=False, max_value=10**6)

    def get_fields(self) -> dict[str, Any]:
        """`with` is a word of Python, so that no attribute can be called so."""
        sets = serializers.ListField(child=NameField(), required=False, max_length=20)
        return {**super().get_fields(), "with": sets}


@serves(
    ApiRoute(
        route="caption_sets",
        method=GET,
        path="caption-sets",
        tag=_TAG,
        opens=RESEARCHES,
        asked=OfCorpus,
        answers=CaptionSetShown,
        listed=True,
    )
)
def caption_sets_list_call(call: ApiCall) -> CursorPage:
    """List captions that systems wrote, by name."""
    found = CaptionSet.objects.filter(within_scope(call.account, RESEARCHER, corpus="corpus"), published=True)
    if "corpus" in call.asked:
        found = found.filter(corpus__name=call.asked["corpus"])
    return call.rows.of_rows(found.select_related("corpus", "made_by"), "name", _caption_set_plain)


@serves(
    ApiRoute(route="caption_set", method=GET, path=_ONE, tag=_TAG, opens=_ON_SET, answers=CaptionSetShown)
)
def caption_set_show_call(call: ApiCall, row: CaptionSet) -> dict[str, Any]:
    """Show captions that a system wrote."""
    return _caption_set_plain(row)


@serves(ApiRoute(route="caption_set", method=DELETE, path=_ONE, tag=_TAG, opens=_ON_SET))
def caption_set_remove_call(call: ApiCall, row: CaptionSet) -> None:
    """Remove captions that a system wrote."""
    remove_caption_set(name=row.name, actor=call.account)


@serves(
    ApiRoute(
        route="caption_set_file",
        method=GET,
        path=f"{_ONE}/coco",
        tag=_TAG,
        opens=_ON_SET,
        file="application/json",
    )
)
def caption_set_download_call(call: ApiCall, row: CaptionSet) -> FileResponse:
    """Download captions that a system wrote, as COCO results."""
    return file_download(f"{row.name}.json", lambda path: write_coco_results(row, path))


@serves(
    ApiRoute(
        route="caption_set_judge",
        method=POST,
        path=f"{_ONE}/judge",
        tag=_TAG,
        opens=_ON_SET,
        body=MixingWanted,
        job=True,
        refuses=(NotOffered,),
        example={"name": "candidates", "people": 1},
    )
)
def caption_set_mix_call(call: ApiCall, row: CaptionSet) -> Job:
    """Mix captions with others in a corpus to be judged, as a job. This takes a role for the whole server."""
    return enqueue_judging(call.request, row, as_form(call.data))


def _caption_set_plain(row: CaptionSet) -> dict[str, Any]:
    return {
        "name": row.name,
        "corpus": row.corpus.name,
        "system": row.made_by.name,
        "split": row.split,
        "regions": row.regions,
        "images": row.image_count,
        "captions": row.caption_count,
        "distinct": row.distinct,
        "in_training": row.in_training,
        "digest": row.digest,
        "created_at": json_time(row.created_at),
    }
