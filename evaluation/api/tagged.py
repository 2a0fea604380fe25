"""Tags that systems find, by API: tagging, the sets that came of it, their files and figures."""

from __future__ import annotations

from rest_framework import serializers

from annotation.api.rest.doors import On
from annotation.api.rest.fields import CallFields, TextField
from annotation.api.rest.operations import POST, ApiCall, ApiRoute, serves
from annotation.common.roles import RESEARCHER
from annotation.selectors.jobs import Job
from evaluation.api.given import as_form
from evaluation.comparison.missing import MISSING_CHOICES
from evaluation.models import TagSet
from evaluation.web.splits import NotOffered
from evaluation.web.systems.tagging import TAG_SET, enqueue_tag_scoring

_TAG = "tags"
_ON_SET = On(TAG_SET, (RESEARCHER,))
_ONE = "tag-sets/<slug:name>"


class TagScoringWanted(CallFields):
    """Of which images the tags are scored: a split of the corpus, or those that the set is of without it.
    `missing`: images without tags are refused (without it), count as the worst result, or are left out."""

    split = TextField(required=False)
    missing = serializers.ChoiceField(MISSING_CHOICES, required=False)


@serves(
    ApiRoute(
        route="tag_set_score",
        method=POST,
        path=f"{_ONE}/score",
        tag=_TAG,
        opens=_ON_SET,
        body=TagScoringWanted,
        job=True,
        refuses=(NotOffered,),
        example={"split": "test"},
    )
)
def tag_set_score_call(call: ApiCall, row: TagSet) -> Job:
    """Score a tag set by people's captions, as a job; the figures stand with the set."""
    return enqueue_tag_scoring(call.request, row, as_form(call.data))
