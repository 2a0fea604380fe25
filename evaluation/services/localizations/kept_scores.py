"""Figures of localization sets that are kept with them, for their pages.

`LocalizationSet.scores` has a list of reports for each layer, at most one of the same images: figures of a
split never take the place of those of the set. Before there were several, the report itself stood there.
In older reports R@k may be beyond the regions that were kept: it is left out here. A layer may grow or change
after a report was made: such a report says that it is `outdated`.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction

from annotation.datasets.layers import campaign_of_layer, count_images_behind
from evaluation.models import LocalizationSet
from evaluation.services.common import ImportRefused
from evaluation.services.localizations.measures import RECALL_RANKS, ranks_up_to


def keep_localization_scores(name: str, report: dict[str, Any]) -> None:
    """Keep what `score_localization` found with the set, in the place of figures of the same layer and the
    same images, where there are some. Raises ImportRefused where the set was removed or replaced since."""
    with transaction.atomic():
        there = LocalizationSet.objects.select_for_update(no_key=True, of=("self",))
        row = there.filter(name=name, digest=report["digest"], published=True).first()
        if row is None:
            raise ImportRefused(
                f"localization set {name!r} was removed or replaced while it was scored; score it again"
            )
        same: list[dict[str, Any]] = []
        others: list[dict[str, Any]] = []
        for one in _reports(row, report["layer"]):
            (same if key_of_report(one) in _keys(report) else others).append(one)
        whole = report["whole"] or any(one.get("whole") for one in same)
        if whole:
            # An earlier version took other images for the set's.
            others = [{**one, "whole": False} for one in others]
        row.scores = {**row.scores, report["layer"]: [*others, {**report, "whole": whole}]}
        row.save(update_fields=["scores"])


def reports_against(row: LocalizationSet, layer: str) -> list[dict[str, Any]]:
    """The kept reports against a layer: that of the set's images first, then by what their images are called
    (`subset`, "" for all). Each says whether it is `outdated`: the layer's boxes have changed since, or may
    have, where an older report does not say which they were, or it is of an `earlier` version that counted
    otherwise. Differences from a set that was removed or
    replaced since are left out, and `against_gone` is its name."""
    now = row.corpus.layers.filter(name=layer, published=True).first()
    campaign = campaign_of_layer(now) if now is not None else None
    # Answers that the layer does not show yet may change its boxes.
    behind = campaign is not None and count_images_behind(campaign) > 0

    def is_outdated(report: dict[str, Any]) -> bool:
        if now is None or behind:
            return True
        if "layer_state" in report:
            return bool(report["layer_state"] != [now.pk, now.version])
        return campaign is not None

    reports = []
    for one in _reports(row, layer):
        shown = _compared_now(one)
        earlier = _is_of_earlier_version(row, shown)
        reports.append({**shown, "outdated": earlier or is_outdated(one), "earlier": earlier})
    return sorted(reports, key=lambda one: (not one.get("whole"), one["subset"]))


def _is_of_earlier_version(row: LocalizationSet, report: dict[str, Any]) -> bool:
    """Whether a report is of before `undetected` was told, and of what was counted otherwise then:
    differences, the AP of files, and sets of all images, of which those without regions counted. Or of a
    file's detections in all images before those were `suppressed`, and of some images before a `part` was."""
    if "undetected" in report:
        some = not report.get("whole") and "part" not in report
        return bool(report.get("everywhere") and (some or (row.source and "suppressed" not in report)))
    return bool("differences" in report or row.source or (report.get("whole") and not report["subset"]))


def kept_reports(row: LocalizationSet) -> list[dict[str, Any]]:
    """All kept reports, by their layers, and each layer's as `reports_against` has them."""
    return [one for layer in sorted(row.scores) for one in reports_against(row, layer)]


def _reports(row: LocalizationSet, layer: str) -> list[dict[str, Any]]:
    found = row.scores.get(layer, [])
    return [_as_now(row, one) for one in ([found] if isinstance(found, dict) else found)]


def _compared_now(report: dict[str, Any]) -> dict[str, Any]:
    """The report without differences from a set that is no longer there. An older one does not say which
    predictions that had: it stays as long as there is one of its name."""
    name = report.get("against", "")
    there = LocalizationSet.objects.filter(name=name, published=True)
    if "against_digest" in report:
        there = there.filter(digest=report["against_digest"])
    if not name or there.exists():
        return report
    kept = {key: own for key, own in report.items() if not key.startswith(("against", "differences"))}
    return {**kept, "against_gone": name}


def key_of_report(report: dict[str, Any]) -> str:
    """Which images a report is of, as an address says it: the digest of their names, "all" for all images.

    An old report, which lacks that, has what they are called.
    """
    return str(report.get("images_digest") or report["subset"] or "all")


def _keys(report: dict[str, Any]) -> set[str]:
    """The keys of reports that are of the same images: its own, and that of an old report."""
    return {key_of_report(report), report["subset"] or "all"}


def _as_now(row: LocalizationSet, report: dict[str, Any]) -> dict[str, Any]:
    """An older report without R@k of more regions than the set kept, or, in differences, the other set."""
    if "cut_at" in report:
        return report
    cut_at = _may_be_cut_at(row)
    dropped = {f"R@{k}" for k in RECALL_RANKS} - {f"R@{k}" for k in ranks_up_to(cut_at)}
    found = {**report, "cut_at": cut_at, "least_kept": None}
    found["measures"] = [one for one in report["measures"] if one["measure"] not in dropped]
    for part in ("categories", "frequent"):
        found[part] = [{key: own for key, own in one.items() if key not in dropped} for one in report[part]]
    if "differences" in report:
        other = LocalizationSet.objects.filter(name=report["against"]).first()
        cuts = [one for one in (cut_at, _may_be_cut_at(other) if other else None) if one is not None]
        found["differences_cut_at"] = min(cuts, default=None)
        told = {f"R@{k}" for k in ranks_up_to(found["differences_cut_at"])} | {"AP", "mAP"}
        found["differences"] = [one for one in report["differences"] if one["measure"] in told]
    return found


def _may_be_cut_at(row: LocalizationSet) -> int | None:
    return None if row.source else row.limit
