"""Captions that systems wrote, by API: the sets, their files, and mixing them to be judged."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.api.rest.doors import On
from annotation.api.rest.fields import CallFields, NameField, WholeField
from annotation.api.rest.operations import POST, ApiCall, ApiRoute, serves
from annotation.common.roles import RESEARCHER
from annotation.selectors.jobs import Job
from evaluation.api.given import as_form
from evaluation.models import CaptionSet
from evaluation.web.splits import NotOffered
from evaluation.web.systems.captions import CAPTION_SET, enqueue_judging

_TAG = "captions"
_ON_SET = On(CAPTION_SET, (RESEARCHER,))
_ONE = "caption-sets/<slug:name>"


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
