"""What commands about feature sets, parses and weak collections print."""

from __future__ import annotations

from evaluation.services.collection_requests import StoredCollection, StoredParses
from evaluation.services.feature_requests import StoredFeatures
from evaluation.services.systems.training import Extracted

_SAME = "already exists, nothing changed"


def stored_text(made: StoredFeatures) -> str:
    """The feature set, and what is to be known of it."""
    end = _SAME if made.unchanged else "stored"
    what = f"{made.rows} {made.kind} vectors of {made.dimensions} numbers, {made.dtype}"
    head = f"feature set {made.label} of corpus {made.corpus!r} {end}: {what}"
    origin = made.origin
    read = [f"{origin['captions']:,} captions ({origin['split']}) were read"] if "captions" in origin else []
    return "\n".join([head, *read, *made.remarks, f"SHA-256 {made.digest}"])


def parses_text(made: StoredParses) -> str:
    """The parses, and what is to be known of them."""
    end = "already exist, nothing changed" if made.unchanged else "imported"
    head = f"parses of corpus {made.corpus!r} {end}: {made.captions} captions, {made.words} words"
    return "\n".join([head, *made.remarks, f"SHA-256 {made.digest}"])


def collection_text(made: StoredCollection) -> str:
    """The collection, and the kinds of its texts."""
    end = _SAME if made.unchanged else "imported"
    return f"collection {made.name!r} {end}: {made.rows} images with {', '.join(made.kinds)}"


def words_text(made: Extracted) -> str:
    """How many pictures were described, and where their histograms are."""
    written = f"\nhistograms written to {made.out}" if made.out else ""
    return (
        f"{made.images} pictures of corpus {made.corpus!r} described, {made.left_out} images have none\n"
        f"codebooks {made.codebooks[:16]}{written}"
    )
