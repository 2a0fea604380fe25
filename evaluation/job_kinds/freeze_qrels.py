"""Freezing judgments as qrels."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.exclusive import Busy
from annotation.jobs import Progress, job_kind
from annotation.registry import UnknownName
from evaluation.job_progress import told_by
from evaluation.services import qrels
from evaluation.services.writing import ImportRefused


@job_kind("freeze_qrels", title=gettext_lazy("Freezing qrels"), refusals=(UnknownName, ImportRefused, Busy))
def freeze_qrels(
    progress: Progress,
    *,
    name: str,
    corpus: str,
    judgments: str,
    rule: str | None = None,
    originals: bool = True,
) -> dict[str, Any]:
    """Freeze; the result is `qrels.QrelsReport`. The newest version stays where it holds the same."""
    return asdict(
        qrels.freeze_qrels(
            name=name,
            corpus=corpus,
            judgments=judgments,
            rule=rule,
            originals=originals,
            tell=told_by(progress),
        )
    )
