"""Checks that a system's inputs are described like its training data: different vectors may have the same
length.

Two sets are alike if they are the same, if both were computed by the same extractor or network, or if they
have the same numbers for the same items of one corpus.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.services.common import InputError
from evaluation.services.features.store import NETWORK, FeatureSet, feature_set, is_label
from evaluation.services.systems.sources import Sources
from models_core import storage
from phrasebox.registry import UnknownName

#: Settings of a network that select the view of a whole picture: vectors of different views are compatible.
_VIEW_SETTINGS = frozenset(("crops", "shorter"))
#: What the sets describe, by the key under which a system remembers them.
_HOLD = {"features": "images", "regions": "regions", "text": "captions"}
#: The number of shared items whose vectors are compared, and the relative tolerance within which they are the
#: same.
_COMPARED, _TOLERANCE = 64, 0.01


def check_described_alike(
    system: str, metadata: Mapping[str, Any], corpus: str, sources: Sources
) -> tuple[str, ...]:
    """Raise InputError if images, regions or captions of `corpus` are known to be described differently
    from those that the system of these `metadata` was trained on. Return what is unknown, a sentence each.

    If a system was trained on whole images alone, regions have to be described as those images were.
    """
    labels = {key: str(metadata.get(key, "")) for key in _HOLD}
    of_images = labels["features"] or labels["regions"]
    remarks = []
    for key, what in _HOLD.items():
        set_label, learned = str(getattr(sources, key)), labels[key] or (of_images if key != "text" else "")
        if (
            not set_label
            or not learned
            or (corpus, set_label) == (metadata.get("corpus"), learned)
            and is_label(set_label)
        ):
            continue
        differs = _differs(metadata, learned, corpus, set_label)
        if differs:
            raise InputError(
                f"the {what} of feature set {set_label!r} are described otherwise than those that system "
                f"{system!r} learned from, {learned!r} ({differs}); describe them alike"
            )
        if differs is None:
            ours, theirs = (label if is_label(label) else Path(label).name for label in (set_label, learned))
            remarks.append(
                f"Not known whether the {what} of {ours!r} are described as those of {theirs!r}, which it "
                "learned from."
            )
    return tuple(remarks)


def _differs(metadata: Mapping[str, Any], learned: str, corpus: str, set_label: str) -> str | None:
    """Return the differences, "" if they are alike, None if that is unknown."""
    if not (is_label(learned) and is_label(set_label)):
        files = not is_label(learned) and not is_label(set_label)
        same = files and metadata.get("files", {}).get(learned) == storage.file_digest(Path(set_label))
        return "" if same else None
    ours, theirs = _set(str(metadata.get("corpus", "")), learned), _set(corpus, set_label)
    if ours is None or theirs is None:
        return None
    if "extractor" in ours.origin and "extractor" in theirs.origin:
        return "; ".join(_differences(ours.origin, theirs.origin))
    networks = ours.origin.get(NETWORK), theirs.origin.get(NETWORK)
    if all(networks):
        return "" if networks[0] == networks[1] else f"network {networks[1]}, not {networks[0]}"
    return "" if ours.digest == theirs.digest else _different_vectors(ours, theirs)


def _set(corpus: str, label: str) -> FeatureSet | None:
    try:
        return feature_set(corpus, label)
    except UnknownName:
        return None


def _differences(learned: Mapping[str, Any], ours_described: Mapping[str, Any]) -> list[str]:
    """Return the differences between two descriptions, each as one phrase; digests matter only where all
    settings are equal."""
    if learned["extractor"] != ours_described["extractor"]:
        return [f"extractor {ours_described['extractor']}, not {learned['extractor']}"]
    ours, theirs = learned.get("settings") or {}, ours_described.get("settings") or {}
    others = {name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)}
    if not others and learned.get("sha256") != ours_described.get("sha256"):
        return ["another network or other codebooks"]
    return [
        f"{name} {theirs.get(name)!r}, not {ours.get(name)!r}" for name in sorted(others - _VIEW_SETTINGS)
    ]


def _different_vectors(learned: FeatureSet, ours_set: FeatureSet) -> str | None:
    """Return whether items that both sets describe, one row each, have different numbers; None if no item
    is shared."""
    if learned.corpus != ours_set.corpus or learned.kind != ours_set.kind or learned.kind == "region":
        return None
    if learned.dimensions != ours_set.dimensions:
        return f"{ours_set.dimensions} numbers, not {learned.dimensions}"
    row_of = {pk: row for row, pk in enumerate(learned.ids())}
    shared = [(row_of[pk], row) for row, pk in enumerate(ours_set.ids()) if pk in row_of][:_COMPARED]
    if not shared:
        return None
    ours, theirs = (
        np.asarray(pk.vectors()[list(rows)], np.float64)
        for pk, rows in zip((learned, ours_set), zip(*shared, strict=True), strict=True)
    )
    most = np.abs(ours).max(axis=1, keepdims=True)
    differing = int((np.abs(ours - theirs) > _TOLERANCE * most).any(axis=1).sum())
    return (
        f"other numbers for {differing} of {len(shared)} {ours_set.kind}s"
        if 2 * differing > len(shared)
        else ""
    )
