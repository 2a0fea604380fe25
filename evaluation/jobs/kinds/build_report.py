"""Building a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import Progress, job_kind
from evaluation.comparison.ranked_runs import LEFT_OUT
from evaluation.metrics.table import UnknownMeasure
from evaluation.services.reports.building import build
from evaluation.services.reports.request import LEVEL, RESAMPLES, Wanted
from evaluation.significance.randomisation import ROUNDS

#: The share of the work that is done when all is computed, and is yet to be drawn.
COMPUTED = 0.8


@job_kind(
    "build_report",
    title=gettext_lazy("Building a report"),
    refusals=(UnknownName, UnknownMeasure, OSError, ValueError),
)
def build_report(
    progress: Progress,
    *,
    name: str,
    qrels: str,
    runs: Sequence[str],
    batch: str = "",
    baseline: Sequence[str] = (),
    measures: Sequence[str] = (),
    against: str = "",
    split: str = "",
    missing: str = LEFT_OUT,
    seed: int = 0,
    rounds: int = ROUNDS,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    replace: bool = False,
) -> dict[str, Any]:
    """Build it and keep it; the result is `reports.Built`. A killed one starts anew, and leaves nothing."""

    def told(phase: str, done: int, of: int) -> None:
        drawing = phase.startswith(("drawing", "putting"))
        start, end = (COMPUTED, 1.0) if drawing else (0.0, COMPUTED)
        progress.advance(max(progress.share, start + (end - start) * done / of), phase=phase)

    wanted = Wanted(
        name,
        qrels,
        runs,
        batch,
        baseline,
        measures,
        against,
        split,
        missing,
        seed,
        rounds,
        resamples,
        level,
    )
    made = asdict(build(wanted, replace=replace, progress=told))
    return {**made, "folder": f"reports/{name}"}
