"""Tags that systems find, by API: tagging, the sets that came of it, their files and figures."""

from __future__ import annotations

from typing import Any, get_args

from django.http import FileResponse
from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import On
from annotation.api.rest.fields import CallFields, NameField, PlainField, TextField, WholeField
from annotation.api.rest.operations import DELETE, GET, POST, ApiCall, ApiRoute, serves
from annotation.common.roles import RESEARCHER
from annotation.selectors.jobs import Job
from annotation.selectors.scopes import within_scope
from evaluation.api.given import as_form, as_plain_json
from evaluation.api.systems import RESEARCHES, OfCorpus
from evaluation.comparison.missing import MISSING_CHOICES
from evaluation.models import System, TagSet
from evaluation.services.tagging.scores import kept_figures
from evaluation.services.tagging.sets import remove_tag_set, write_tag_set
from evaluation.services.tagging.writing import OF_CORPUS
from evaluation.web.frame import file_download
from evaluation.web.splits import NotOffered
from evaluation.web.systems.localizations import LOCALIZING_SYSTEM
from evaluation.web.systems.tagging import TAG_SET, enqueue_tag_scoring, enqueue_tagging
from models_core.estimators.taggers import TagScore

_TAG = "tags"
_ON_SET = On(TAG_SET, (RESEARCHER,))
_ONE = "tag-sets/<slug:name>"


class TagSetShown(serializers.Serializer[Any]):
    """Ranked tags of images: of a system, or of the collection that is its `source`."""

    name = NameField()
    corpus = NameField()
    system = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]
    split = serializers.CharField()
    images = serializers.IntegerField()
    digest = serializers.CharField()
    created_at = serializers.DateTimeField()


class TagSetDetailShown(TagSetShown):
    """A tag set with the figures that a job found last."""

    settings = PlainField()
    figures = PlainField()


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
        route="tag_sets",
        method=GET,
        path="tag-sets",
        tag=_TAG,
        opens=RESEARCHES,
        asked=OfCorpus,
        answers=TagSetShown,
        listed=True,
    )
)
def tag_sets_list_call(call: ApiCall) -> CursorPage:
    """List tag sets, by name."""
    mine = within_scope(call.account, RESEARCHER, corpus="corpus")
    found = TagSet.objects.filter(mine, published=True).defer("vocabulary", "figures")
    if "corpus" in call.asked:
        found = found.filter(corpus__name=call.asked["corpus"])
    return call.rows.of_rows(found.select_related("corpus", "made_by"), "name", _set_plain)


@serves(ApiRoute(route="tag_set", method=GET, path=_ONE, tag=_TAG, opens=_ON_SET, answers=TagSetDetailShown))
def tag_set_show_call(call: ApiCall, row: TagSet) -> dict[str, Any]:
    """Show a tag set with the figures that were scored."""
    return {
        **_set_plain(row),
        "settings": as_plain_json(row.settings),
        "figures": as_plain_json(kept_figures(row)),
    }


@serves(ApiRoute(route="tag_set", method=DELETE, path=_ONE, tag=_TAG, opens=_ON_SET))
def tag_set_remove_call(call: ApiCall, row: TagSet) -> None:
    """Remove a tag set."""
    remove_tag_set(name=row.name, actor=call.account)


@serves(
    ApiRoute(
        route="tag_set_file",
        method=GET,
        path=f"{_ONE}/jsonl",
        tag=_TAG,
        opens=_ON_SET,
        file="application/octet-stream",
    )
)
def tag_set_download_call(call: ApiCall, row: TagSet) -> FileResponse:
    """Download a tag set, as JSON lines."""
    return file_download(f"{row.name}.jsonl", lambda path: write_tag_set(row, path))


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


def _set_plain(row: TagSet) -> dict[str, Any]:
    return {
        "name": row.name,
        "corpus": row.corpus.name,
        "system": row.made_by.name if row.made_by is not None else "",
        "source": row.source,
        "split": row.split,
        "images": row.image_count,
        "digest": row.digest,
        "created_at": json_time(row.created_at),
    }
