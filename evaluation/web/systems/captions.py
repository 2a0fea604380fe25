"""The pages of captions that systems wrote: asked for, looked at beside their pictures, and judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Min, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from annotation import jobs
from annotation.common.locks import Busy
from annotation.common.roles import Scope
from annotation.selectors.jobs import Job
from annotation.selectors.scopes import Corpus
from annotation.web.common.access import RUNNING, AddressedThing, account_of, for_roles_on
from annotation.web.staff.frame import said
from evaluation.models import CaptionSet, System, WrittenCaption
from evaluation.services.captions.sets import remove_caption_set, write_coco_results
from evaluation.services.features.store import feature_sets
from evaluation.services.systems import registry
from evaluation.web.frame import evaluation_frame, file_download, text_parameter
from evaluation.web.splits import NotOffered, which_in, whole_in
from models_core.estimators.base import METHODS

#: Pictures on a page of captions.
PICTURES_PER_PAGE = 24
#: Captions of people's own that stand beside the system's.
_PEOPLE = 2


def _found(name: str) -> System | None:
    registry.register_unlisted_systems()
    return System.objects.select_related("corpus").filter(name=name).first()


#: The system, and the caption set, of an address.
_SYSTEM = AddressedThing(_found, gettext_lazy("There is no system “%(name)s” here."))
CAPTION_SET = AddressedThing(
    lambda name: (
        CaptionSet.objects.filter(name=name, published=True).select_related("corpus", "made_by").first()
    ),
    gettext_lazy("There is no caption set “%(name)s” here."),
)


def writes_captions(row: System) -> bool:
    """Whether a system can be asked for captions: its method writes them, or takes parts of sentences for
    regions."""
    method = METHODS.get(row.settings.get("recipe", {}).get("method", ""))
    return method is not None and (method.predicts == "captions" or method.name == "alignment")


def sets_of_regions(row: System) -> list[str]:
    """The sets of regions of its corpus, by their labels."""
    return [found.label for found in feature_sets(row.corpus.name) if found.kind == "region"]


@require_POST
@for_roles_on(_SYSTEM, *RUNNING)
def system_write(request: HttpRequest, row: System) -> HttpResponse:
    """Have a system write captions, as a job."""
    then = redirect("evaluation:system", row.name)
    with said(request, jobs.JobError, NotOffered) as tell:
        enqueue_writing(request, row, request.POST)
        tell(_("Writing captions. They are on the system’s page when they are done."))
        then = redirect("evaluation:systems")
    return then


def enqueue_writing(request: HttpRequest, row: System, given: QueryDict) -> Job:
    """The job in which a system writes the captions that a form asks for; raises NotOffered, JobError."""
    if not writes_captions(row):
        raise NotOffered(_("System “%(name)s” does not write captions.") % {"name": row.name})
    regions = text_parameter(given, "regions")
    if regions and regions not in sets_of_regions(row):
        raise NotOffered(_("There are no such regions: choose from the list."))
    arguments: dict[str, Any] = {
        "system": row.name,
        "name": text_parameter(given, "name"),
        "split": which_in(given, "split", row.corpus, or_all=True),
        "regions": regions,
        "beam": whole_in(given, "beam", default=7),
        "limit": whole_in(given, "limit", default=20),
    }
    return jobs.enqueue(
        kind="generate_captions", arguments=arguments, corpus=row.corpus, actor=account_of(request)
    )


@dataclass(frozen=True, slots=True)
class _Shown:
    """A picture with the captions of the set, and the first of people's."""

    captions: list[WrittenCaption]
    people: list[str]

    @property
    def image(self) -> Any:
        """The picture's row."""
        return self.captions[0].image

    @property
    def boxes(self) -> list[tuple[float, float, float, float]]:
        """The regions of its captions as left, top, width and height, from 0 on."""
        corners = [caption.box for caption in self.captions if caption.box]
        return [(left - 1, top - 1, right - left + 1, low - top + 1) for left, top, right, low in corners]


