"""Pages of a campaign's control items: the list; adding from files, layers or agreement; retiring."""

from dataclasses import dataclass

from django.forms import Select
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation import campaigns
from annotation.common.operations import operation_named
from annotation.common.roles import RESEARCHER
from annotation.models import Campaign, Control
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.contents import question_from
from annotation.protocol.kinds import draws
from annotation.quality import controls, qualification
from annotation.selectors.controls import answered_controls, control_item_counts
from annotation.selectors.corpora import split_names
from annotation.task_types.base import TASK_TYPES
from annotation.task_types.displayed import displayed_image
from annotation.task_types.wording import IN_WORDS
from annotation.web.common.access import account_of, for_roles_on
from annotation.web.common.filters import query_number
from annotation.web.common.request_forms import RequestForm
from annotation.web.staff.campaign_pages import CAMPAIGN_OF_ADDRESS, campaign_frame, layers_open, query_string
from annotation.web.staff.wording import PURPOSES, SOURCES, answer_in_words, kind_in_words, kinds_in_words

#: Number of control items on a page.
_PAGE = 40
#: Operations with a form on the page, and the fields that it shows of them.
_FORMS = {
    "import_controls": ("file",),
    "promote_answers": ("kind", "at_least", "purpose"),
    "add_controls_from_layer": ("layer", "images"),
    "add_controls_from_captions": ("split",),
}


@dataclass(frozen=True, slots=True)
class ItemRow:
    """A control item as a line: its words, its answer, and how many answers of workers were right."""

    row: Control
    kind: str
    purpose: str
    source: str
    words: tuple[str, ...]
    answer: str
    right: int
    times_answered: int


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def control_item_list(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show the control items, counted and one by one, and the ways to add more."""
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
    items = list(rows.order_by("-pk")[: _PAGE + 1])
    settings = settings_of(campaign.settings)
    return render(
        request,
        "annotation/staff/control_items.html",
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
            items=_item_rows(items[:_PAGE]),
            later=query_string(kind=kind, purpose=purpose, before=items[_PAGE - 1].pk)
            if len(items) > _PAGE
            else "",
            first=(query_string(kind=kind, purpose=purpose) or "?") if before is not None else "",
            kind=kind,
            purpose=purpose,
            kinds=kinds_in_words(campaign),
            purposes=PURPOSES.items(),
            chained=campaign.kinds == q.QUESTIONS,
            paired=campaigns.asks_pairs(campaign.tasks),
            forms=_forms(request, campaign),
        ),
    )


def _forms(request: HttpRequest, campaign: Campaign) -> dict[str, RequestForm]:
    """Return the forms of the ways to add items, with the existing layers and splits."""
    layers = [layer.name for layer in layers_open(request, campaign) if layer.name != campaign.name]
    choices = {"layer": layers, "split": split_names(campaign.corpus)}
    forms = {}
    for operation, names in _FORMS.items():
        form = RequestForm(operation_named(operation), account_of(request), only_fields=names)
        form.auto_id = f"{operation}-%s"
        for name in choices.keys() & form.fields.keys():
            form.fields[name].widget = Select(choices=[(value, value) for value in choices[name]])
        forms[operation] = form
    return forms


def _counts(campaign: Campaign) -> list[tuple[str, list[str]]]:
    """Return by kind the number of items of each answer, for each purpose, in words."""
    strata: dict[str, dict[str, list[str]]] = {}
    for (kind, purpose, answer), items in control_item_counts(campaign).items():
        of = strata.setdefault(kind, {purpose_key: [] for purpose_key in PURPOSES})
        of[purpose].append(f"{answer_in_words(kind, answer)} {items}")
    return [
        (str(kind_in_words(kind)), [", ".join(cells) for cells in of.values()]) for kind, of in strata.items()
    ]


def _item_rows(rows: list[Control]) -> list[ItemRow]:
    answers = answered_controls(row.pk for row in rows)
    lines = []
    for row in rows:
        answer = row.stratum if not draws(row.kind) else ("drawn" if row.known else "none")
        lines.append(
            ItemRow(
                row,
                str(kind_in_words(row.kind)),
                str(PURPOSES[row.purpose]),
                str(SOURCES.get(row.source, row.source)),
                _about(row),
                str(answer_in_words(row.kind, answer)),
                *answers.get(row.pk, (0, 0)),
            )
        )
    return lines


def _about(row: Control) -> tuple[str, ...]:
    """Return the words of an item: mentions, the sentence to be judged, or a page's true captions."""
    if (words := TASK_TYPES.get(row.kind).words_of_item(row.content, row.known)) is not None:
        return words
    question = question_from(row.kind, row.key, row.content)
    return tuple(_words(name, row.image_id) for name in question.mentions)


def _words(mention: str, image: int) -> str:
    """Return the words of a mention's id."""
    number, _colon, span = mention.partition(":")
    start, end = map(int, span.split("-"))
    return " ".join(displayed_image(image).captions[int(number)].words[start:end])
