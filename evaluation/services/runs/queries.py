"""A run's queries, in its order or the worst first, and one query with its best items and judgments."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, Named, OneOf, OperationContext, Pages, invalid
from evaluation.comparison import inspection
from evaluation.comparison.original_pairs import AnyQrels, has_original_pairs
from evaluation.models import Run
from evaluation.selectors import run_named
from evaluation.services.runs.figures import cached_for_runs, chosen_relevance
from evaluation.services.stored_kinds import QRELS, STORED_RUNS

IN_RUN, WORST_FIRST = "run", "worst"
_UNDER = Help(_("Qrels"), _("NAME or NAME:VERSION; by default the original pairs"))


def _orders() -> Mapping[str, Any]:
    return {IN_RUN: _("as in the run"), WORST_FIRST: _("lowest value first")}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueriesRequest:
    """The queries of a run, each with its nDCG@10 under qrels; those without one come last."""

    run: Annotated[str, Named(STORED_RUNS), Help(_("Run"))]
    qrels: Annotated[Annotated[str, Named(QRELS)] | None, _UNDER] = None
    order: Annotated[str, OneOf(_orders), Help(_("Order"))] = IN_RUN


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRequest:
    """One query with the ten best items of the run, and the judgments of each."""

    run: Annotated[str, Named(STORED_RUNS), Help(_("Run"))]
    query: Annotated[int, Field(ge=0), Help(_("Query"), _("Its number"))]
    qrels: Annotated[Annotated[str, Named(QRELS)] | None, _UNDER] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """A query: an image, or a caption with its text; `image` is the key of the image that it is or belongs
    to. `value` is its nDCG@10 under the qrels, null where there are none, or where it has none."""

    query: int
    name: str
    text: str | None
    image: str
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedItem:
    """An item of a ranking. `original`: the caption is the image's own. `relevance` is that of the qrels,
    null where they do not have the pair; `answers` are the grades that judges gave."""

    rank: int
    name: str
    text: str | None
    image: str
    score: float
    original: bool
    relevance: int | None
    judged: bool
    answers: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedQuery(RunQuery):
    """A query with the ten best items of the run; none where the run does not rank it."""

    items: tuple[RankedItem, ...]


def values_under(run: Run, snapshot: AnyQrels | None) -> dict[int, float | None]:
    """Return the value of each query; empty without qrels. Raises NotComparable."""
    if snapshot is None:
        return {}
    values: dict[int, float | None] = cached_for_runs(
        "values", [run], snapshot, lambda: inspection.values_of(run, snapshot)
    )
    return values


def list_queries(request: QueriesRequest, context: OperationContext) -> Pages:
    """Return the queries of a run, in its order or from the worst to the best. Raises NotComparable."""
    run = run_named(request.run)
    snapshot = _snapshot(run, request.qrels)
    worst = request.order == WORST_FIRST
    if worst and snapshot is None:
        raise invalid("qrels", "missing")
    values = values_under(run, snapshot)
    ids = inspection.worst(values) if worst else inspection.queries_in_order(run)

    def page(mark: int | None, size: int) -> tuple[Iterable[RunQuery], int | None]:
        start, end = mark or 0, (mark or 0) + size
        named = inspection.entries_of(run, ids[start:end], asking=True)
        rows = (_query(named[query], values) for query in ids[start:end] if query in named)
        return rows, end if end < len(ids) else None

    return Pages(page)


def show_query(request: QueryRequest, context: OperationContext) -> InspectedQuery:
    """Return one query of a run. Raises NotComparable."""
    run = run_named(request.run)
    asking = inspection.entries_of(run, [request.query], asking=True).get(request.query)
    if asking is None:
        raise invalid("query", "unknown", kind=_("query"), value=request.query)
    snapshot = _snapshot(run, request.qrels)
    return InspectedQuery(
        **asdict(_query(asking, values_under(run, snapshot))),
        items=tuple(
            RankedItem(
                rank=item.rank,
                name=item.entry.name,
                text=item.entry.text,
                image=item.entry.image.key,
                score=item.score,
                original=item.judged.original,
                relevance=item.judged.relevance,
                judged=item.judged.judged,
                answers=item.judged.answers,
            )
            for item in inspection.top_of(run, asking, snapshot) or ()
        ),
    )


def _snapshot(run: Run, name: str | None) -> AnyQrels | None:
    """Return the requested qrels, else the original pairs; None in a corpus without such pairs."""
    return None if name is None and not has_original_pairs(run.corpus) else chosen_relevance(name, [run])


def _query(asking: Any, values: Mapping[int, float | None]) -> RunQuery:
    return RunQuery(
        query=asking.key,
        name=asking.name,
        text=asking.text,
        image=asking.image.key,
        value=values.get(asking.key),
    )
