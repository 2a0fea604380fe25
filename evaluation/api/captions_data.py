"""Ranked tags, by API."""

from __future__ import annotations

from typing import get_args

from rest_framework import serializers

from annotation.api.rest.fields import CallFields, NameField
from annotation.api.rest.operations import POST, ApiCall, ApiRoute, serves
from annotation.selectors.jobs import Job
from evaluation.api.given import as_form
from evaluation.api.systems import RESEARCHES
from evaluation.services.common import ImportRefused
from evaluation.web.features.captions_data import enqueue_tag_ranking
from evaluation.web.splits import NotOffered
from models_core.features.text.tags import TagPlacing, TagUnit

_TAG = "features"
_REFUSED = (NotOffered, ImportRefused)


class TagRankingWanted(CallFields):
    """Tags to be ranked: nouns or compounds, placed by words or by the tree of their parses."""

    corpus = NameField()
    unit = serializers.ChoiceField(get_args(TagUnit))
    place = serializers.ChoiceField(get_args(TagPlacing), required=False)


@serves(
    ApiRoute(
        route="tag_rankings",
        method=POST,
        path="tag-rankings",
        tag="tags",
        opens=RESEARCHES,
        body=TagRankingWanted,
        job=True,
        refuses=_REFUSED,
        example={"corpus": "harbour", "unit": "nouns"},
    )
)
def tags_rank_call(call: ApiCall) -> Job:
    """Rank the tags of a corpus from its captions, and keep them, as a job."""
    return enqueue_tag_ranking(call.request, as_form(call.data))
