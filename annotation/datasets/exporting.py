"""Export a corpus with one of its layers to files, completely or not at all."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict, Unpack

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.common import database
from annotation.datasets import layers
from annotation.datasets.datasheets import add_card
from annotation.datasets.layer_rows import SIMULATION_SOURCE
from annotation.formats import FORMATS, Format, Written
from annotation.images.pictures import picture_path
from annotation.images.withdrawn import withdrawn_pictures
from annotation.models import (
    Campaign,
    Caption,
    Chain,
    Corpus,
    Image,
    Layer,
    LayerImage,
    OpenImage,
    PlannedImage,
)
from annotation.protocol.state import CLOSED_STAGES
from annotation.protocol.terms import ImageRecord
from annotation.selectors.campaigns import images_by_version
from annotation.selectors.controls import unchecked_answers, unchecked_kinds
from annotation.selectors.corpora import corpus_named, layer_named
from annotation.selectors.datasheet.figures import datasheet_figures
from annotation.selectors.export_exclusions import unsaid_by_every_format
from annotation.selectors.records import stream_records
from phrasebox.errors import PhraseboxError
from phrasebox.registry import UnknownName
from phrasebox.text_files import FormatError

#: Folder of pictures within an export `with_pictures`.
_IMAGES = "images"
#: File of caveats about a layer, besides what its format expresses.
NOTES = "NOTES.md"

_Progress = Callable[[Iterable[ImageRecord]], Iterable[ImageRecord]]


class ExportError(PhraseboxError):
    """A rejected export; one line with the remedy."""


@dataclass(frozen=True)
class Chosen:
    """The content of an export: the images of a corpus with their parts of a layer, if there is one.

    `made_by` is the campaign that the layer comes from; `excluded` is the number of unfinished images that
    are omitted, `unfinished` of those that are included.
    """

    corpus: Corpus
    layer: Layer | None
    images: QuerySet[Image]
    made_by: Campaign | None = None
    excluded: int = 0
    unfinished: int = 0


class ExportChoice(TypedDict, total=False):
    """Options of an export, each False by default: see `export_dataset`."""

    include_unfinished: bool
    only_finished: bool
    with_pictures: bool
    simulated: bool


def export_dataset(
    *,
    corpus: str,
    format: str,
    out: Path,
    layer: str | None = None,
    progress: _Progress = iter,
    **choice: Unpack[ExportChoice],
) -> Written:
    """Write the corpus `corpus` in `format` under the new folder `out`.

    With a named `layer`, or if there is only one, mentions, chains and boxes are included, updated from its
    campaign's answers; the mentions of excluded chains are plain words. An unfinished layer is rejected,
    unless its unfinished images are included (`include_unfinished`) or omitted (`only_finished`; images that
    become finished during the export are omitted too). A simulated layer is rejected, unless requested as
    `simulated`. `with_pictures` puts the pictures under out/images, as hard links if the file system supports
    them, or into the files of a format that contains them. Caveats are in `Written.notes` and in `NOTES.md`,
    provenance in `README.md` and `datasheet.json`; `excluded` of the result counts what is not in the
    files, and `selectors.export_exclusions.missing_from_export` returns sentences about it. Everything is
    written to a temporary folder first, so `out` is complete as soon as it exists. Raises UnknownName for an
    unknown corpus, layer or format, PhraseboxError, else ExportError.
    """
    layers.layer_to_read(corpus_named(corpus), layer)
    chosen = check_export(corpus=corpus, format=format, layer=layer, **choice)
    with_pictures = choice.get("with_pictures", False)
    done = set() if choice.get("include_unfinished") else _done(chosen)
    if chosen.made_by is not None and choice.get("only_finished"):
        chosen = _fixed(chosen, done)
    # Again: images that became finished meanwhile count as finished, and their rows are behind.
    layers.layer_to_read(chosen.corpus, layer)
    writer = FORMATS.get(format)
    with complete_folder(out) as partial:
        records = stream_records(corpus=chosen.corpus, layer=chosen.layer, images=chosen.images)
        if writer.holds_pictures:
            records = _with_pictures(records) if with_pictures else _without_pictures(records)
        written = writer.write(progress(records), partial)
        for word, number in unsaid_by_every_format(chosen.layer, chosen.images, chosen.made_by).items():
            written.leave_out(word, number)
        if with_pictures and not writer.holds_pictures:
            written.add("pictures", _link_pictures(chosen, partial / _IMAGES))
        if done and (lost := done - _done(chosen)):
            message = ngettext(
                "%(n)d image became unfinished while the export was written: export again.",
                "%(n)d images became unfinished while the export was written: export again.",
                len(lost),
            )
            raise ExportError(message % {"n": len(lost)})
        written.notes += notes_on(chosen)
        if written.notes:
            (partial / NOTES).write_text("".join(f"{note}\n" for note in written.notes), encoding="utf-8")
            written.files.append(partial / NOTES)
        figures = datasheet_figures(chosen.corpus, chosen.layer, chosen.images, chosen.made_by)
        add_card(figures, written, writer=writer, out=partial, with_pictures=with_pictures)
    written.files = [out / file.relative_to(partial) for file in written.files]
    return written


@contextmanager
def complete_folder(out: Path) -> Iterator[Path]:
    """Yield a temporary folder, which is renamed to `out` when the context ends, and removed on failure.
    Raises ExportError, also for a FormatError."""
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ExportError(f"{out}: already exists; expected a new or an empty folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.", suffix=".partial"))
    try:
        yield partial
        os.replace(partial, out)
    except FormatError as error:
        # The message must contain the requested folder, not the temporary one.
        raise ExportError(str(error).replace(str(partial), str(out))) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def check_export(
    *,
    corpus: str,
    format: str,
    layer: str | None = None,
    include_unfinished: bool = False,
    only_finished: bool = False,
    with_pictures: bool = False,
    simulated: bool = False,
) -> Chosen:
    """Return the content of an export, after all checks that are possible before anything is written.

    Raises what `export_dataset` would raise for it: a page checks before it starts a job.
    """
    writer = FORMATS.get(format)
    if not writer.writes:
        writable = ", ".join(entry.key for entry in FORMATS if entry.writes)
        raise UnknownName(f"format {format!r} is for import only; for export: {writable}")
    if include_unfinished and only_finished:
        raise ExportError(_("Unfinished images can be exported or left out: choose one of the two."))
    corpus_row = corpus_named(corpus)
    chosen = _chosen(corpus_row, layer_named(corpus_row, layer), only_finished=only_finished)
    if chosen.layer is not None and is_simulated(chosen) and not simulated:
        raise ExportError(simulated_refusal(chosen.layer.name))
    if chosen.unfinished and not include_unfinished:
        raise ExportError(_unfinished(chosen))
    if chosen.layer is not None and only_finished and not chosen.images.exists():
        raise ExportError(
            _("No image of layer “%(name)s” is finished: there is nothing to export yet.")
            % {"name": chosen.layer.name}
        )
    _check_format(writer, chosen.images.order_by("position"))
    if with_pictures:
        _check_pictures(chosen, named=not writer.holds_pictures)
    return chosen


def notes_on(chosen: Chosen) -> list[str]:
    """Return caveats about an export: which images are unfinished, or omitted for it; and for a campaign's
    layer, whether workers' accuracy is unknown, and whether its images were opened under several versions of
    the settings."""
    notes = []
    every = chosen.corpus.image_count
    if chosen.excluded:
        notes.append(f"Left out: {chosen.excluded} of {every} images, which are not finished.")
    if chosen.unfinished:
        notes.append(f"Unfinished: {chosen.unfinished} of {every} images, which are exported unfinished.")
    if turned := chosen.images.filter(orientation__gt=1).count():
        notes.append(
            f"Turned: {turned} of {every} pictures were turned upright, as the EXIF data of their files "
            "said; sizes and boxes are of the upright pictures."
        )
    if is_simulated(chosen):
        notes.append(
            "Simulated: error models gave these answers, not people. They say nothing about the pictures."
        )
    if (made_by := chosen.made_by) is None:
        return notes
    if unmeasured := unchecked_kinds(made_by):
        notes.append(
            f"Unchecked: there are no gold answers to {', '.join(unmeasured)}, so accuracy is not measured "
            f"and nobody is suspended for it."
        )
    if early := unchecked_answers(made_by):
        counts = ", ".join(f"{count} to {kind}" for kind, count in early.items())
        notes.append(f"Unchecked in part: answers given before there were gold answers: {counts}.")
    if len(opened := images_by_version(made_by)) > 1:
        counts = ", ".join(f"{count} under version {number}" for number, count in opened)
        notes.append(f"Settings of the campaign changed while images were opened: {counts}.")
    return notes


def simulated_refusal(name: str) -> str:
    """Return why a simulation's answers, of the campaign or layer `name`, are not exported like people's."""
    return _(
        "The answers of “%(name)s” are simulated: no person gave them. Ask for "
        "simulated answers if that is intended."
    ) % {"name": name}


def is_simulated(chosen: Chosen) -> bool:
    """Whether simulated workers gave the answers of a layer."""
    if chosen.made_by is not None:
        return chosen.made_by.simulated
    return chosen.layer is not None and chosen.layer.source == SIMULATION_SOURCE


def simulated_layers(layers: Sequence[Layer]) -> list[str]:
    """Return the names of a corpus's simulated layers."""
    campaigns = Campaign.objects.filter(corpus__in={layer.corpus_id for layer in layers}, simulated=True)
    names = set(campaigns.values_list("name", flat=True))
    return [layer.name for layer in layers if layer.source == SIMULATION_SOURCE or layer.name in names]


