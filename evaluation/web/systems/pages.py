"""The pages of systems: the list, and one system with its origin, its runs, and forms that have it
predict."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.common.operations import operation_named
from annotation.selectors.corpora import split_names
from annotation.selectors.jobs import Job
from annotation.web.common.access import RUNNING, AddressedThing, account_of, for_roles, for_roles_on
from annotation.web.common.lists import SortColumn, list_page
from annotation.web.common.request_forms import RequestForm
from evaluation.models import CaptionSet, LocalizationSet, Run, System, TagSet
from evaluation.services.captions.writing import writes_captions
from evaluation.services.evaluating import TEST_SPLIT
from evaluation.services.localizations.predicting import localizes
from evaluation.services.predicting import method_of, region_sets
from evaluation.services.request_fields import layer_names
from evaluation.services.runs.ranking import can_rank
from evaluation.services.systems import registry
from evaluation.services.systems.folders import system_folder
from evaluation.services.systems.origins import ORIGINS
from evaluation.services.tagging.writing import OF_CORPUS, ways_to_rank_tags
from evaluation.web import visible
from evaluation.web.job_lines import job_lines, pages_of_results
from evaluation.web.page_context import page_context, set_choices, suggest_splits
from evaluation.web.systems.evaluating import comparison_leads
from evaluation.web.systems.learning_curves import curve_plot, curves_of_trainings
from models_core import storage


def writing_form(request: HttpRequest, system: System) -> RequestForm | None:
    """Return the form with which a system writes captions; None if it cannot."""
    if not writes_captions(system):
        return None
    form = _form(request, system, "generate_captions", "name", "split", "regions", "beam", "limit")
    sets = [region_set.label for region_set in region_sets(system.corpus.name)]
    set_choices(form, "regions", sets, none=_("as in the training"))
    return form


def localizing_form(request: HttpRequest, system: System) -> RequestForm | None:
    """Return the form with which a system localizes phrases; None if it cannot, or has no regions to
    rank."""
    if not (localizes(system) and (proposed := proposal_sets_of(system))):
        return None
    form = _form(request, system, "localize", "name", "split", "seed", "regions", "layer")
    set_choices(form, "regions", proposed)
    set_choices(form, "layer", layer_names(system.corpus), none=_("as in the training"))
    return form


def tagging_form(request: HttpRequest, system: System) -> RequestForm | None:
    """Return the form with which a system tags images; None if it cannot."""
    if not (ways := ways_to_rank_tags(system)):
        return None
    scores = ("score",) if len(ways) > 1 else ()
    form = _form(request, system, "tag", "name", "split", "vocabulary", *scores, "top")
    vocabulary = form.fields["vocabulary"].widget
    titles = {"": _("those it learned from"), OF_CORPUS: _("all of the corpus’s captions")}
    vocabulary.choices = [(value, titles.get(value, value)) for value, _title in vocabulary.choices]
    if scores:
        set_choices(form, "score", ways)
    return form


def compares_parts(system: System) -> bool:
    """Whether a system uses regions of the images that it ranks."""
    method = method_of(system)
    return method is not None and method.grounding == "ranking"


def proposal_sets_of(system: System) -> list[str]:
    """Return the labels of its corpus's sets of regions that people did not draw."""
    return [region_set.label for region_set in region_sets(system.corpus.name, proposed=True)]


def _form(request: HttpRequest, system: System, operation: str, *fields: str) -> RequestForm:
    form = RequestForm(operation_named(operation), account_of(request), only_fields=fields)
    form.auto_id = f"{operation}-%s"
    form.fields["name"].widget.attrs["placeholder"] = system.name
    suggest_splits(form, "split")
    return form


#: Systems per page of the list, and its sort orders.
SYSTEMS_PER_PAGE = 50
_SORTS = {
    "name": SortColumn(gettext_lazy("name"), "name"),
    "new": SortColumn(gettext_lazy("newest"), "id", down=True),
    "origin": SortColumn(gettext_lazy("origin"), "origin"),
}
#: Kinds of jobs that make systems, or rank with them.
_KINDS = (
    "evaluate",
    "train_system",
    "rank",
    "extract_visual_words",
    "decode_alignments",
    "generate_captions",
    "judge_captions",
    "judge_tags",
    "localize",
    "score_localization",
    "tag",
    "score_tags",
)


def _system_to_show(name: str) -> System | None:
    registry.register_unlisted_systems()
    return System.objects.select_related("corpus").filter(name=name).first()


#: The system of an address.
SYSTEM = AddressedThing(_system_to_show, gettext_lazy("There is no system “%(name)s” here."))


@require_safe
@for_roles(*RUNNING, corpora=True)
def system_list(request: HttpRequest) -> HttpResponse:
    """List systems, searched, sorted and paged by the address, and the newest jobs about any."""
    registry.register_unlisted_systems()
    systems = visible.visible_systems(request)
    page = list_page(
        systems.select_related("corpus"), request.GET, sorts=_SORTS, number=SYSTEMS_PER_PAGE, archive=True
    )
    runs = run_counts(page.rows)
    lines = job_lines(request, _KINDS, leads=_leads)
    return render(
        request,
        "evaluation/systems.html",
        page_context(
            "systems",
            systems=[
                (row, ORIGINS.get(row.origin).title, _gone(row), runs.get(row.pk, 0)) for row in page.rows
            ],
            page=page,
            any=bool(page.rows) or systems.exists(),
            from_files=_sets_from_files(request),
            jobs=lines,
            curves=curves_of_trainings(request),
            live=any(job.live for job in lines),
        ),
    )


