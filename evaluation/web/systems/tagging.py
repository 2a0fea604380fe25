"""The page of a tag set: its scores, and its tags beside their pictures."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.common.operations import operation_named
from annotation.web.common.access import RUNNING, AddressedThing, account_of, for_roles_on
from annotation.web.common.request_forms import RequestForm
from evaluation.models import TaggedImage, TagSet
from evaluation.report_data.tag_scores import interval_remarks
from evaluation.web.frame import evaluation_frame, offer_splits, text_parameter

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
def tag_set_page(request: HttpRequest, row: TagSet) -> HttpResponse:
    """A tag set with its scores and its pictures, a page at a time."""
    begin = text_parameter(request.GET, "from")
    first = int(begin) if begin.isascii() and begin.isdigit() and len(begin) < 10 else 0
    rows = row.images.defer("scores").select_related("image").order_by("position")
    tagged = list(rows[first : first + TAGGED_PER_PAGE + 1])
    figures = row.figures
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
            form=_scoring_form(request),
            splits=[one for one in row.corpus.images.values_list("split", flat=True).distinct() if one],
            figures=figures,
            pools=[one for one in figures.get("measures", ()) if one["distractors"] is not None],
            interval_remarks=interval_remarks(figures) if figures else [],
            others=[one for one in figures.get("measures", ()) if one["distractors"] is None],
        ),
    )


def _scoring_form(request: HttpRequest) -> RequestForm:
    shown = ("split", "missing")
    form = RequestForm(operation_named("score_tags"), account_of(request), fields_shown=shown)
    offer_splits(form, "split")
    return form


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
