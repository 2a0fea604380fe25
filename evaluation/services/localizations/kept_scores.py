"""Figures of localization sets that are kept with them, for their pages."""

from __future__ import annotations

from typing import Any

from evaluation.models import LocalizationSet


def keep_localization_scores(name: str, report: dict[str, Any]) -> None:
    """Keep what `score_localization` found with the set, under the layer's name."""
    row = LocalizationSet.objects.get(name=name)
    row.scores = {**row.scores, report["layer"]: report}
    row.save(update_fields=["scores"])
