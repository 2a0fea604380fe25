"""Runs by API: the list, one of them, uploads, figures under qrels, comparisons, and TREC files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django.db.models import Q
from django.http import FileResponse
from django.urls import reverse
from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import On
from annotation.api.rest.fields import CallFields, NameField, PlainField, TextField, WholeField
from annotation.api.rest.operations import DELETE, GET, PATCH, POST, ApiCall, ApiRoute, Created, serves
from annotation.common.roles import RESEARCHER
from annotation.formats.base import FormatError
from evaluation.api.given import (
    ArchiveChange,
    ArchivedFilter,
    ProvenanceShown,
    TrainedOnField,
    as_form,
    as_plain_json,
)
from evaluation.api.systems import RESEARCHES
from evaluation.comparison.comparisons import compare_runs, compare_single_run, score_run
from evaluation.comparison.missing import MISSING_CHOICES, REFUSE
from evaluation.comparison.subsets import subset_named
from evaluation.formats.figure_tables import finite_or_none
from evaluation.models import QrelsSnapshot, Run
from evaluation.services.archiving import set_archived
from evaluation.services.runs.files import (
    KEEP,
    RUN_DEPTH,
    RUN_DIRECTIONS,
    RUN_FORMATS,
    TIES,
    RunImport,
    export_run,
    import_run,
)
from evaluation.services.systems import registry
from evaluation.web import offered
from evaluation.web.comparing import MOST_RUNS_COMPARED
from evaluation.web.runs import RUN, RUN_REFUSALS, cached_for_runs, images_key, qrels_of_corpus
from evaluation.web.splits import NotOffered, part_in
from evaluation.web.uploads import UPLOAD_REFUSALS, upload_folder, uploaded_file

_TAG = "runs"
_ON_RUN = On(RUN, (RESEARCHER,))
_ONE = "runs/<slug:name>"
_ROUNDS = 10_000


class RunShown(serializers.Serializer[Any]):
    """A run: the rankings of one system in one direction. annotation: images ask for captions; search: the
    reverse. `depth` is how many items of each ranking are kept; 0 is all."""

    name = NameField()
    corpus = NameField()
    direction = serializers.ChoiceField(RUN_DIRECTIONS)
    system = serializers.CharField()
    split = serializers.CharField()
    protocol = serializers.CharField()
    format = serializers.CharField()
    queries = serializers.IntegerField()
    entries = serializers.IntegerField()
    depth = serializers.IntegerField()
    digest = serializers.CharField()
    created_at = serializers.DateTimeField()
    archived = serializers.BooleanField(help_text="Whether lists leave it out.")


class FigureShown(serializers.Serializer[Any]):
    """One measure of a run. `optimistic` is its value if all that nobody judged were relevant."""

    measure = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    optimistic = serializers.FloatField(allow_null=True)
    queries = serializers.IntegerField()


class ScoresShown(serializers.Serializer[Any]):
    """A run's figures under one version of qrels."""

    run = NameField()
    direction = serializers.ChoiceField(RUN_DIRECTIONS)
    qrels = serializers.CharField()
    version = serializers.IntegerField()
    digest = serializers.CharField()
    subset = serializers.CharField()
    basis = PlainField(help_text="What the figures are of.")
    queries = serializers.IntegerField()
    missing = serializers.IntegerField(help_text="Queries that the run does not rank.")
    remarks = serializers.ListField(child=serializers.CharField())
    provenance = serializers.DictField(child=ProvenanceShown(), help_text="By the run's name.")
    measures = FigureShown(many=True)


class ComparisonShown(serializers.Serializer[Any]):
    """Runs of one direction under the same qrels: all figures, and each later run tested against the
    first."""

    baseline = serializers.CharField()
    direction = serializers.ChoiceField(RUN_DIRECTIONS)
    qrels = serializers.CharField()
    version = serializers.IntegerField()
    digest = serializers.CharField()
    basis = PlainField(help_text="What the figures are of.")
    queries = serializers.IntegerField()
    systems = serializers.ListField(child=PlainField())
    tests = serializers.ListField(child=PlainField())
    remarks = serializers.ListField(child=serializers.CharField())
    provenance = serializers.DictField(child=ProvenanceShown(), help_text="By the run's name.")


class RunFilter(ArchivedFilter):
    """Which runs."""

    corpus = NameField(required=False)
    direction = serializers.ChoiceField(RUN_DIRECTIONS, required=False)
    system = TextField(required=False)
    find = TextField(required=False, help_text="A part of the name of the run or its system.")


class ScoringWanted(CallFields):
    """Under which qrels, NAME or NAME:VERSION (the newest of the corpus without it), and of which images:
    a split, a fold such as 1/5, or run:NAME. Queries that a run does not rank are left out, or count as
    the worst."""

    qrels = TextField(required=False)
    split = TextField(required=False)
    missing = serializers.ChoiceField(MISSING_CHOICES, required=False)


