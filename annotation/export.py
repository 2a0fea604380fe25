"""A corpus with one of its layers -> files. What is written stands whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from annotation.formats import FORMATS, FormatError, Written
from annotation.models import Chain, Corpus, Image, Layer
from annotation.pictures import picture_path
from annotation.protocol.boxes import CLOSED
from annotation.protocol.terms import ImageRecord
from annotation.registry import UnknownName
from annotation.selectors.corpora import corpus_named, layer_named
from annotation.selectors.records import stream_records

#: Where `with_pictures` puts the pictures, within the export.
IMAGES = "images"

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
    out/images, as hard links where the file system allows. Everything is written beside
    `out` first, so `out` is complete as soon as it exists. Raises UnknownName for a corpus, a
    layer or a format that is none, AmbiguousLayer, else ExportError.
    """
    writer = FORMATS.get(format)
    if not writer.writes:
        writable = ", ".join(entry.key for entry in FORMATS if entry.writes)
        raise UnknownName(f"format {format!r} is for import only; for export: {writable}")
    found = corpus_named(corpus)
    chosen = layer_named(found, layer)
    if chosen and not include_unfinished:
        _refuse_unfinished(chosen)
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ExportError(f"{out}: stands already; expected a new or an empty folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.", suffix=".partial"))
    try:
        written = writer.write(progress(stream_records(corpus=found, layer=chosen)), partial)
        if with_pictures:
            written.add("pictures", _link_pictures(found, partial / IMAGES))
        os.chmod(partial, 0o755)
        os.replace(partial, out)
    except FormatError as error:
        # People know the folder they asked for, not the one beside it.
        raise ExportError(str(error).replace(str(partial), str(out))) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    written.files = [out / file.relative_to(partial) for file in written.files]
    return written


def _refuse_unfinished(layer: Layer) -> None:
    unfinished = Chain.objects.filter(layer=layer).exclude(stage__in=("", *CLOSED))
    if chains := unfinished.count():
        images = unfinished.values("image").distinct().count()
        raise ExportError(
            f"layer {layer.name!r}: {chains} chains of {images} images are unfinished; finish them, or "
            "export them as they stand with --include-unfinished"
        )


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
            raise ExportError(f"two images have the file name {filename!r}; expected one") from None
        except OSError:
            shutil.copyfile(picture_path(picture), target)
        linked += 1
    return linked
