"""The query inspector by API: a run's queries in order, and one with its best items and what was judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import On, missing
from annotation.api.rest.fields import CallFields, TextField
from annotation.api.rest.operations import GET, ApiCall, ApiRoute, serves
from annotation.common.roles import RESEARCHER
from evaluation.comparison import inspection
from evaluation.models import QrelsSnapshot, Run
from evaluation.services.runs.figures import cached_for_runs, qrels_of_corpus
from evaluation.web import offered
from evaluation.web.runs import RUN, RUN_REFUSALS
from evaluation.web.splits import NotOffered

_TAG = "runs"
_ON_RUN = On(RUN, (RESEARCHER,))
_QUERIES = "runs/<slug:name>/queries"
IN_RUN, WORST_FIRST = "run", "worst"


class QueryShown(serializers.Serializer[Any]):
    """What asks: an image, or a caption with its text. `value` is its nDCG@10 under the qrels, null where
    there are none, or where it has none."""

    query = serializers.IntegerField()
    name = serializers.CharField()
    text = serializers.CharField(allow_null=True)
    image = serializers.CharField(help_text="The key of the image that it is or belongs to.")
    value = serializers.FloatField(allow_null=True)


class RankedShown(serializers.Serializer[Any]):
    """A place of the ranking. `original`: the caption is the image's own. `relevance` is that of the qrels,
    null where they do not have the pair; `answers` are the grades that judges gave."""

    place = serializers.IntegerField()
    name = serializers.CharField()
    text = serializers.CharField(allow_null=True)
    image = serializers.CharField()
    score = serializers.FloatField()
    original = serializers.BooleanField()
    relevance = serializers.IntegerField(allow_null=True)
    judged = serializers.BooleanField()
    answers = serializers.ListField(child=serializers.FloatField())


class QueryDetailShown(QueryShown):
    """A query with the ten best items of the run; none where the run does not rank it."""

    items = RankedShown(many=True)


class QueriesWanted(CallFields):
    """Under which qrels, NAME or NAME:VERSION (the newest of the corpus without it). `worst` puts the lowest
    value first; queries without one come last."""

    qrels = TextField(required=False)
    order = serializers.ChoiceField((IN_RUN, WORST_FIRST), required=False)


class QueryWanted(CallFields):
    """Under which qrels, NAME or NAME:VERSION (the newest of the corpus without it)."""

    qrels = TextField(required=False)


@serves(
    ApiRoute(
        route="run_queries",
        method=GET,
        path=_QUERIES,
        tag=_TAG,
        opens=_ON_RUN,
        asked=QueriesWanted,
        answers=QueryShown,
        listed=True,
        refuses=RUN_REFUSALS,
    )
)
def queries_list_call(call: ApiCall, run: Run) -> CursorPage:
    """List the queries of a run, in its order or from the worst to the best."""
    snapshot = _snapshot(call, run)
    values = _values(run, snapshot)
    worst = call.asked.get("order") == WORST_FIRST
    if worst and snapshot is None:
        raise NotOffered(_("There are no qrels by which queries could be told apart: freeze or import some."))
    ids = inspection.worst(values) if worst else inspection.queries_in_order(run)
    rows, start = call.rows, call.rows.mark or 0
    shown = inspection.shown_of(run, ids[start : start + rows.limit], asking=True)
    end = start + rows.limit
    plain = (_query(shown[each], values) for each in ids[start:end] if each in shown)
    return rows.page(plain, end if end < len(ids) else None)


@serves(
    ApiRoute(
        route="run_query",
        method=GET,
        path=f"{_QUERIES}/<int:query>",
        tag=_TAG,
        opens=_ON_RUN,
        asked=QueryWanted,
        answers=QueryDetailShown,
        refuses=RUN_REFUSALS,
    )
)
def query_show_call(call: ApiCall, run: Run, query: int) -> dict[str, Any]:
    """Show a query with its ten best items, and what was judged of each."""
    asking = inspection.shown_of(run, [query], asking=True).get(query)
    if asking is None:
        raise missing(_("Run “%(name)s” has no such query.") % {"name": run.name})
    snapshot = _snapshot(call, run)
    return {
        **_query(asking, _values(run, snapshot)),
        "items": [
            {
                "place": each.place,
                "name": each.shown.name,
                "text": each.shown.text,
                "image": each.shown.image.key,
                "score": each.score,
                "original": each.judged.original,
                "relevance": each.judged.relevance,
                "judged": each.judged.judged,
                "answers": list(each.judged.answers),
            }
            for each in inspection.top_of(run, asking, snapshot) or ()
        ],
    }


def _snapshot(call: ApiCall, run: Run) -> QrelsSnapshot | None:
    """The qrels that are asked for, else the newest; None where there are none. Raises UnknownName."""
    if named := call.asked.get("qrels"):
        return offered.offered_qrels(call.request, named)
    return next(iter(qrels_of_corpus(run)), None)


def _values(run: Run, snapshot: QrelsSnapshot | None) -> Mapping[int, float | None]:
    """The value of each query; none without qrels. Raises NotComparable."""
    if snapshot is None:
        return {}
    found: dict[int, float | None] = cached_for_runs(
        "values", [run], snapshot, lambda: inspection.values_of(run, snapshot)
    )
    return found


def _query(asking: Any, values: Mapping[int, float | None]) -> dict[str, Any]:
    return {
        "query": asking.key,
        "name": asking.name,
        "text": asking.text,
        "image": asking.image.key,
        "value": values.get(asking.key),
    }
