"""The page of a tag set: its scores, and its tags next to their pictures."""

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
from evaluation.web.page_context import page_context, suggest_splits, text_parameter
from evaluation.web.systems.captions import mixing_form

#: Pictures per page of tags.
TAGGED_PER_PAGE = 24
#: Tags displayed for each picture.
_MOST_TAGS = 10


#: The tag set of an address.
TAG_SET = AddressedThing(
    lambda name: TagSet.objects.filter(name=name, published=True).select_related("corpus", "made_by").first(),
    gettext_lazy("There is no tag set “%(name)s” here."),
)


@dataclass(frozen=True, slots=True)
class _TagOnPage:
    """A tag, and whether one of people's captions contains all of its words."""

    tag: str
    score: float
    in_caption: bool


@dataclass(frozen=True, slots=True)
class _PictureRow:
    """A picture's row with its tags and the first of people's captions."""

    image: Any
    tags: list[_TagOnPage]
    caption: str


@require_safe
@for_roles_on(TAG_SET, *RUNNING)
def tag_set_page(request: HttpRequest, row: TagSet) -> HttpResponse:
    """Show a tag set with its scores and its pictures, a page at a time."""
    begin = text_parameter(request.GET, "from")
    first = int(begin) if begin.isascii() and begin.isdigit() and len(begin) < 10 else 0
    rows = row.images.defer("scores").select_related("image").order_by("position")
    tagged = list(rows[first : first + TAGGED_PER_PAGE + 1])
    figures = row.figures
    return render(
        request,
        "evaluation/tags.html",
        page_context(
            "systems",
            deeper=True,
            row=row,
            shown=_picture_rows(row, tagged[:TAGGED_PER_PAGE]),
            later=f"?from={first + TAGGED_PER_PAGE}" if len(tagged) > TAGGED_PER_PAGE else "",
            first="?" if first else "",
            form=_scoring_form(request),
            splits=[item for item in row.corpus.images.values_list("split", flat=True).distinct() if item],
            figures=figures,
            pools=[item for item in figures.get("measures", ()) if item["distractors"] is not None],
            interval_remarks=interval_remarks(figures) if figures else [],
            mix=mixing_form(request, "judge_tags", row, row.corpus.tagsets.filter(published=True)),
            others=[item for item in figures.get("measures", ()) if item["distractors"] is None],
        ),
    )


def _scoring_form(request: HttpRequest) -> RequestForm:
    only_fields = ("split", "missing")
    form = RequestForm(operation_named("score_tags"), account_of(request), only_fields=only_fields)
    suggest_splits(form, "split")
    return form


def _picture_rows(row: TagSet, tagged: list[TaggedImage]) -> list[_PictureRow]:
    captions_by_image: dict[int, list[str]] = {}
    rows = row.corpus.images.filter(
        pk__in=[tagged_image.image_id for tagged_image in tagged], captions__unrelated=False
    )
    for image, text in rows.order_by("captions__number").values_list("pk", "captions__text"):
        captions_by_image.setdefault(image, []).append(text)
    pictures = []
    for tagged_image in tagged:
        captions = captions_by_image.get(tagged_image.image_id, [])
        words = {word for text in captions for word in text.lower().split()}
        tags = [
            _TagOnPage(tag, score, set(tag.split()) <= words) for tag, score in tagged_image.tags[:_MOST_TAGS]
        ]
        pictures.append(_PictureRow(tagged_image.image, tags, captions[0] if captions else ""))
    return pictures
