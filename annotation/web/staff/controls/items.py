"""Pages of a campaign's control items: what there is, adding from files, layers or agreement, retiring."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotation import campaigns
from annotation.common.registry import UnknownName
from annotation.common.roles import RESEARCHER
from annotation.datasets.layers import MOST_IMAGES_UPDATED_FOR_PAGE, LayerBehind, layer_to_read
from annotation.formats.base import FormatError
from annotation.models import Campaign, Control
from annotation.moderation import control_items, discarding
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.contents import question_from
from annotation.protocol.kinds import draws, kind_of
from annotation.quality import controls, qualification
from annotation.selectors.controls import answered_controls, control_item_counts
from annotation.selectors.corpora import check_split, split_names
from annotation.task_types.base import TASK_TYPES
from annotation.task_types.shown import shown_image
from annotation.task_types.wording import IN_WORDS
from annotation.web.common.access import account_of, for_roles_on
from annotation.web.common.filters import query_number
from annotation.web.staff.frame import (
    CAMPAIGN_OF_ADDRESS,
    campaign_frame,
    layer_is_open,
    layers_open,
    query_string,
    said,
)
from annotation.web.staff.wording import (
    PURPOSES,
    SOURCES,
    answer_in_words,
    item_in_words,
    kind_in_words,
    kinds_in_words,
)

#: Control items on a page.
_PAGE = 40
#: Bytes of a file of control items, at most: some ten thousand of them.
_LARGEST = 4 * 2**20
#: Images whose questions are looked at when control items are made from a layer.
_IMAGES = 60


@dataclass(frozen=True, slots=True)
class ShownItem:
    """A control item as a line: the words it is about, its answer, and how many of those asked gave it."""

    row: Control
    kind: str
    purpose: str
    source: str
    words: tuple[str, ...]
    answer: str
    right: int
    asked: int


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def control_item_list(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """What control items there are, counted and one by one, and the ways to add more."""
    kind, purpose = request.GET.get("kind", ""), request.GET.get("purpose", "")
    kind = kind if kind in TASK_TYPES else ""
    purpose = purpose if purpose in PURPOSES else ""
    rows = Control.objects.filter(campaign=campaign, active=True).select_related("image")
    if kind:
        rows = rows.filter(kind=kind)
    if purpose:
        rows = rows.filter(purpose=purpose)
    before = query_number(request.GET, "before")
    if before is not None:
        rows = rows.filter(pk__lt=before)
    found = list(rows.order_by("-pk")[: _PAGE + 1])
    settings = settings_of(campaign.settings)
    return render(
        request,
        "annotation/staff/known.html",
        campaign_frame(
            request,
            campaign,
            "known",
            counts=_counts(campaign),
            warnings=[
                *qualification.test_warnings(campaign=campaign, settings=settings, words=IN_WORDS).values(),
                *controls.control_warnings(
                    campaign=campaign, settings=settings.trust, words=IN_WORDS
                ).values(),
            ],
            items=_shown(found[:_PAGE]),
            later=query_string(kind=kind, purpose=purpose, before=found[_PAGE - 1].pk)
            if len(found) > _PAGE
            else "",
            first=(query_string(kind=kind, purpose=purpose) or "?") if before is not None else "",
            kind=kind,
            purpose=purpose,
            kinds=kinds_in_words(campaign),
            purposes=PURPOSES.items(),
            promotable=[(each, kind_in_words(each)) for each in q.QUESTIONS if kind_of(each).promotable],
            layers=[layer for layer in layers_open(request, campaign) if layer.name != campaign.name],
            chained=campaign.kinds == q.QUESTIONS,
            splits=split_names(campaign.corpus) if campaigns.asks_pairs(campaign.tasks) else [],
            images=_IMAGES,
        ),
    )


@require_POST
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def control_item_add(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Add control items from a CSV file, from a layer, or from what workers agree on."""
    refusals = (
        controls.BadItem,
        controls.BadItems,
        control_items.NoGold,
        control_items.CannotPromote,
        FormatError,
        LayerBehind,
        UnknownName,
        BadUpload,
    )
    with said(request, *refusals) as tell:
        done = _added(request, campaign)
        text = ngettext("%(n)d control item added", "%(n)d control items added", done.added)
        there = ngettext("; %(n)d already existed.", "; %(n)d already existed.", done.there)
        tell(text % {"n": done.added} + (there % {"n": done.there} if done.there else "."))
        if done.passed_over:
            over = ngettext(
                "%(n)d was skipped, because something contradicts its answer or it is no longer asked: "
                "%(items)s.",
                "%(n)d were skipped, because something contradicts their answers or they are no longer "
                "asked: %(items)s.",
                len(done.passed_over),
            )
            names = "; ".join(map(item_in_words, done.passed_over))
            tell(over % {"n": len(done.passed_over), "items": names})
    return redirect("known_items", campaign.name)


