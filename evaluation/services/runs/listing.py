"""Runs for lists and their own pages."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, OneOf, result_of
from evaluation.models import Run
from evaluation.services.stored_kinds import ArchivableRequest

RUN_DIRECTIONS = (Run.ANNOTATION, Run.SEARCH)


def direction_choices() -> dict[str, Any]:
    """Return each direction with its title."""
    return {
        Run.ANNOTATION: _("annotation: images are the queries"),
        Run.SEARCH: _("search: captions are the queries"),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsRequest(ArchivableRequest):
    """Runs, by name."""

    direction: Annotated[Annotated[str, OneOf(direction_choices)] | None, Help(_("Direction"))] = None
    system: Annotated[str | None, Field(max_length=200), Help(_("System"))] = None
    search: Annotated[
        str | None,
        Field(max_length=200),
        Help(_("Search"), _("A part of the name of the run, or of its system")),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run: the rankings of one system in one direction. annotation: images are the queries and captions the
    items; search: the reverse. `depth` is the largest number of items stored per ranking; 0 is all.
    `archived`: lists omit it."""

    name: str
    corpus: str
    direction: str
    system: str
    split: str
    protocol: str
    format: str
    queries: int
    entries: int
    depth: int
    digest: str
    created_at: datetime
    archived: bool


def narrow_runs(rows: QuerySet[Any], request: RunsRequest) -> QuerySet[Any]:
    """Filter runs by direction, system, and text in their names."""
    if request.direction is not None:
        rows = rows.filter(direction=request.direction)
    if request.system is not None:
        rows = rows.filter(Q(made_by__name=request.system) | Q(system=request.system))
    if request.search is not None:
        rows = rows.filter(Q(name__icontains=request.search) | Q(system__icontains=request.search))
    return rows


def run_summary(row: Run) -> RunSummary:
    """Return what is stored of a run."""
    return result_of(
        RunSummary,
        row,
        corpus=row.corpus.name,
        system=row.made_by.name if row.made_by is not None else row.system,
        queries=row.query_count,
        entries=row.entry_count,
        archived=row.archived_at is not None,
    )
