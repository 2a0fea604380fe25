"""What the caller may see, by name: corpora, runs, qrels.

Anything else is reported like a name that does not exist, without listing names.
"""

from collections.abc import Sequence
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _

from annotation.selectors.corpora import Corpus, corpora_of, within_scope
from annotation.selectors.jobs import Job
from annotation.web.common.access import RUNNING, account_of
from evaluation.models import Batch, JudgmentSet, QrelsSnapshot, Report, Run, System
from evaluation.selectors import run_named, snapshot_named
from phrasebox.registry import UnknownName


def visible_corpora(request: HttpRequest) -> list[Corpus]:
    """Return the published corpora, by name."""
    return list(corpora_of(account_of(request), *RUNNING).filter(published=True).order_by("name"))


def visible_runs(request: HttpRequest, names: Sequence[str]) -> list[Run]:
    """Return the published runs of these names, in order. Raises UnknownName."""
    there = set(published_runs(request).filter(name__in=names).values_list("name", flat=True))
    for name in names:
        if name not in there:
            raise UnknownName(_("There is no run “%(name)s” here.") % {"name": name[:100]})
    return [run_named(name) for name in names]


def visible_qrels(request: HttpRequest, name: str) -> QrelsSnapshot:
    """Return the published qrels of that name, which may end in a version. Raises UnknownName."""
    try:
        snapshot = snapshot_named(name)
        if account_of(request).has_role(*RUNNING, on=snapshot.scope):
            return snapshot
    except UnknownName:
        pass
    raise UnknownName(_("There are no qrels “%(name)s” here.") % {"name": name[:100]})


def published_runs(request: HttpRequest) -> QuerySet[Run]:
    """Return the published runs of corpora in which the caller may run evaluations."""
    return Run.objects.filter(_within(request), published=True)


def published_qrels(request: HttpRequest) -> QuerySet[QrelsSnapshot]:
    """Return the published qrels, all versions, of corpora that the caller may see."""
    return QrelsSnapshot.objects.filter(_within(request), published=True)


def judgment_sets(request: HttpRequest) -> QuerySet[JudgmentSet]:
    """Return the published sets of judgments of corpora that the caller may see."""
    return JudgmentSet.objects.filter(_within(request), published=True)


def visible_systems(request: HttpRequest) -> QuerySet[System]:
    """Return the systems of corpora that the caller may see."""
    return System.objects.filter(_within(request))


def visible_sets(request: HttpRequest, model: Any) -> QuerySet[Any]:
    """Return the published sets of a `model` (captions, tags or localizations) of corpora that the caller may
    see, by name."""
    sets = model._default_manager.filter(_within(request), published=True)
    return sets.select_related("corpus").order_by("name")


def visible_batches(request: HttpRequest) -> QuerySet[Batch]:
    """Return the batches of corpora that the caller may see."""
    return Batch.objects.filter(_within(request))


def visible_reports(request: HttpRequest) -> QuerySet[Report]:
    """Return the reports of corpora that the caller may see."""
    return Report.objects.filter(_within(request))


def visible_evaluation_jobs(request: HttpRequest) -> QuerySet[Job]:
    """Return jobs about a corpus; those about none require a role for the whole server."""
    return Job.objects.filter(_within(request))


def _within(request: HttpRequest) -> Q:
    return within_scope(account_of(request), *RUNNING, corpus="corpus")