class ComparisonWanted(CallFields):
    """Runs of one direction, the one that others are tested against first; and as in scoring one."""

    runs = serializers.ListField(child=NameField(), min_length=1, max_length=MOST_RUNS_COMPARED)
    qrels = TextField(required=False)
    measures = serializers.ListField(child=TextField(max_length=60), required=False, max_length=50)
    split = TextField(required=False)
    missing = serializers.ChoiceField(MISSING_CHOICES, required=False)


class RunSent(CallFields):
    """A run made elsewhere, as a file: a TREC run, a matrix of scores, or embeddings."""

    name = NameField()
    corpus = NameField()
    direction = serializers.ChoiceField(RUN_DIRECTIONS)
    format = serializers.ChoiceField(RUN_FORMATS, required=False)
    system = NameField(required=False, help_text="What made it; the tag of a TREC run without it.")
    trained_on = TrainedOnField()
    depth = WholeField(
        required=False, max_value=10**6, help_text="Of scores: how many items of each are kept."
    )
    file = serializers.FileField(required=False)
    ids = serializers.FileField(required=False)


class TiesWanted(CallFields):
    """What becomes of equal scores: they stay, or are written a hair apart."""

    ties = serializers.ChoiceField(TIES, required=False)


@serves(
    ApiRoute(
        route="runs",
        method=GET,
        path="runs",
        tag=_TAG,
        opens=RESEARCHES,
        asked=RunFilter,
        answers=RunShown,
        listed=True,
    )
)
def runs_list_call(call: ApiCall) -> CursorPage:
    """List runs, by name."""
    registry.register_unlisted_systems()
    found = offered.published_runs(call.request).select_related("corpus", "made_by")
    found = found.filter(archived_at__isnull=not call.asked.get("archived", False))
    asked = call.asked
    if "corpus" in asked:
        found = found.filter(corpus__name=asked["corpus"])
    if "direction" in asked:
        found = found.filter(direction=asked["direction"])
    if "system" in asked:
        found = found.filter(Q(made_by__name=asked["system"]) | Q(system=asked["system"]))
    if "find" in asked:
        found = found.filter(Q(name__icontains=asked["find"]) | Q(system__icontains=asked["find"]))
    return call.rows.of_rows(found, "name", _run_plain)


@serves(
    ApiRoute(
        route="runs",
        method=POST,
        path="runs",
        tag=_TAG,
        opens=RESEARCHES,
        body=RunSent,
        uploads=("file", "ids"),
        own_transactions=True,
        makes=True,
        answers=RunShown,
        refuses=UPLOAD_REFUSALS,
        example={"name": "near", "corpus": "harbour", "direction": "annotation"},
    )
)
def run_upload_call(call: ApiCall) -> Created:
    """Import a run from a file: all of it, or nothing."""
    corpus = offered.offered_corpus(call.request, call.data["corpus"])
    with upload_folder(call.request, commands="import_run") as folder:
        file = uploaded_file(call.request, folder, "file", beside="ids")
        if file is None:
            raise NotOffered("no file was sent; send one as the field “file”")
        import_run(
            RunImport(
                name=call.data["name"],
                corpus=corpus.name,
                path=file,
                format=call.data.get("format", RUN_FORMATS[0]),
                direction=call.data["direction"],
                system=call.data.get("system", ""),
                depth=call.data.get("depth", RUN_DEPTH),
                source=file.name,
                declared=offered.declared_training(call.request, call.data.get("trained_on", "")),
            ),
            wanted=registry.RequestedBy(account=call.account.pk),
        )
    made = Run.objects.select_related("corpus", "made_by").get(name=call.data["name"])
    return Created(_run_plain(made), reverse("v1_run", args=[made.name]))


@serves(ApiRoute(route="run", method=GET, path=_ONE, tag=_TAG, opens=_ON_RUN, answers=RunShown))
def run_show_call(call: ApiCall, run: Run) -> dict[str, Any]:
    """Show a run."""
    return _run_plain(run)


@serves(
    ApiRoute(
        route="run",
        method=PATCH,
        path=_ONE,
        tag=_TAG,
        opens=_ON_RUN,
        body=ArchiveChange,
        answers=RunShown,
        example={"archived": True},
    )
)
def run_change_call(call: ApiCall, run: Run) -> dict[str, Any]:
    """Archive a run, or bring it back: lists leave archived ones out, unless they are asked for."""
    set_archived(run, archived=call.data["archived"], actor=call.account)
    return _run_plain(run)


