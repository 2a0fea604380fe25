"""Figures of localization sets that are kept with them, for their pages."""

from __future__ import annotations

from typing import Any

from evaluation.models import LocalizationSet
from evaluation.services.localizations.scores import LocalizationScoring, score_localization


def score_and_keep(*, name: str, layer: str, against: str = "") -> dict[str, Any]:
    """Score as `score_localization` does, and keep the figures under the layer's name; raises as it does."""
    report = score_localization(LocalizationScoring(name, layer, against=against))
    row = LocalizationSet.objects.get(name=name)
    row.scores = {**row.scores, report["layer"]: report}
    row.save(update_fields=["scores"])
    return report
