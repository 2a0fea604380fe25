"""The pages of systems: all of them, and one with where it comes from and what it ranked."""

from __future__ import annotations

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.web.access import RUNNING, for_roles
from evaluation.models import System
from evaluation.services import registry
from evaluation.services.origins import ORIGINS
from evaluation.web.frame import framed
from evaluation.web.job_lines import job_lines

#: Kinds of jobs that systems are made by, or rank by.
KINDS = ("train_system", "rank", "extract_features")


@require_safe
@for_roles(*RUNNING)
def listing(request: HttpRequest) -> HttpResponse:
    """All systems by name, and the newest jobs about any."""
    registry.adopt()
    rows = System.objects.select_related("corpus").annotate(
        run_count=Count("runs", filter=Q(runs__published=True))
    )
    jobs = job_lines(KINDS, here=request.path)
    return render(
        request,
        "evaluation/systems.html",
        framed(
            "systems",
            systems=[(row, ORIGINS.get(row.origin).title) for row in rows],
            jobs=jobs,
            live=any(job.live for job in jobs),
        ),
    )
