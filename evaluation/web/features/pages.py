"""The page of feature sets: their sizes, origins and users, and forms that make new ones."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.common.files import LARGEST_FORM
from annotation.common.operations import operation_named
from annotation.selectors.corpora import layers_of_corpora, splits_of_corpora
from annotation.web.common.access import RUNNING, account_of, for_roles
from annotation.web.common.request_forms import RequestForm
from evaluation.services.collection_requests import PARSE_FILES
from evaluation.services.extraction_requests import NETWORK_FILES
from evaluation.services.features.parses import stored_parses
from evaluation.services.features.store import FeatureSet, feature_sets
from evaluation.services.systems.feature_use import systems_of
from evaluation.web import visible
from evaluation.web.job_lines import job_lines
from evaluation.web.page_context import page_context, set_choices, suggest_splits

#: Kinds of jobs that make feature sets.
_KINDS = (
    "import_features",
    "extract_features",
    "extract_regions",
    "train_word_vectors",
    "import_parses",
    "rank_tags",
)


@require_safe
@for_roles(*RUNNING, corpora=True)
def feature_list(request: HttpRequest) -> HttpResponse:
    """List the feature sets that this account may see, with the forms that make new ones."""
    corpora = visible.visible_corpora(request)
    lines = job_lines(request, _KINDS)
    vectors = _form(request, "train_word_vectors")
    suggest_splits(vectors, "split")
    regions, splits = _form(request, "extract_regions"), splits_of_corpora(corpora)
    set_choices(regions, "split", splits, none=_("all images"))
    layers = dict.fromkeys(corpus_row.name for corpus_row in layers_of_corpora(corpora))
    set_choices(regions, "layer", layers, none=_("none"))
    return render(
        request,
        "evaluation/features.html",
        page_context(
            "features",
            sets=[
                (corpus_row, systems_of(corpus_row))
                for corpus in corpora
                for corpus_row in feature_sets(corpus.name)
            ],
            corpora=corpora,
            networks=NETWORK_FILES.names(),
            splits=splits,
            extracting=_form(request, "extract_features"),
            regions=regions,
            parses=[
                stored for corpus_row in corpora if (stored := stored_parses(corpus_row.name)) is not None
            ],
            parse_files=PARSE_FILES.names(),
            importing=_form(request, "import_features"),
            parsing=_form(request, "import_parses"),
            word_vectors=vectors,
            tags_form=_form(request, "rank_tags", "corpus", "unit", "placed_by"),
            largest=filesizeformat(LARGEST_FORM),
            jobs=lines,
            live=any(job.live for job in lines),
        ),
    )


def _form(request: HttpRequest, name: str, *fields: str) -> RequestForm:
    visible_fields = fields or None
    return RequestForm(
        operation_named(name), account_of(request), only_fields=visible_fields, ids=f"{name}-%s"
    )


def feature_sets_by_kind(corpora: list[Any]) -> dict[str, list[FeatureSet]]:
    """Return the sets of these corpora on which systems can be trained, by kind of item."""
    sets_of_kind: dict[str, list[FeatureSet]] = {}
    for corpus in corpora:
        for feature_set in feature_sets(corpus.name):
            sets_of_kind.setdefault(feature_set.kind, []).append(feature_set)
    return sets_of_kind