def _chosen(corpus: Corpus, layer: Layer | None, *, only_finished: bool) -> Chosen:
    images = Image.objects.filter(corpus=corpus)
    if layer is None:
        return Chosen(corpus, None, images)
    made_by = layers.campaign_of_layer(layer)
    finished = images.filter(_is_finished(layer, made_by))
    if only_finished:
        return Chosen(corpus, layer, finished, made_by, excluded=images.count() - finished.count())
    unfinished = images.exclude(pk__in=finished.values("pk"))
    if made_by is None:
        # Images that an import, or a simulation, does not cover were never to be annotated.
        has_layer = Q(Exists(LayerImage.objects.filter(layer=layer, image=OuterRef("pk"))))
    else:
        opened = OpenImage.objects.filter(campaign=made_by, image=OuterRef("pk"))
        planned = PlannedImage.objects.filter(campaign=made_by, image=OuterRef("pk"))
        has_layer = Exists(opened) | Exists(planned)
    unfinished = unfinished.filter(has_layer)
    return Chosen(corpus, layer, images, made_by, unfinished=unfinished.count())


def _fixed(chosen: Chosen, done: set[int]) -> Chosen:
    """Return the same content for only these finished images (ids), whatever is finished from now on."""
    images = Image.objects.filter(corpus=chosen.corpus, pk__in=database.id_list(done))
    return replace(chosen, images=images, excluded=chosen.corpus.images.count() - len(done))


