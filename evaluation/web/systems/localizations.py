"""The page of a localization set: its figures, and its regions next to people's boxes."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.formats import localize
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_safe

from annotation.common.operations import operation_named
from annotation.datasets.layers import MOST_IMAGES_UPDATED_FOR_PAGE, LayerBehind, layer_to_read
from annotation.web.common.access import RUNNING, AddressedThing, account_of, for_roles_on
from annotation.web.common.request_forms import RequestForm
from evaluation.models import LocalizationSet
from evaluation.services.localizations.files import ImportedLocalizations
from evaluation.services.localizations.measures import OF_STORED_REGIONS, RECALL_RANKS
from evaluation.services.localizations.mention_pages import (
    ALL_MENTIONS,
    MENTION_FILTERS,
    MentionPage,
    mention_page,
)
from evaluation.services.localizations.stored_scores import key_of_report, reports_against
from evaluation.services.localizations.tables import recalls_of
from evaluation.web.page_context import page_context, set_choices, text_parameter
from evaluation.web.tags.figures import level, subset_in_words

#: Pictures per page.
IMAGES_PER_PAGE = 12


#: The localization set of an address.
LOCALIZATION_SET = AddressedThing(
    lambda name: (
        LocalizationSet.objects.filter(name=name, published=True).select_related("corpus", "made_by").first()
    ),
    gettext_lazy("There is no localization set “%(name)s” here."),
)


@require_safe
@for_roles_on(LOCALIZATION_SET, *RUNNING)
def localization_set_page(request: HttpRequest, row: LocalizationSet) -> HttpResponse:
    """Show a localization set: its figures, and its pictures a page at a time."""
    layers = list(row.corpus.layers.filter(published=True).order_by("name").values_list("name", flat=True))
    requested_layer = text_parameter(request.GET, "layer")
    # Stored figures are displayed even if there are none against the set's own layer.
    usual = [row.layer] if row.layer in row.scores else [*sorted(row.scores), row.layer]
    layer = next((name for name in (requested_layer, *usual, *layers) if name in layers), "")
    which = text_parameter(request.GET, "show")
    which = which if which in MENTION_FILTERS else ALL_MENTIONS
    begin = text_parameter(request.GET, "from")
    first = int(begin) if begin.isascii() and begin.isdigit() and len(begin) < 10 else 0
    behind, page = "", MentionPage([], 0)
    if layer:
        try:
            read = layer_to_read(row.corpus, layer, most=MOST_IMAGES_UPDATED_FOR_PAGE)
            page = mention_page(row, read, which, first, IMAGES_PER_PAGE)
        except LayerBehind as error:
            behind = str(error)
    reports_by_key = {key_of_report(report): report for report in reports_against(row, layer)}
    of_parameter = text_parameter(request.GET, "of")
    of = of_parameter if of_parameter in reports_by_key else next(iter(reports_by_key), "")
    return render(
        request,
        "evaluation/localizations.html",
        page_context(
            "systems",
            deeper=True,
            row=row,
            layers=layers,
            layer=layer,
            which=which,
            page=page,
            behind=behind,
            first=first,
            report=_figures(reports_by_key[of]) if reports_by_key else None,
            kept=[(key, subset_in_words(report["subset"])) for key, report in reports_by_key.items()],
            of=of,
            form=_scoring_form(request, row, layers, layer),
        ),
    )


def _scoring_form(request: HttpRequest, row: LocalizationSet, layers: list[str], layer: str) -> RequestForm:
    operation, only_fields = operation_named("score_localization"), ("layer", "against", "missing")
    form = RequestForm(operation, account_of(request), initial={"layer": layer}, only_fields=only_fields)
    form.auto_id = "score-%s"
    set_choices(form, "layer", layers)
    same = row.corpus.localizationsets.filter(published=True).exclude(pk=row.pk).order_by("name")
    set_choices(form, "against", [other_set.name for other_set in same.defer("scores")], none=_("none"))
    return form


def remarks_on_import(imported: ImportedLocalizations) -> list[str]:
    """Return what happened to a file's regions, where anything did."""
    remarks = []
    if imported.clipped:
        remarks.append(
            ngettext(
                "%(number)s region reached out of its picture and was cut.",
                "%(number)s regions reached out of their picture and were cut.",
                imported.clipped,
            )
            % {"number": localize(imported.clipped)}
        )
    if imported.outside:
        remarks.append(
            ngettext(
                "%(number)s region lay wholly outside its picture and was left out.",
                "%(number)s regions lay wholly outside their picture and were left out.",
                imported.outside,
            )
            % {"number": localize(imported.outside)}
        )
    if imported.reordered:
        remarks.append(
            ngettext(
                "%(number)s line was not in the order of its scores, and was put in it.",
                "%(number)s lines were not in the order of their scores, and were put in it.",
                imported.reordered,
            )
            % {"number": localize(imported.reordered)}
        )
    if imported.elsewhere:
        remarks.append(
            ngettext(
                "%(number)s mention is of an image that you did not name; it is kept, but not counted.",
                "%(number)s mentions are of images that you did not name; they are kept, but not counted.",
                imported.elsewhere,
            )
            % {"number": localize(imported.elsewhere)}
        )
    return remarks


def _figures(report: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a report for display: shares in per cent."""
    recalls = recalls_of(report)
    kinds = (*recalls, "AP", "proposals")
    cut_at, differences = (_cut_rank(report.get(key)) for key in ("cut_at", "differences_cut_at"))

    def part(rows: list[dict[str, Any]], key: str) -> list[tuple[str, int, list[str]]]:
        return [(row[key], row["mentions"], [_percent(row[kind]) for kind in kinds]) for row in rows]

    def with_percents(row: dict[str, Any], value: str) -> dict[str, Any]:
        shares = {"percent": row.get(value), "low_percent": row.get("low"), "high_percent": row.get("high")}
        return {**row, **{key: _percent(share) for key, share in shares.items()}}

    return {
        **report,
        "percent": level(report["level"]),
        "subset": subset_in_words(report["subset"]),
        "unpredicted": report["mentions"] - report["predicted"],
        "recalls": recalls,
        "cut_at": cut_at,
        "differences_cut_at": differences if differences != cut_at else None,
        "fewest_stored": _cut_rank(report.get("fewest_stored")),
        "differences_fewer": report.get("differences_mentions", report["mentions"]) < report["mentions"],
        "precision_of_kept": any(
            row["measure"] == "AP" and OF_STORED_REGIONS in row.get("remark", "")
            for row in report["measures"]
        ),
        "remarks": any(row.get("remark") for row in report.get("differences", ())),
        "measures": [with_percents(row, "value") for row in report["measures"]],
        "differences": [with_percents(row, "difference") for row in report.get("differences", ())],
        "parts": [
            (_("By category"), part(report["categories"], "category"), _("Category")),
            (_("The most frequent phrases"), part(report["frequent"], "phrase"), _("Phrase")),
        ],
    }


def _cut_rank(number: int | None) -> int | None:
    """Return how many regions were stored, if that is fewer than a figure needs."""
    return number if number is not None and number < RECALL_RANKS[-1] else None


def _percent(share: float | None) -> str:
    return "" if share is None else localize(round(100 * share, 1))