def _sets_from_files(request: HttpRequest) -> list[tuple[str, str, Any]]:
    """Return the sets that come from files: what they contain, the name of their page, and the row."""
    kinds: tuple[tuple[Any, str, str], ...] = (
        (CaptionSet, _("captions"), "evaluation:captions"),
        (TagSet, _("tags"), "evaluation:tags"),
        (LocalizationSet, _("localizations"), "evaluation:localizations"),
    )
    return [
        (kind, page, row)
        for model, kind, page in kinds
        for row in visible.visible_sets(request, model)
        .filter(made_by=None)
        .only("name", "corpus__name", "image_count", "created_at")
    ]


def run_counts(systems: Sequence[System]) -> dict[int, int]:
    """Return the number of published runs by system id, without systems that have none. One query."""
    runs = Run.objects.filter(made_by__in=systems, published=True).order_by()
    return dict(runs.values("made_by").annotate(n=Count("pk")).values_list("made_by", "n"))


@require_safe
@for_roles_on(SYSTEM, *RUNNING)
def system_page(request: HttpRequest, row: System) -> HttpResponse:
    """Show one system: its full origin, what it made, and the forms that have it make more."""
    origin = ORIGINS.get(row.origin)
    method = method_of(row)
    return render(
        request,
        "evaluation/system.html",
        page_context(
            "systems",
            deeper=True,
            system=row,
            origin=origin,
            gone=_gone(row),
            details=_setting_rows(row),
            selection=row.settings.get("selection", []),
            remarks=row.settings.get("remarks", []),
            sources=sorted(row.sources.items()),
            versions=sorted(row.versions.items()),
            runs=row.runs.filter(published=True).order_by("name"),
            splits=[split for split in split_names(row.corpus) if split],
            rank=_ranking_form(request, row),
            decode=_decoding_form(request, row),
            curve=curve_plot(row.name),
            ranks=can_rank(row),
            rank_on=_split_to_rank(row),
            compare_with=_systems_to_compare(request, row),
            write=writing_form(request, row),
            captions=row.captionsets.filter(published=True).order_by("name"),
            tag=tagging_form(request, row),
            tag_sets=row.tagsets.filter(published=True).order_by("name"),
            localizes=localizes(row),
            localize=localizing_form(request, row),
            compares_parts=compares_parts(row),
            localization_sets=row.localizationsets.filter(published=True).order_by("name"),
            proposals=proposal_sets_of(row),
            aligns=method is not None and method.name == "alignment" and bool(row.settings.get("regions")),
            layers=row.corpus.layers.filter(published=True).order_by("name"),
        ),
    )


def _split_to_rank(row: System) -> str:
    """Return the split for testing, if the system has no runs of it yet; else ""."""
    if TEST_SPLIT not in split_names(row.corpus):
        return ""
    return "" if row.runs.filter(published=True, split=TEST_SPLIT).exists() else TEST_SPLIT


def _systems_to_compare(request: HttpRequest, row: System) -> list[str]:
    """Return the names of other systems of the corpus that have runs, if this one has some."""
    if not row.runs.filter(published=True).exists():
        return []
    others = visible.visible_systems(request).filter(corpus=row.corpus, runs__published=True)
    names = others.exclude(pk=row.pk).order_by("name").values_list("name", flat=True)
    return list(names.distinct()[:SYSTEMS_PER_PAGE])


def _ranking_form(request: HttpRequest, row: System) -> RequestForm:
    fields = ["split", "protocol", "name", "seed", *(["regions"] if compares_parts(row) else [])]
    form = RequestForm(operation_named("rank"), account_of(request), only_fields=fields)
    form.auto_id = "rank-%s"
    suggest_splits(form, "split")
    form.fields["name"].widget.attrs["placeholder"] = row.name
    if "regions" in form.fields:
        set_choices(form, "regions", proposal_sets_of(row))
    return form


def _decoding_form(request: HttpRequest, row: System) -> RequestForm:
    fields = ("layer", "split", "beta", "gold")
    form = RequestForm(operation_named("decode_alignments"), account_of(request), only_fields=fields)
    form.auto_id = "decode-%s"
    suggest_splits(form, "split")
    layers = row.corpus.layers.filter(published=True).order_by("name").values_list("name", flat=True)
    set_choices(form, "gold", layers, none=_("none"))
    return form


def _leads(done: Sequence[Job]) -> dict[int, str]:
    """Return the addresses for finished jobs: the system that was trained, or the figures of what was
    ranked."""
    system_names = {
        job.pk: str(job.arguments.get("name" if job.kind == "train_system" else "system", "")) for job in done
    }
    pages = pages_of_results("evaluation:system", system_names, System.objects.all())
    return {**pages, **comparison_leads(done)}


def _gone(row: System) -> bool:
    """Whether a system's stored files no longer exist."""
    return bool(ORIGINS.get(row.origin).stored) and not (system_folder(row.name) / storage.MANIFEST).is_file()


def _setting_rows(row: System) -> list[tuple[str, str]]:
    """Return the settings one by one, those of a recipe by their path in it, without empty ones."""
    settings = {key: value for key, value in row.settings.items() if key not in ("selection", "remarks")}
    return sorted(_one_by_one("", settings))


def _one_by_one(path: str, held: Any) -> Iterator[tuple[str, str]]:
    if isinstance(held, dict):
        for key, value in held.items():
            yield from _one_by_one(f"{path}.{key}" if path else key, value)
    elif isinstance(held, list):
        yield path, ", ".join(map(str, held)) or "–"
    elif held not in ("", None):
        yield path, str(held)
