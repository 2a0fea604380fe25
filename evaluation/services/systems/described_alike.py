"""Whether the images and regions that a system is given are described as those that it learned from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.common.registry import UnknownName
from evaluation.services.common import ImportRefused
from evaluation.services.features.store import FeatureSet, feature_set, is_label
from evaluation.services.systems.sources import Sources

#: Settings of a network that say what it is shown of a whole picture: the vectors mean the same.
_SHOWN = frozenset(("crops", "shorter"))
#: What the sets hold, by where a system remembers them.
_HOLD = {"features": "images", "regions": "regions"}


def check_described_alike(system: str, facts: Mapping[str, Any], corpus: str, sources: Sources) -> None:
    """Raise ImportRefused where images or regions of `corpus` are known to be described otherwise than those
    that the system of these `facts` learned from: numbers of other meanings can be as many.

    Where a system learned from whole images alone, regions have to be described as those images were.
    Imported vectors, and sets that were removed, say nothing: they are taken.
    """
    labels = {key: str(facts.get(key, "")) for key in _HOLD}
    for key, what in _HOLD.items():
        label = labels[key] or next(filter(None, labels.values()), "")
        learned = _described_set(str(facts.get("corpus", "")), label)
        given = _described_set(corpus, str(getattr(sources, key)))
        if learned is None or given is None:
            continue
        differs = _differences(learned.origin, given.origin)
        if differs:
            raise ImportRefused(
                f"the {what} of feature set {given.label!r} are described otherwise than those that system "
                f"{system!r} learned from, {learned.label!r} ({'; '.join(differs)}); describe them alike"
            )


def _described_set(corpus: str, label: str) -> FeatureSet | None:
    """The set, where there is one that says what described it."""
    try:
        found = feature_set(corpus, label) if is_label(label) else None
    except UnknownName:
        return None
    return found if found is not None and "extractor" in found.origin else None


def _differences(learned: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """In what two descriptions differ, each as one phrase; settings that only one names count as equal, since
    an earlier version had fewer. Digests are of all settings: they tell only where these are equal."""
    if learned["extractor"] != given["extractor"]:
        return [f"extractor {given['extractor']}, not {learned['extractor']}"]
    ours, theirs = learned.get("settings") or {}, given.get("settings") or {}
    others = {name for name, own in ours.items() if name in theirs and theirs[name] != own}
    if not others and learned.get("sha256") != given.get("sha256"):
        return ["another network or other codebooks"]
    return [f"{name} {theirs[name]!r}, not {ours[name]!r}" for name in sorted(others - _SHOWN)]
