"""Tags that systems find, by API: tagging, the sets that came of it, their files and figures."""

from __future__ import annotations

from typing import get_args

from rest_framework import serializers

from annotation.api.rest.doors import On
from annotation.api.rest.fields import CallFields, NameField, TextField, WholeField
from annotation.api.rest.operations import POST, ApiCall, ApiRoute, serves
from annotation.common.roles import RESEARCHER
from annotation.selectors.jobs import Job
from evaluation.api.given import as_form
from evaluation.comparison.missing import MISSING_CHOICES
from evaluation.models import System, TagSet
from evaluation.services.tagging.writing import OF_CORPUS
from evaluation.web.splits import NotOffered
from evaluation.web.systems.localizations import LOCALIZING_SYSTEM
from evaluation.web.systems.tagging import TAG_SET, enqueue_tag_scoring, enqueue_tagging
from models_core.estimators.taggers import TagScore

_TAG = "tags"
_ON_SET = On(TAG_SET, (RESEARCHER,))
_ONE = "tag-sets/<slug:name>"


class TaggingWanted(CallFields):
    """Images to be tagged: the set's name, of a split or fold (all without it), by which score, among the
    system's own tags or the words of the corpus, and how many tags are kept of each image."""

    name = NameField()
    split = TextField(required=False)
    score = serializers.ChoiceField(get_args(TagScore), required=False)
    vocabulary = serializers.ChoiceField([OF_CORPUS], required=False)
    top = WholeField(required=False, min_value=1, max_value=1000)


class TagScoringWanted(CallFields):
    """Of which images the tags are scored: a split of the corpus, or those that the set is of without it.
    `missing`: images without tags are refused (without it), count as the worst result, or are left out."""

    split = TextField(required=False)
    missing = serializers.ChoiceField(MISSING_CHOICES, required=False)


@serves(
    ApiRoute(
        route="system_tags",
        method=POST,
        path="systems/<slug:name>/tags",
        tag=_TAG,
        opens=On(LOCALIZING_SYSTEM, (RESEARCHER,)),
        body=TaggingWanted,
        job=True,
        refuses=(NotOffered,),
        example={"name": "tagged", "split": "test"},
    )
)
def system_tag_call(call: ApiCall, system: System) -> Job:
    """Have a system tag images, as a job."""
    return enqueue_tagging(call.request, system, as_form(call.data))


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