@require_safe
@for_roles_on(CAPTION_SET, *RUNNING)
def caption_set_detail(request: HttpRequest, row: CaptionSet) -> HttpResponse:
    """A caption set with its pictures, a page at a time."""
    begin = text_parameter(request.GET, "from")
    first = int(begin) if begin.isascii() and begin.isdigit() and len(begin) < 10 else 0
    order = row.captions.values("image_id").annotate(first=Min("position")).order_by("first")
    images = list(order.values_list("image_id", flat=True)[first : first + PICTURES_PER_PAGE + 1])
    return render(
        request,
        "evaluation/captions.html",
        evaluation_frame(
            "systems",
            deeper=True,
            row=row,
            shown=_shown(row, images[:PICTURES_PER_PAGE]),
            later=f"?from={first + PICTURES_PER_PAGE}" if len(images) > PICTURES_PER_PAGE else "",
            first="?" if first else "",
            share=100 * row.in_training / max(1, row.caption_count),
            others=[] if row.regions else _beside(row),
        ),
    )


def _shown(row: CaptionSet, images: list[int]) -> list[_Shown]:
    captions: dict[int, list[WrittenCaption]] = {}
    rows = row.captions.filter(image_id__in=images).select_related("image")
    for caption in rows.order_by("position"):
        captions.setdefault(caption.image_id, []).append(caption)
    people: dict[int, list[str]] = {}
    own = row.corpus.images.filter(pk__in=images, captions__unrelated=False)
    for image, text in own.order_by("captions__number").values_list("pk", "captions__text"):
        people.setdefault(image, []).append(text)
    return [_Shown(captions[pk], people.get(pk, [])[:_PEOPLE]) for pk in images]


@require_safe
@for_roles_on(CAPTION_SET, *RUNNING)
def caption_set_export(request: HttpRequest, row: CaptionSet) -> HttpResponseBase:
    """The set as COCO results."""
    return file_download(f"{row.name}.json", lambda path: write_coco_results(row, path))


@require_POST
@for_roles_on(CAPTION_SET, *RUNNING)
def caption_set_judge(request: HttpRequest, row: CaptionSet) -> HttpResponse:
    """Mix a set with others and with people's captions in a corpus that a batch can ask about, as a job."""
    then = redirect("evaluation:captions", row.name)
    with said(request, jobs.JobError, NotOffered) as tell:
        enqueue_judging(request, row, request.POST)
        tell(_("Mixing the captions. Then open a batch of the new corpus’s runs, with grades and depth 1."))
        then = redirect("evaluation:systems")
    return then


def enqueue_judging(request: HttpRequest, row: CaptionSet, given: QueryDict) -> Job:
    """The job that mixes a set with those that a form names; raises NotOffered, JobError."""
    if not account_of(request).has_role(*RUNNING, on=Scope()):
        raise NotOffered(_("This makes a corpus: it takes a role for the whole server."))
    name = text_parameter(given, "name")
    if not name or Corpus.objects.filter(name=name).exists():
        raise NotOffered(_("Choose a name that no corpus has yet."))
    others = [each for each in given.getlist("with") if each]
    there = set(_beside(row).values_list("name", flat=True))
    if not there.issuperset(others):
        raise NotOffered(_("There is no such caption set: choose from the list."))
    arguments: dict[str, Any] = {
        "name": name,
        "sets": [row.name, *others],
        "people": whole_in(given, "people", default=1),
        "images": whole_in(given, "images", default=0),
        "controls": whole_in(given, "controls", default=0),
    }
    return jobs.enqueue(
        kind="judge_captions", arguments=arguments, corpus=row.corpus, actor=account_of(request)
    )


def _beside(row: CaptionSet) -> QuerySet[CaptionSet]:
    """Sets that can be judged together with one."""
    same = CaptionSet.objects.filter(corpus=row.corpus_id, published=True, regions="")
    return same.exclude(pk=row.pk).order_by("name")


@require_POST
@for_roles_on(CAPTION_SET, *RUNNING)
def caption_set_delete(request: HttpRequest, row: CaptionSet) -> HttpResponse:
    """Take a caption set out."""
    then = redirect("evaluation:captions", row.name)
    with said(request, Busy) as tell:
        remove_caption_set(name=row.name, actor=account_of(request))
        tell(_("Caption set “%(name)s” removed.") % {"name": row.name})
        then = redirect(reverse("evaluation:system", args=[row.made_by.name]))
    return then