@serves(ApiRoute(route="run", method=DELETE, path=_ONE, tag=_TAG, opens=_ON_RUN, refuses=(registry.InUse,)))
def run_delete_call(call: ApiCall, run: Run) -> None:
    """Remove a run; refused while a batch or a report was made from it."""
    registry.remove_run(name=run.name, actor=call.account)


@serves(
    ApiRoute(
        route="run_trec",
        method=GET,
        path=f"{_ONE}/trec",
        tag=_TAG,
        opens=_ON_RUN,
        asked=TiesWanted,
        file="text/plain",
        refuses=(FormatError,),
    )
)
def run_download_call(call: ApiCall, run: Run) -> FileResponse:
    """Download a run as a TREC file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{run.name}.trec"
        export_run(name=run.name, out=file, ties=call.asked.get("ties", KEEP))
        # The open file outlives its name.
        return FileResponse(
            file.open("rb"), as_attachment=True, filename=file.name, content_type="text/plain"
        )


@serves(
    ApiRoute(
        route="run_scores",
        method=GET,
        path=f"{_ONE}/scores",
        tag=_TAG,
        opens=_ON_RUN,
        asked=ScoringWanted,
        answers=ScoresShown,
        refuses=RUN_REFUSALS,
    )
)
def run_scores_call(call: ApiCall, run: Run) -> dict[str, Any]:
    """Score a run under qrels: every measure."""
    snapshot, split, missing = _conditions(call, call.asked, [run])
    subset = subset_named(run.corpus.name, split, files=False)

    def make() -> dict[str, Any]:
        return score_run(run, snapshot, subset=subset, missing=missing)

    found = cached_for_runs("scored-5", [run], snapshot, make, split, images_key(subset), missing)
    return {
        **{
            key: found[key]
            for key in ("run", "direction", "qrels", "version", "digest", "subset", "basis", "queries")
        },
        "missing": found["missing"],
        "remarks": list(found["remarks"]),
        "provenance": found["provenance"],
        "measures": [
            {
                "measure": one["measure"],
                "value": _finite(one["value"]),
                "optimistic": _finite(one["optimistic"]),
                "queries": one["queries"],
            }
            for one in found["measures"]
        ],
    }


@serves(
    ApiRoute(
        route="comparisons",
        method=GET,
        path="comparisons",
        tag=_TAG,
        opens=RESEARCHES,
        asked=ComparisonWanted,
        answers=ComparisonShown,
        refuses=RUN_REFUSALS,
    )
)
def runs_compare_call(call: ApiCall) -> dict[str, Any]:
    """Compare runs of one direction: figures, and tests against the first by 10,000 rounds of
    randomisation."""
    runs = offered.offered_runs(call.request, list(dict.fromkeys(call.asked["runs"])))
    if len({run.direction for run in runs}) > 1:
        raise NotOffered("runs of both directions cannot be compared; name those of one direction")
    snapshot, split, missing = _conditions(call, call.asked, runs)
    subset = subset_named(snapshot.corpus.name, split, files=False)
    measures = call.asked.get("measures", [])

    def make() -> dict[str, Any]:
        if len(runs) == 1:
            return compare_single_run(runs[0], snapshot, measures, subset=subset, missing=missing)
        return compare_runs(runs, snapshot, measures, subset=subset, missing=missing, rounds=_ROUNDS)

    more = (split, images_key(subset), missing, *measures)
    found = cached_for_runs("compared-api-3", runs, snapshot, make, *more)
    told: dict[str, Any] = as_plain_json({key: found[key] for key in ComparisonShown().fields})
    return told


def _conditions(call: ApiCall, asked: Any, runs: list[Run]) -> tuple[QrelsSnapshot, str, str]:
    """The qrels, the images and what becomes of queries that are not ranked; raises one of RUN_REFUSALS."""
    choices = qrels_of_corpus(*runs)
    if "qrels" in asked:
        snapshot = offered.offered_qrels(call.request, asked["qrels"])
    elif choices:
        snapshot = choices[0]
    else:
        raise NotOffered(
            "there are no qrels that these runs can be scored under; freeze or import some first"
        )
    split = part_in(as_form({"split": asked.get("split", "")}), "split", snapshot.corpus)
    return snapshot, split, asked.get("missing", REFUSE)


def _finite(value: float | None) -> float | None:
    return None if value is None else finite_or_none(value)


def _run_plain(run: Run) -> dict[str, Any]:
    return {
        "name": run.name,
        "corpus": run.corpus.name,
        "direction": run.direction,
        "system": run.made_by.name if run.made_by is not None else run.system,
        "split": run.split,
        "protocol": run.protocol,
        "format": run.format,
        "queries": run.query_count,
        "entries": run.entry_count,
        "depth": run.depth,
        "digest": run.digest,
        "created_at": json_time(run.created_at),
        "archived": run.archived_at is not None,
    }