@require_POST
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def control_item_retire(request: HttpRequest, campaign: Campaign, item: int) -> HttpResponse:
    """Take a control item out of use. Answers given on it keep counting, unless the item was wrong itself."""
    actor = account_of(request)
    found = Control.objects.filter(campaign=campaign, pk=item, active=True)
    with said(request) as tell:
        if not found.exists():
            tell(_("It was not in use: nothing changed."))
        elif request.POST.get("act") == "disown":
            changed = discarding.disown_control_item(campaign=campaign, control=item, actor=actor)
            text = ngettext(
                "Item retired. The accuracy of %(n)d worker no longer counts it.",
                "Item retired. The accuracy of %(n)d workers no longer counts it.",
                changed,
            )
            tell(text % {"n": changed})
        else:
            controls.retire_control_items(campaign=campaign, controls=[item], actor=actor)
            tell(_("Item retired. Answers already given to it still count."))
    return redirect("known_items", campaign.name)


class BadUpload(ValueError):
    """A form without what it needs, or a file that cannot be taken."""


def _added(request: HttpRequest, campaign: Campaign) -> controls.Added:
    """What the form's button says, done."""
    actor = account_of(request)
    purpose = request.POST.get("purpose", "")
    match request.POST.get("act", ""):
        case "csv":
            return _from_file(request.FILES.get("file"), campaign, actor)
        case "promote":
            least = query_number(request.POST, "at_least") or 3
            return control_items.promote(
                campaign=campaign,
                kind=request.POST.get("kind", ""),
                at_least=least,
                purpose=purpose if purpose in PURPOSES else Control.CONTROL,
                actor=actor,
            )
        case "layer":
            wanted = request.POST.get("layer", "")
            if not layer_is_open(request, campaign, wanted):
                raise UnknownName(_("Your role covers only this campaign, not the layers of its corpus."))
            layer = layer_to_read(campaign.corpus, wanted, most=MOST_IMAGES_UPDATED_FOR_PAGE)
            assert layer is not None  # A name was given.
            return control_items.from_gold(campaign=campaign, layer=layer, images=_IMAGES, actor=actor)
        case "captions":
            split = request.POST.get("split", "")
            check_split(campaign.corpus, split)
            return controls.from_split(campaign=campaign, split=split, seed=campaign.seed, actor=actor)
        case _other:
            raise BadUpload(_("Nothing was chosen: use one of the buttons."))


def _from_file(file: Any, campaign: Campaign, actor: Any) -> controls.Added:
    """The items of an uploaded CSV file; messages name it as its sender does."""
    if not isinstance(file, UploadedFile):
        raise BadUpload(_("No file was sent: choose a CSV file first."))
    if (file.size or 0) > _LARGEST:
        raise BadUpload(
            _("The file has %(size)d MiB; at most %(most)d are allowed.")
            % {"size": (file.size or 0) // 2**20 + 1, "most": _LARGEST // 2**20}
        )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "items.csv"
        path.write_bytes(file.read())
        try:
            return controls.from_csv(campaign=campaign, file=path, actor=actor)
        except FormatError as error:
            raise BadUpload(str(error).replace(str(path), str(file.name))) from error


def _counts(campaign: Campaign) -> list[tuple[str, list[str]]]:
    """Kind -> for each purpose how many items there are of each answer, in words."""
    found: dict[str, dict[str, list[str]]] = {}
    for (kind, purpose, answer), items in control_item_counts(campaign).items():
        of = found.setdefault(kind, {each: [] for each in PURPOSES})
        of[purpose].append(f"{answer_in_words(kind, answer)} {items}")
    return [
        (str(kind_in_words(kind)), [", ".join(told) for told in of.values()]) for kind, of in found.items()
    ]


def _shown(rows: list[Control]) -> list[ShownItem]:
    told = answered_controls(row.pk for row in rows)
    found = []
    for row in rows:
        answer = row.stratum if not draws(row.kind) else ("drawn" if row.known else "none")
        found.append(
            ShownItem(
                row,
                str(kind_in_words(row.kind)),
                str(PURPOSES[row.purpose]),
                str(SOURCES.get(row.source, row.source)),
                _about(row),
                str(answer_in_words(row.kind, answer)),
                *told.get(row.pk, (0, 0)),
            )
        )
    return found


def _about(row: Control) -> tuple[str, ...]:
    """The words that an item is about: mentions, the sentence to be judged, or a page's true captions."""
    if (words := TASK_TYPES.get(row.kind).words_of_item(row.content, row.known)) is not None:
        return words
    question = question_from(row.kind, row.key, row.content)
    return tuple(_words(name, row.image_id) for name in question.mentions)


def _words(mention: str, image: int) -> str:
    """The words of a mention's id."""
    number, _colon, span = mention.partition(":")
    start, end = map(int, span.split("-"))
    return " ".join(shown_image(image).captions[int(number)].words[start:end])
