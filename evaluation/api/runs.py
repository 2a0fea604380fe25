"""Runs by API: the list, one of them, uploads, figures under qrels, comparisons, and TREC files."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.api.rest.doors import On
from annotation.api.rest.fields import CallFields, NameField, PlainField, TextField
from annotation.api.rest.operations import GET, ApiCall, ApiRoute, serves
from annotation.common.roles import RESEARCHER
from evaluation.api.given import (
    ProvenanceShown,
    as_form,
    as_plain_json,
)
from evaluation.api.systems import RESEARCHES
from evaluation.comparison.comparisons import compare_runs, compare_single_run, score_run
from evaluation.comparison.missing import MISSING_CHOICES, REFUSE
from evaluation.comparison.subsets import subset_named
from evaluation.formats.figure_tables import finite_or_none
from evaluation.models import QrelsSnapshot, Run
from evaluation.services.runs.directions import RUN_DIRECTIONS
from evaluation.web import offered
from evaluation.web.comparing import MOST_RUNS_COMPARED
from evaluation.web.runs import RUN, RUN_REFUSALS, cached_for_runs, images_key, qrels_of_corpus
from evaluation.web.splits import NotOffered, part_in

_TAG = "runs"
_ON_RUN = On(RUN, (RESEARCHER,))
_ONE = "runs/<slug:name>"
_ROUNDS = 10_000


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
