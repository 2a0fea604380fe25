"""Figures of localization sets that are stored with them, for their pages.

`LocalizationSet.scores` has a list of reports for each layer, at most one for the same images: figures of a
split never replace those of the whole set. A report is `outdated` if its layer grew or changed afterwards.
"""

from typing import Any

from django.db import transaction

from annotation.datasets.layers import campaign_of_layer, count_images_behind
from evaluation.models import LocalizationSet
from evaluation.services.common import InputError


def store_localization_scores(name: str, report: dict[str, Any]) -> None:
    """Store a report of `score_localization` with the set, replacing figures of the same layer and the same
    images. Raises InputError if the set was removed or replaced since."""
    with transaction.atomic():
        sets = LocalizationSet.objects.select_for_update(no_key=True, of=("self",))
        row = sets.filter(name=name, digest=report["digest"], published=True).first()
        if row is None:
            raise InputError(
                f"localization set {name!r} was removed or replaced while it was scored; score it again"
            )
        key, there = key_of_report(report), row.scores.get(report["layer"], [])
        whole = report["whole"] or any(
            report_stored["whole"] for report_stored in there if key_of_report(report_stored) == key
        )
        others = [report_stored for report_stored in there if key_of_report(report_stored) != key]
        if whole:
            # The split may have lost images since.
            others = [{**report_stored, "whole": False} for report_stored in others]
        row.scores = {**row.scores, report["layer"]: [*others, {**report, "whole": whole}]}
        row.save(update_fields=["scores"])


def reports_against(row: LocalizationSet, layer: str) -> list[dict[str, Any]]:
    """Return the stored reports against a layer: that of the set's images first, then by the name of their
    images (`subset`, "" for all). Each says whether it is `outdated`: the layer's boxes have changed since,
    or may have. Differences from a set that was removed or replaced since are omitted, and `against_gone` is
    its name."""
    now = row.corpus.layers.filter(name=layer, published=True).first()
    campaign = campaign_of_layer(now) if now is not None else None
    # Answers that the layer does not include yet may change its boxes.
    behind = campaign is not None and count_images_behind(campaign) > 0
    state = None if now is None or behind else [now.pk, now.version]
    reports = [
        {**_compared_now(report_stored), "outdated": report_stored["layer_state"] != state}
        for report_stored in row.scores.get(layer, [])
    ]
    return sorted(reports, key=lambda report_stored: (not report_stored["whole"], report_stored["subset"]))


def stored_reports(row: LocalizationSet) -> list[dict[str, Any]]:
    """Return all stored reports, sorted by layer and then as in `reports_against`."""
    return [report for layer in sorted(row.scores) for report in reports_against(row, layer)]


def _compared_now(report: dict[str, Any]) -> dict[str, Any]:
    """Return the report without differences from a set that no longer exists."""
    if "against" not in report:
        return report
    name, digest = report["against"], report["against_digest"]
    if LocalizationSet.objects.filter(name=name, digest=digest, published=True).exists():
        return report
    without_comparison = {
        key: value for key, value in report.items() if not key.startswith(("against", "differences"))
    }
    return {**without_comparison, "against_gone": name}


def key_of_report(report: dict[str, Any]) -> str:
    """Return the identifier of a report's images in addresses: the digest of their names, "all" for all
    images."""
    return str(report["images_digest"] or "all")
