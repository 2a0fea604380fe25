"""What commands about captions, tags and localizations print."""

from __future__ import annotations

from evaluation.services.captions.judging import Mixed
from evaluation.services.captions.writing import WrittenSet
from evaluation.services.localizations.files import ImportedLocalizations
from evaluation.services.localizations.predicting import LocalizedSet
from evaluation.services.tagging.judging import MixedTags
from evaluation.services.tagging.writing import WrittenTags
from evaluation.services.tags.ranked import StoredTags


def written_text(written: WrittenSet) -> str:
    """How many captions were written, and how many of them say something new."""
    return (
        f"caption set {written.name!r}{_already(written.unchanged)}: {written.captions:,} captions of "
        f"{written.images:,} images, {written.words:.1f} words each; {written.distinct:,} different, "
        f"{written.in_training / written.captions:.1%} word for word a training caption\n"
        f"{written.provenance['sentence']}"
    )


def mixed_text(mixed: Mixed) -> str:
    """What is to be judged, and by which runs."""
    return (
        f"corpus {mixed.corpus!r}: {mixed.captions:,} different captions of {mixed.images:,} images to be "
        f"judged, {mixed.controls:,} images for control items\nruns: {', '.join(mixed.runs)}"
    )


def localized_text(localized: LocalizedSet) -> str:
    """How many mentions were localized."""
    return (
        f"localization set {localized.name!r}{_already(localized.unchanged)}: {localized.mentions:,} "
        f"mentions of layer {localized.layer!r} in {localized.images:,} images, {localized.phrases:,} "
        f"phrases; {localized.unknown:,} mentions have no word that the system knows\n"
        f"{localized.provenance['sentence']}"
    )


def imported_localizations_text(imported: ImportedLocalizations) -> str:
    """What a file held, and what became of its regions."""
    text = (
        f"localization set {imported.name!r}{_already(imported.unchanged)}: {imported.mentions:,} mentions "
        f"of {imported.images:,} images, {imported.phrases:,} phrases with detections"
    )
    if imported.clipped or imported.outside:
        text += (
            f"; {imported.clipped:,} regions reached out of their picture and were cut, "
            f"{imported.outside:,} lay wholly outside and were left out"
        )
    if imported.reordered:
        text += (
            f"; {imported.reordered:,} lines were not in the order of their scores, and were put in it, the "
            "highest first"
        )
    if imported.elsewhere:
        text += (
            f"; {imported.elsewhere:,} mentions are of other images than {imported.split!r}: they are "
            "stored, but count only where those images are named"
        )
    return text


def tagged_text(tagged: WrittenTags) -> str:
    """How many images were tagged, and among which tags."""
    return (
        f"tag set {tagged.name!r}{_already(tagged.unchanged)}: the best {tagged.top} of "
        f"{tagged.vocabulary:,} tags ({tagged.unseen:,} of them never learned from) for each of "
        f"{tagged.images:,} images, by score {tagged.score!r}\n{tagged.provenance['sentence']}"
    )


def mixed_tags_text(mixed: MixedTags) -> str:
    """What is to be judged, and by which runs."""
    return (
        f"corpus {mixed.corpus!r}: {mixed.tags:,} tags of {mixed.images:,} images to be judged, "
        f"{mixed.controls:,} images for control items\nruns: {', '.join(mixed.runs)}"
    )


def stored_tags_text(stored: StoredTags) -> str:
    """How many tags a corpus now has."""
    return (
        f"corpus {stored.corpus!r}: stored {stored.tags:,} tags of {stored.images:,} images, "
        f"{stored.distinct:,} different ones ({stored.unit}, alpha {stored.alpha:g})"
    )


def _already(unchanged: bool) -> str:
    return ", which already exists" if unchanged else ""
