"""A corpus with one of its layers -> files. What is written stands whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from django.db.models import Count, Exists, OuterRef
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.formats import FORMATS, FormatError, Written
from annotation.models import Campaign, Caption, Chain, Corpus, Image, Layer
from annotation.pictures import picture_path
from annotation.protocol.state import CLOSED
from annotation.protocol.terms import ImageRecord
from annotation.registry import UnknownName
from annotation.selectors.controls import unchecked_answers, unchecked_kinds
from annotation.selectors.corpora import corpus_named, layer_named
from annotation.selectors.left_out import unsaid_stages
from annotation.selectors.records import stream_records
from annotation.selectors.settings_versions import images_by_version

#: Where `with_pictures` puts the pictures, within the export.
IMAGES = "images"
#: What is to be known of a layer, beside what its format says.
NOTES = "NOTES.md"

Progress = Callable[[Iterable[ImageRecord]], Iterable[ImageRecord]]


class ExportError(ValueError):
    """An export that is refused; one line with the remedy."""


def export_dataset(
    *,
    corpus: str,
    format: str,
    out: Path,
    layer: str | None = None,
    include_unfinished: bool = False,
    with_pictures: bool = False,
    progress: Progress = iter,
) -> Written:
    """Write the corpus `corpus` in `format` under the new folder `out`.

    With `layer` named, or where only one exists, mentions, chains and boxes go with it; the
    mentions of excluded chains are plain words. `with_pictures` puts the pictures under
    out/images, as hard links where the file system allows. Where nothing tells how right the workers of
    the layer's campaign were, `NOTES.md` says so. `left_out` of the result counts what is not in
    the files; `selectors.left_out.lacks` tells it in sentences. Everything is written beside
    `out` first, so `out` is complete as soon as it exists. Raises UnknownName for a corpus, a
    layer or a format that is none, AmbiguousLayer, else ExportError.
    """
    found, chosen = check(
        corpus=corpus,
        format=format,
        layer=layer,
        include_unfinished=include_unfinished,
        with_pictures=with_pictures,
    )
    writer = FORMATS.get(format)
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ExportError(f"{out}: stands already; expected a new or an empty folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.", suffix=".partial"))
    try:
        written = writer.write(progress(stream_records(corpus=found, layer=chosen)), partial)
        for word, number in unsaid_stages(chosen).items():
            written.leave_out(word, number)
        if with_pictures:
            written.add("pictures", _link_pictures(found, partial / IMAGES))
        if notes := notes_on(found, chosen):
            (partial / NOTES).write_text("".join(f"{note}\n" for note in notes), encoding="utf-8")
            written.files.append(partial / NOTES)
        os.chmod(partial, 0o755)
        os.replace(partial, out)
    except FormatError as error:
        # People know the folder they asked for, not the one beside it.
        raise ExportError(str(error).replace(str(partial), str(out))) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    written.files = [out / file.relative_to(partial) for file in written.files]
    return written


def check(
    *,
    corpus: str,
    format: str,
    layer: str | None = None,
    include_unfinished: bool = False,
    with_pictures: bool = False,
) -> tuple[Corpus, Layer | None]:
    """What an export would be of, once all is asked that can be told before anything is written.

    Raises what `export_dataset` would raise for it: a page asks before it starts a job.
    """
    writer = FORMATS.get(format)
    if not writer.writes:
        writable = ", ".join(entry.key for entry in FORMATS if entry.writes)
        raise UnknownName(f"format {format!r} is for import only; for export: {writable}")
    found = corpus_named(corpus)
    chosen = layer_named(found, layer)
    if chosen and not include_unfinished:
        _refuse_unfinished(chosen)
    images = Image.objects.filter(corpus=found).order_by("position")
    if writer.needs_captions:
        bare = images.filter(~Exists(Caption.objects.filter(image=OuterRef("pk"))))
        if (key := bare.values_list("key", flat=True).first()) is not None:
            raise ExportError(
                _("Image “%(image)s” has no caption, which %(format)s cannot say. Choose the format jsonl.")
                % {"image": key, "format": format}
            )
    if writer.splits is not None:
        other = images.exclude(split__in=("", *writer.splits)).values_list("key", "split").first()
        if other is not None:
            raise ExportError(
                _(
                    "Image “%(image)s” is of the split “%(split)s”, for which %(format)s has no list (it has "
                    "%(splits)s). Choose the format jsonl."
                )
                % {
                    "image": other[0],
                    "split": other[1],
                    "format": format,
                    "splits": ", ".join(writer.splits),
                }
            )
    if with_pictures:
        _check_pictures(found)
    return found, chosen


def notes_on(corpus: Corpus, layer: Layer | None) -> list[str]:
    """What is to be known of a layer that a campaign made: where nothing tells how right its workers were,
    and where its images were opened under several versions of the settings."""
    made_by = Campaign.objects.filter(corpus=corpus, name=layer.name).first() if layer else None
    if made_by is None:
        return []
    notes = []
    if unchecked := unchecked_kinds(made_by):
        notes.append(
            f"Unchecked: no answers to {', '.join(unchecked)} are known, so that nobody's accuracy is "
            "measured, and nobody suspended for it."
        )
    if early := unchecked_answers(made_by):
        told = ", ".join(f"{count} to {kind}" for kind, count in early.items())
        notes.append(f"Unchecked in part: answers given before any were known: {told}.")
    if len(opened := images_by_version(made_by)) > 1:
        told = ", ".join(f"{count} under version {number}" for number, count in opened)
        notes.append(f"Settings of the campaign changed while images were opened: {told}.")
    return notes


def _check_pictures(corpus: Corpus) -> None:
    shown = Image.objects.filter(corpus=corpus).exclude(picture="")
    if not shown.exists():
        raise ExportError(
            _(
                "Corpus “%(name)s” has no picture to go with it. Export it without pictures, or import it "
                "with them (import_corpus --images DIR)."
            )
            % {"name": corpus.name}
        )
    twice = shown.values("filename").annotate(n=Count("id")).filter(n__gt=1)
    if (again := twice.values_list("filename", flat=True).order_by("filename").first()) is not None:
        raise ExportError(_twice(again))


def _twice(filename: str) -> str:
    return _("Two images have the file name “%(name)s”: export without pictures.") % {"name": filename}


def _refuse_unfinished(layer: Layer) -> None:
    unfinished = Chain.objects.filter(layer=layer).exclude(stage__in=("", *CLOSED))
    if chains := unfinished.count():
        images = unfinished.values("image").distinct().count()
        told = ngettext(
            "Layer “%(name)s” is unfinished: %(chains)d chain is open, in %(images)d of its images. Finish "
            "it, or export with what is unfinished (in a command: --include-unfinished).",
            "Layer “%(name)s” is unfinished: %(chains)d chains are open, in %(images)d of its images. Finish "
            "them, or export with what is unfinished (in a command: --include-unfinished).",
            chains,
        )
        raise ExportError(told % {"name": layer.name, "chains": chains, "images": images})


def _link_pictures(corpus: Corpus, folder: Path) -> int:
    """Put every picture of `corpus` into `folder` under its image's file name; returns how many."""
    folder.mkdir()
    shown = Image.objects.filter(corpus=corpus).exclude(picture="").order_by("position")
    linked = 0
    for filename, picture in shown.values_list("filename", "picture").iterator():
        target = folder / filename
        try:
            os.link(picture_path(picture), target)
        except FileExistsError:
            raise ExportError(_twice(filename)) from None
        except OSError:
            shutil.copyfile(picture_path(picture), target)
        linked += 1
    return linked
