"""Whether what a system is given is described as what it learned from: other numbers can be as many.

Sets are alike where they are the same, where both say that the same extractor or network computed them, or
where they have the same numbers for the same items of one corpus.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.services.common import ImportRefused
from evaluation.services.features.store import NETWORK, FeatureSet, feature_set, is_label
from evaluation.services.systems.sources import Sources
from models_core import storage
from phrasebox.registry import UnknownName

#: Settings of a network that say what it is shown of a whole picture: the vectors mean the same.
_SHOWN = frozenset(("crops", "shorter"))
#: What the sets hold, by where a system remembers them.
_HOLD = {"features": "images", "regions": "regions", "text": "captions"}
#: Of so many items that two sets share the numbers are compared, and they are the same up to this share.
_COMPARED, _TOLERANCE = 64, 0.01


def check_described_alike(
    system: str, facts: Mapping[str, Any], corpus: str, sources: Sources
) -> tuple[str, ...]:
    """Raise ImportRefused where images, regions or captions of `corpus` are known to be described otherwise
    than those that the system of these `facts` learned from. Return what is not known, a sentence each.

    Where a system learned from whole images alone, regions have to be described as those images were.
    """
    labels = {key: str(facts.get(key, "")) for key in _HOLD}
    of_images = labels["features"] or labels["regions"]
    remarks = []
    for key, what in _HOLD.items():
        given, learned = str(getattr(sources, key)), labels[key] or (of_images if key != "text" else "")
        if not given or not learned or (corpus, given) == (facts.get("corpus"), learned) and is_label(given):
            continue
        differs = _differs(facts, learned, corpus, given)
        if differs:
            raise ImportRefused(
                f"the {what} of feature set {given!r} are described otherwise than those that system "
                f"{system!r} learned from, {learned!r} ({differs}); describe them alike"
            )
        if differs is None:
            ours, theirs = (one if is_label(one) else Path(one).name for one in (given, learned))
            remarks.append(
                f"Not known whether the {what} of {ours!r} are described as those of {theirs!r}, which it "
                "learned from."
            )
    return tuple(remarks)


def _differs(facts: Mapping[str, Any], learned: str, corpus: str, given: str) -> str | None:
    """In what they differ, "" where they are alike, None where that is not known."""
    if not (is_label(learned) and is_label(given)):
        files = not is_label(learned) and not is_label(given)
        same = files and facts.get("files", {}).get(learned) == storage.file_digest(Path(given))
        return "" if same else None
    ours, theirs = _set(str(facts.get("corpus", "")), learned), _set(corpus, given)
    if ours is None or theirs is None:
        return None
    if "extractor" in ours.origin and "extractor" in theirs.origin:
        return "; ".join(_differences(ours.origin, theirs.origin))
    networks = ours.origin.get(NETWORK), theirs.origin.get(NETWORK)
    if all(networks):
        return "" if networks[0] == networks[1] else f"network {networks[1]}, not {networks[0]}"
    return "" if ours.digest == theirs.digest else _other_numbers(ours, theirs)


def _set(corpus: str, label: str) -> FeatureSet | None:
    try:
        return feature_set(corpus, label)
    except UnknownName:
        return None


def _differences(learned: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """In what two descriptions differ, each as one phrase; digests tell only where all settings are
    equal."""
    if learned["extractor"] != given["extractor"]:
        return [f"extractor {given['extractor']}, not {learned['extractor']}"]
    ours, theirs = learned.get("settings") or {}, given.get("settings") or {}
    others = {name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)}
    if not others and learned.get("sha256") != given.get("sha256"):
        return ["another network or other codebooks"]
    return [f"{name} {theirs.get(name)!r}, not {ours.get(name)!r}" for name in sorted(others - _SHOWN)]


def _other_numbers(learned: FeatureSet, given: FeatureSet) -> str | None:
    """Whether items that both sets describe, one row each, have other numbers; None where there is none."""
    if learned.corpus != given.corpus or learned.kind != given.kind or learned.kind == "region":
        return None
    if learned.dimensions != given.dimensions:
        return f"{given.dimensions} numbers, not {learned.dimensions}"
    row_of = {one: row for row, one in enumerate(learned.ids())}
    shared = [(row_of[one], row) for row, one in enumerate(given.ids()) if one in row_of][:_COMPARED]
    if not shared:
        return None
    ours, theirs = (
        np.asarray(one.vectors()[list(rows)], np.float64)
        for one, rows in zip((learned, given), zip(*shared, strict=True), strict=True)
    )
    most = np.abs(ours).max(axis=1, keepdims=True)
    other = int((np.abs(ours - theirs) > _TOLERANCE * most).any(axis=1).sum())
    return f"other numbers for {other} of {len(shared)} {given.kind}s" if 2 * other > len(shared) else ""
