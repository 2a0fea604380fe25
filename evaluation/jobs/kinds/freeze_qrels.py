"""Freezing judgments as qrels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.locks import Busy
from annotation.common.registry import UnknownName
from annotation.jobs import Progress, job_kind
from evaluation.comparison.subsets import BadSubset, Subset, subset_named
from evaluation.jobs.progress import told_by
from evaluation.relevance.grades import LINEAR, MEAN
from evaluation.relevance.scales import BadScale, scale_named, score_named
from evaluation.services.common import ImportRefused
from evaluation.services.judgments import freezing
from evaluation.services.judgments.relevance import Relevance


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
    summary: str = MEAN,
    scale: str = "",
    protocol: str = "",
    caption: int | None = None,
    split: str = "",
    seed: int = 0,
    images: Sequence[int] = (),
    listed: str = "",
) -> dict[str, Any]:
    """Freeze judgments, or originals under a protocol; the result is `qrels.QrelsReport`.

    The newest version stays where it holds the same. A split is no file of the machine's; where somebody sent
    a file of names, `images` are their rows, and `listed` is what the file is called.
    """
    if listed:
        subset: Subset | None = Subset(listed, frozenset(images))
    else:
        subset = subset_named(corpus, split, seed=seed, files=False)
    if protocol:
        return asdict(
            freezing.freeze_protocol(
                name=name, corpus=corpus, protocol=protocol, number=caption, subset=subset
            )
        )
    threshold = score_named(relevant_from) if relevant_from else None
    return asdict(
        freezing.freeze_qrels(
            name=name,
            corpus=corpus,
            judgments=judgments,
            relevance=Relevance(
                rule, scale_named(scale) if scale else None, threshold, gains=gains, summary=summary
            ),
            originals=originals,
            subset=subset,
            tell=told_by(progress),
        )
    )
