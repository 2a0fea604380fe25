"""The page of captions that a system wrote, next to their pictures."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Min, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.common.operations import operation_named
from annotation.web.common.access import RUNNING, AddressedThing, account_of, for_roles_on
from annotation.web.common.request_forms import RequestForm
from evaluation.models import CaptionSet, WrittenCaption
from evaluation.web.page_context import page_context, text_parameter
from evaluation.web.submitted_forms import set_row_choices

#: Pictures per page of captions.
PICTURES_PER_PAGE = 24
#: The number of people's captions displayed next to the system's.
_PEOPLE = 2


#: The caption set of an address.
CAPTION_SET = AddressedThing(
    lambda name: (
        CaptionSet.objects.filter(name=name, published=True).select_related("corpus", "made_by").first()
    ),
    gettext_lazy("There is no caption set “%(name)s” here."),
)


@dataclass(frozen=True, slots=True)
class _CaptionRow:
    """A picture with the captions of the set, and the first of people's."""

    captions: list[WrittenCaption]
    people: list[str]

    @property
    def image(self) -> Any:
        """The picture's row."""
        return self.captions[0].image

    @property
    def boxes(self) -> list[tuple[float, float, float, float]]:
        """The regions of its captions as left, top, width and height, counted from 0."""
        corners = [caption.box for caption in self.captions if caption.box]
        return [(left - 1, top - 1, right - left + 1, low - top + 1) for left, top, right, low in corners]


@require_safe
@for_roles_on(CAPTION_SET, *RUNNING)
def caption_set_detail(request: HttpRequest, row: CaptionSet) -> HttpResponse:
    """Show a caption set with its pictures, a page at a time."""
    begin = text_parameter(request.GET, "from")
    first = int(begin) if begin.isascii() and begin.isdigit() and len(begin) < 10 else 0
    order = row.captions.values("image_id").annotate(first=Min("position")).order_by("first")
    images = list(order.values_list("image_id", flat=True)[first : first + PICTURES_PER_PAGE + 1])
    others = row.corpus.captionsets.filter(published=True, regions="")
    return render(
        request,
        "evaluation/captions.html",
        page_context(
            "systems",
            deeper=True,
            row=row,
            shown=_caption_rows(row, images[:PICTURES_PER_PAGE]),
            later=f"?from={first + PICTURES_PER_PAGE}" if len(images) > PICTURES_PER_PAGE else "",
            first="?" if first else "",
            share=None if row.in_training is None else 100 * row.in_training / max(1, row.caption_count),
            mix=None if row.regions else mixing_form(request, "judge_captions", row, others),
        ),
    )


def _caption_rows(row: CaptionSet, images: list[int]) -> list[_CaptionRow]:
    captions: dict[int, list[WrittenCaption]] = {}
    rows = row.captions.filter(image_id__in=images).select_related("image")
    for caption in rows.order_by("position"):
        captions.setdefault(caption.image_id, []).append(caption)
    people: dict[int, list[str]] = {}
    captioned = row.corpus.images.filter(pk__in=images, captions__unrelated=False)
    for image, text in captioned.order_by("captions__number").values_list("pk", "captions__text"):
        people.setdefault(image, []).append(text)
    return [_CaptionRow(captions[pk], people.get(pk, [])[:_PEOPLE]) for pk in images]


def mixing_form(request: HttpRequest, name: str, row: Any, sets: QuerySet[Any]) -> RequestForm | None:
    """Return the form of an operation that mixes a set with other `sets` for judges; None for accounts that
    may not."""
    operation, account = operation_named(name), account_of(request)
    if not operation.permission.allows(account):
        return None
    form = RequestForm(operation, account, initial={"sets": [row.name], "images": 40, "controls": 20})
    form.auto_id = "mix-%s"
    set_row_choices(form, "sets", sets.order_by("name"))
    return form
