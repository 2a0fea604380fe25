"""The pages of tags that systems found: asked for, looked at beside their pictures, and scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from annotation import jobs
from annotation.selectors.jobs import Job
from annotation.web.common.access import RUNNING, AddressedThing, account_of, for_roles_on
from annotation.web.staff.frame import said
from evaluation.models import TaggedImage, TagSet
from evaluation.report_data.tag_scores import interval_remarks
from evaluation.services.tagging.scores import kept_figures
from evaluation.web.frame import evaluation_frame, text_parameter
from evaluation.web.splits import NotOffered, missing_in, part_in

#: Pictures on a page of tags.
TAGGED_PER_PAGE = 24
#: Tags shown of each picture.
_SHOWN = 10


#: The tag set of an address.
TAG_SET = AddressedThing(
    lambda name: TagSet.objects.filter(name=name, published=True).select_related("corpus", "made_by").first(),
    gettext_lazy("There is no tag set “%(name)s” here."),
)


@dataclass(frozen=True, slots=True)
class _ShownTag:
    """A tag, and whether a caption of people's has its words, all of them."""

    tag: str
    score: float
    said: bool


@dataclass(frozen=True, slots=True)
class _ShownPicture:
    """A picture's row with its tags and the first of people's captions."""

    image: Any
    tags: list[_ShownTag]
    caption: str


@require_safe
@for_roles_on(TAG_SET, *RUNNING)
def tag_set_detail(request: HttpRequest, row: TagSet) -> HttpResponse:
    """A tag set with its scores and its pictures, a page at a time."""
    begin = text_parameter(request.GET, "from")
    first = int(begin) if begin.isascii() and begin.isdigit() and len(begin) < 10 else 0
    rows = row.images.defer("scores").select_related("image").order_by("position")
    tagged = list(rows[first : first + TAGGED_PER_PAGE + 1])
    figures = kept_figures(row)
    return render(
        request,
        "evaluation/tags.html",
        evaluation_frame(
            "systems",
            deeper=True,
            row=row,
            shown=_shown(row, tagged[:TAGGED_PER_PAGE]),
            later=f"?from={first + TAGGED_PER_PAGE}" if len(tagged) > TAGGED_PER_PAGE else "",
            first="?" if first else "",
            splits=[one for one in row.corpus.images.values_list("split", flat=True).distinct() if one],
            figures=figures,
            pools=[one for one in figures.get("measures", ()) if one["distractors"] is not None],
            interval_remarks=interval_remarks(figures) if figures else [],
            others=[one for one in figures.get("measures", ()) if one["distractors"] is None],
        ),
    )


def _shown(row: TagSet, tagged: list[TaggedImage]) -> list[_ShownPicture]:
    said: dict[int, list[str]] = {}
    own = row.corpus.images.filter(pk__in=[one.image_id for one in tagged], captions__unrelated=False)
    for image, text in own.order_by("captions__number").values_list("pk", "captions__text"):
        said.setdefault(image, []).append(text)
    found = []
    for one in tagged:
        captions = said.get(one.image_id, [])
        words = {word for text in captions for word in text.lower().split()}
        tags = [_ShownTag(tag, score, set(tag.split()) <= words) for tag, score in one.tags[:_SHOWN]]
        found.append(_ShownPicture(one.image, tags, captions[0] if captions else ""))
    return found


def enqueue_tag_scoring(request: HttpRequest, row: TagSet, given: Mapping[str, str]) -> Job:
    """Score a tag set, as a job. Raises NotOffered, JobError."""
    arguments = {
        "name": row.name,
        "corpus": row.corpus.name,
        "split": part_in(given, "split", row.corpus),
        "missing": missing_in(given),
    }
    return jobs.enqueue(kind="score_tags", arguments=arguments, corpus=row.corpus, actor=account_of(request))


@require_POST
@for_roles_on(TAG_SET, *RUNNING)
def tag_set_score(request: HttpRequest, row: TagSet) -> HttpResponse:
    """Score a tag set, as a job."""
    with said(request, jobs.JobError, NotOffered) as tell:
        enqueue_tag_scoring(request, row, request.POST)
        tell(_("Scoring the tags. The figures will appear here."))
    return redirect("evaluation:tags", row.name)
