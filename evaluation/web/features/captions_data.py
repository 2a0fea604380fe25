"""What is known of the words of captions: the form that ranks tags, and the parses that there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation import jobs
from annotation.common.registry import UnknownName
from annotation.selectors.jobs import Job
from annotation.web.common.access import RUNNING, account_of, for_roles
from annotation.web.staff.frame import said
from evaluation.services.features.parses import ParsedCaptions, stored_parses
from evaluation.web import offered
from evaluation.web.frame import text_parameter
from evaluation.web.splits import NotOffered
from models_core.features.text.tags import TagPlacing, TagUnit


def parses_of_corpora(corpora: list[Any]) -> list[ParsedCaptions]:
    """The parses of those of these corpora that have some."""
    return [found for corpus in corpora if (found := stored_parses(corpus.name)) is not None]


def enqueue_tag_ranking(request: HttpRequest, given: Mapping[str, str]) -> Job:
    """Have a job rank the tags of a corpus from its captions, and keep them. Raises NotOffered, JobError,
    UnknownName."""
    corpus = offered.offered_corpus(request, text_parameter(given, "corpus"))
    unit, place = text_parameter(given, "unit"), text_parameter(given, "place") or "words"
    if unit not in get_args(TagUnit) or place not in get_args(TagPlacing):
        raise NotOffered(_("There are no such tags: choose from the list."))
    if place == "tree" and not parses_of_corpora([corpus]):
        raise NotOffered(_("Corpus %(name)s has no parses: import them first.") % {"name": corpus.name})
    arguments = {"corpus": corpus.name, "unit": unit, "place": place}
    return jobs.enqueue(kind="rank_tags", arguments=arguments, corpus=corpus, actor=account_of(request))


@require_POST
@for_roles(*RUNNING, corpora=True)
def tags_rank(request: HttpRequest) -> HttpResponse:
    """Have a job rank the tags of a corpus from its captions, and keep them."""
    with said(request, jobs.JobError, NotOffered, UnknownName) as tell:
        enqueue_tag_ranking(request, request.POST)
        tell(_("Ranking the tags. They are on the corpus’s page when they are done."))
    return redirect("evaluation:features")
