"""The output of commands about captions, tags, localizations, feature sets, parses and weak collections."""

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.functional import Promise

from annotation.common.operations import CommandLine, FormPage, table_layouts, tables_text
from evaluation.comparison.set_comparisons import remarks_on_comparison, tables_of_sets
from evaluation.services.captions.files import ImportedCaptions
from evaluation.services.captions.judging import Mixed
from evaluation.services.captions.writing import WrittenSet
from evaluation.services.collection_requests import StoredCollection, StoredParses
from evaluation.services.feature_requests import StoredFeatures
from evaluation.services.localizations.files import ImportedLocalizations
from evaluation.services.localizations.predicting import LocalizedSet
from evaluation.services.systems.training import Extracted
from evaluation.services.tagging.files import ImportedTags
from evaluation.services.tagging.judging import MixedTags
from evaluation.services.tagging.writing import WrittenTags
from evaluation.services.tags.ranked import StoredTags
from phrasebox.figure_tables import Table


def report_command(
    *positional: str,
    remarks: Callable[[dict[str, Any]], str],
    tables: Callable[[dict[str, Any]], Mapping[str, Table] | Table],
) -> CommandLine:
    """Return the command of an operation whose result has a `report`: it prints its tables by title, in text
    below the remarks."""

    def titled(result: Any) -> Mapping[str, Table]:
        result_tables = tables(result.report)
        return {"": result_tables} if isinstance(result_tables, Table) else result_tables

    def text(result: Any) -> str:
        return f"{remarks(result.report)}\n\n{tables_text(titled)(result)}"

    return CommandLine(positional, text=text, layouts=table_layouts(titled))


def comparison_command(remarks: Callable[[dict[str, Any]], str]) -> CommandLine:
    """Return the command of an operation that compares sets."""
    return report_command("sets", remarks=remarks, tables=tables_of_sets)


def with_comparison(remarks: Callable[[dict[str, Any]], str]) -> Callable[[dict[str, Any]], str]:
    """Return the remarks with those on intervals and differences below."""
    return lambda report: "\n".join([remarks(report), *remarks_on_comparison(report)])


def comparison_page(started: str | Promise) -> FormPage:
    """Return the page of an operation that compares sets: its form, and the tables of its jobs."""
    return FormPage(started=started, tables=lambda result: tables_of_sets(result.report))


_SAME = "already exists, nothing changed"


def written_text(written: WrittenSet) -> str:
    """Return how many captions were written, and how many of them are new sentences."""
    in_training = (written.in_training or 0) / written.captions
    return (
        f"caption set {written.name!r}{_already(written.unchanged)}: {written.captions:,} captions of "
        f"{written.images:,} images, {written.words:.1f} words each; {written.distinct:,} different, "
        f"{in_training:.1%} word for word a training caption\n"
        f"{written.provenance['sentence']}"
    )


def imported_captions_text(imported: ImportedCaptions) -> str:
    """Return the content of a file of captions."""
    return (
        f"caption set {imported.name!r}{_already(imported.unchanged)}: {imported.captions:,} captions of "
        f"{imported.images:,} images, {imported.distinct:,} different\nSHA-256 {imported.source_digest}"
    )


def imported_tags_text(imported: ImportedTags) -> str:
    """Return the content of a file of tags."""
    text = f"tag set {imported.name!r}{_already(imported.unchanged)}: tags of {imported.images:,} images"
    if imported.reordered:
        text += f"; those of {imported.reordered:,} images were put in the order of their scores"
    return f"{text}\nSHA-256 {imported.source_digest}"


def mixed_text(mixed: Mixed) -> str:
    """Return what is to be judged, and the runs."""
    return (
        f"corpus {mixed.corpus!r}: {mixed.captions:,} different captions of {mixed.images:,} images to be "
        f"judged, {mixed.controls:,} images for control items\nruns: {', '.join(mixed.runs)}"
    )


def localized_text(localized: LocalizedSet) -> str:
    """Return how many mentions were localized."""
    return (
        f"localization set {localized.name!r}{_already(localized.unchanged)}: {localized.mentions:,} "
        f"mentions of layer {localized.layer!r} in {localized.images:,} images, {localized.phrases:,} "
        f"phrases; {localized.unknown:,} mentions have no word that the system knows\n"
        f"{localized.provenance['sentence']}"
    )


def imported_localizations_text(imported: ImportedLocalizations) -> str:
    """Return the content of a file, and what happened to its regions."""
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
    """Return how many images were tagged, and among which tags."""
    return (
        f"tag set {tagged.name!r}{_already(tagged.unchanged)}: the best {tagged.top} of "
        f"{tagged.vocabulary:,} tags ({tagged.unseen:,} of them never learned from) for each of "
        f"{tagged.images:,} images, by score {tagged.score!r}\n{tagged.provenance['sentence']}"
    )


def mixed_tags_text(mixed: MixedTags) -> str:
    """Return what is to be judged, and the runs."""
    return (
        f"corpus {mixed.corpus!r}: {mixed.tags:,} tags of {mixed.images:,} images to be judged, "
        f"{mixed.controls:,} images for control items\nruns: {', '.join(mixed.runs)}"
    )


def stored_tags_text(stored: StoredTags) -> str:
    """Return how many tags a corpus now has."""
    return (
        f"corpus {stored.corpus!r}: stored {stored.tags:,} tags of {stored.images:,} images, "
        f"{stored.distinct:,} different ones ({stored.unit}, alpha {stored.alpha:g})"
    )


def _already(unchanged: bool) -> str:
    return ", which already exists" if unchanged else ""


def stored_text(stored: StoredFeatures) -> str:
    """Return the feature set, and remarks on it."""
    end = _SAME if stored.unchanged else "stored"
    what = f"{stored.rows} {stored.kind} vectors of {stored.dimensions} numbers, {stored.dtype}"
    head = f"feature set {stored.label} of corpus {stored.corpus!r} {end}: {what}"
    origin = stored.origin
    read = [f"{origin['captions']:,} captions ({origin['split']}) were read"] if "captions" in origin else []
    return "\n".join([head, *read, *stored.remarks, f"SHA-256 {stored.digest}"])


def parses_text(parses: StoredParses) -> str:
    """Return the parses, and remarks on them."""
    end = "already exist, nothing changed" if parses.unchanged else "imported"
    head = f"parses of corpus {parses.corpus!r} {end}: {parses.captions} captions, {parses.words} words"
    return "\n".join([head, *parses.remarks, f"SHA-256 {parses.digest}"])


def collection_text(stored: StoredCollection) -> str:
    """Return the collection, and the kinds of its texts."""
    end = _SAME if stored.unchanged else "imported"
    return f"collection {stored.name!r} {end}: {stored.rows} images with {', '.join(stored.kinds)}"


def words_text(words: Extracted) -> str:
    """Return how many pictures were described, and where their histograms are."""
    written = f"\nhistograms written to {words.out}" if words.out else ""
    return (
        f"{words.images} pictures of corpus {words.corpus!r} described, {words.excluded} images have none\n"
        f"codebooks {words.codebooks[:16]}{written}"
    )
