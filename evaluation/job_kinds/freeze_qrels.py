"""Freezing judgments as qrels."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.exclusive import Busy
from annotation.jobs import Progress, job_kind
from annotation.registry import UnknownName
from evaluation.grades import LINEAR
from evaluation.job_progress import told_by
from evaluation.scales import BadScale
from evaluation.services import qrels
from evaluation.services.writing import ImportRefused
from evaluation.subsets import BadSubset, subset_named


@job_kind(
    "freeze_qrels",
    title=gettext_lazy("Freezing qrels"),
    refusals=(UnknownName, ImportRefused, Busy, BadSubset, BadScale),
)
def freeze_qrels(
    progress: Progress,
    *,
    name: str,
    corpus: str,
    judgments: str = "",
    rule: str | None = None,
    originals: bool = True,
    relevant_from: str = "",
    gains: str = LINEAR,
    protocol: str = "",
    caption: int | None = None,
    split: str = "",
) -> dict[str, Any]:
    """Freeze judgments, or originals under a protocol; the result is `qrels.QrelsReport`.

    The newest version stays where it holds the same. A split is no file of the machine's.
    """
    subset = subset_named(corpus, split, files=False)
    if protocol:
        return asdict(
            qrels.freeze_protocol(name=name, corpus=corpus, protocol=protocol, number=caption, subset=subset)
        )
    threshold = Fraction(relevant_from) if relevant_from else None
    return asdict(
        qrels.freeze_qrels(
            name=name,
            corpus=corpus,
            judgments=judgments,
            relevance=qrels.Relevance(rule, relevant_from=threshold, gains=gains),
            originals=originals,
            subset=subset,
            tell=told_by(progress),
        )
    )