def _is_finished(layer: Layer, made_by: Campaign | None) -> Exists:
    """Return the condition that an image is finished: by its campaign, or because all its chains are
    closed."""
    if made_by is not None:
        return Exists(OpenImage.objects.filter(campaign=made_by, image=OuterRef("pk"), complete=True))
    unfinished = Chain.objects.filter(layer=layer, image=OuterRef("image")).exclude(
        stage__in=("", *CLOSED_STAGES)
    )
    return Exists(LayerImage.objects.filter(~Exists(unfinished), layer=layer, image=OuterRef("pk")))


def _check_format(writer: Format, images: QuerySet[Image]) -> None:
    """Raise ExportError for anything in `images` that the format cannot express, in their order."""
    if writer.needs_captions:
        bare = images.filter(~Exists(Caption.objects.filter(image=OuterRef("pk"))))
        if (key := bare.values_list("key", flat=True).first()) is not None:
            raise ExportError(
                _(
                    "Image “%(image)s” has no caption, and %(format)s cannot store that. Choose the format "
                    "jsonl."
                )
                % {"image": key, "format": writer.key}
            )
    if writer.splits is not None:
        unexported = images.exclude(split__in=("", *writer.splits)).values_list("key", "split").first()
        if unexported is not None:
            raise ExportError(
                _(
                    "Image “%(image)s” is in split “%(split)s”, which %(format)s has no list for (it has "
                    "%(splits)s). Choose the format jsonl."
                )
                % {
                    "image": unexported[0],
                    "split": unexported[1],
                    "format": writer.key,
                    "splits": ", ".join(writer.splits),
                }
            )


def _unfinished(chosen: Chosen) -> str:
    """Return why an unfinished layer is rejected, and the remedy."""
    assert chosen.layer is not None  # without a layer, nothing is unfinished
    message = ngettext(
        "Layer “%(name)s” is unfinished: %(n)d image is not done%(bare)s. Finish it, leave it "
        "out, or export it unfinished.",
        "Layer “%(name)s” is unfinished: %(n)d images are not done%(bare)s. Finish them, "
        "leave them out, or export them unfinished.",
        chosen.unfinished,
    )
    bare = ""
    if chosen.made_by is not None:
        opened = OpenImage.objects.filter(campaign=chosen.made_by, version=0, complete=False)
        planned = PlannedImage.objects.filter(campaign=chosen.made_by)
        if count := opened.count() + planned.count():
            bare = _(", and nobody has begun %(n)d of these") % {"n": count}
    return message % {"name": chosen.layer.name, "n": chosen.unfinished, "bare": bare}


def _done(chosen: Chosen) -> set[int]:
    """Return the finished images (ids) of a campaign's layer; none of another's."""
    done = OpenImage.objects.filter(campaign=chosen.made_by, complete=True)
    return set(done.values_list("image", flat=True)) if chosen.made_by else set()


def _check_pictures(chosen: Chosen, *, named: bool) -> None:
    """Raise ExportError if there are no pictures, or if two would have the same name in one folder
    (`named`)."""
    without_picture = chosen.images.exclude(picture="")
    if not without_picture.exists():
        raise ExportError(
            _("Corpus “%(name)s” has no pictures. Export it without pictures, or import it with them.")
            % {"name": chosen.corpus.name}
        )
    if not named:
        return
    twice = without_picture.values("filename").annotate(n=Count("id")).filter(n__gt=1)
    if (again := twice.values_list("filename", flat=True).order_by("filename").first()) is not None:
        raise ExportError(_twice(again))


def _twice(filename: str) -> str:
    return _("Two images have the file name “%(name)s”: export without pictures.") % {"name": filename}


def _with_pictures(records: Iterable[ImageRecord]) -> Iterator[ImageRecord]:
    """Yield the records without pictures that are being withdrawn."""
    withdrawn = withdrawn_pictures()
    for record in records:
        gone = record.picture is not None and record.picture.name in withdrawn
        yield replace(record, picture=None) if gone else record


def _without_pictures(records: Iterable[ImageRecord]) -> Iterator[ImageRecord]:
    return (replace(record, picture=None) for record in records)


def _link_pictures(chosen: Chosen, folder: Path) -> int:
    """Put the picture of every image into `folder` under its image's file name, except those that are being
    withdrawn; return their number."""
    folder.mkdir()
    stored = chosen.images.exclude(picture__in=["", *withdrawn_pictures()]).order_by("position")
    linked = 0
    for filename, picture in stored.values_list("filename", "picture").iterator():
        target = folder / filename
        target.parent.mkdir(parents=True, exist_ok=True)  # names may contain folders
        try:
            os.link(picture_path(picture), target)
        except FileExistsError:
            raise ExportError(_twice(filename)) from None
        except OSError:
            shutil.copyfile(picture_path(picture), target)
        linked += 1
    return linked
