"""Corpora: a stream of records -> rows and pictures, all of them or none.

A corpus is validated and written in one pass, in chunks, out of sight, and published by one
statement at the end. Its pictures are kept in a folder of the import's own until then. What
a killed import left is nobody's, and the next one of that name sweeps it.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from django.db import IntegrityError, transaction

from annotation.common import batching, database
from annotation.common.locks import Busy, exclusive_folder
from annotation.common.registry import UnknownName
from annotation.datasets import layer_rows
from annotation.formats import FORMATS, FormatError
from annotation.formats.digest import Ledger
from annotation.formats.files.archive import unpacked_source
from annotation.images import pictures
from annotation.models import Caption, Corpus, Image, Layer
from annotation.protocol.terms import ImageRecord

#: The layer made of what a source brings, and where it says it is from.
IMPORT = "import"

_NAME = re.compile(r"[-a-zA-Z0-9_]{1,100}")

_Progress = Callable[[Iterable[ImageRecord]], Iterable[ImageRecord]]


class IntakeError(ValueError):
    """A corpus that cannot be taken in; one line with the remedy."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import found. `unchanged`: the corpus stood already, with the same content.

    `covered` counts the images that bring a layer. `chains` and `mentions` leave out what is not
    visual (chain 0), which `not_visual` counts. `seconds` is wall-clock time.
    """

    corpus: str
    source: str
    unchanged: bool
    images: int
    captions: int
    pictures: int
    layer: str
    covered: int
    mentions: int
    not_visual: int
    chains: int
    boxes: int
    digest: str
    seconds: float


def import_corpus(
    *,
    name: str,
    path: Path,
    format: str,
    images: Path | None = None,
    progress: _Progress = iter,
) -> ImportReport:
    """Import `path` (a file, a folder, or an archive of either) as the corpus `name`.

    `format` is a key of FORMATS; `images` the folder of pictures where the format does not
    say. Where the corpus stands with the same content, nothing changes. Raises UnknownName for
    a format nobody knows, FormatError and PictureError for a bad source, Busy where another
    process imports the same name, else IntakeError; then nothing of the import remains.
    """
    reader = FORMATS.get(format)
    if not reader.reads:
        readable = ", ".join(entry.key for entry in FORMATS if entry.reads)
        raise UnknownName(f"format {format!r} is for export only; for import: {readable}")
    if not path.exists():
        raise IntakeError(f"{path}: no such file or folder; expected a corpus in the format {format}")
    if images is not None and not images.is_dir():
        raise IntakeError(f"{images}: no such folder; expected the folder of pictures")
    _check_name(name)
    with _alone(name) as folder, unpacked_source(path, workdir=folder / "unpacked") as source:
        taking = _Taking(name, format, str(path), folder / "pictures")
        try:
            return taking.take(progress(reader.read(source, images=images)), pictures_in=images)
        except (FormatError, pictures.PictureError, IntakeError) as error:
            if source == path:
                raise
            # People know their archive, not the folder it was unpacked to.
            raise IntakeError(str(error).replace(str(source), str(path))) from error


def import_records(
    *, name: str, records: Iterable[ImageRecord], format: str, source: str, progress: _Progress = iter
) -> ImportReport:
    """As `import_corpus`, for records at hand; `format` and `source` say where they are from."""
    _check_name(name)
    with _alone(name) as folder:
        return _Taking(name, format, source, folder / "pictures").take(progress(records))


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise IntakeError(
            f"corpus name {name!r}: expected letters, digits, hyphens or underscores, at most 100 of them"
        )


def _alone(name: str) -> AbstractContextManager[Path]:
    return exclusive_folder(f"import.{name}", busy=_busy(name))


def _busy(name: str) -> str:
    return f"corpus {name!r} is being imported by another process; wait for its end"


class _Taking:
    """One import under way: what it has seen, and where it puts it."""

    def __init__(self, name: str, format: str, source: str, staged: Path) -> None:
        self.name = name
        self.format = format
        self.staged = staged
        self.ledger = Ledger(source)
        self.layer: Layer | None = None
        self._first = ""

    def take(self, records: Iterable[ImageRecord], *, pictures_in: Path | None = None) -> ImportReport:
        """Write the corpus, or compare it with the one that stands."""
        began = time.monotonic()
        standing = Corpus.objects.filter(name=self.name).first()
        if standing and standing.published:
            self._compare(standing, records, pictures_in)
        else:
            if standing:
                _sweep(standing)
            self._write(records, pictures_in)
        ledger = self.ledger
        return ImportReport(
            corpus=self.name,
            source=ledger.source,
            unchanged=standing is not None and standing.published,
            images=ledger.images,
            captions=ledger.captions,
            pictures=ledger.pictures,
            layer=IMPORT if ledger.layered else "",
            covered=ledger.layered,
            mentions=ledger.mentions,
            not_visual=ledger.not_visual,
            chains=ledger.chains,
            boxes=ledger.boxes,
            digest=ledger.digest,
            seconds=time.monotonic() - began,
        )

    def _compare(self, standing: Corpus, records: Iterable[ImageRecord], pictures_in: Path | None) -> None:
        for record in records:
            self._check(record)
            self.ledger.enter(record, pictures.source_digest(record.picture) if record.picture else "")
        self._check_whole(pictures_in)
        if self.ledger.digest != standing.digest:
            raise IntakeError(
                f"corpus {standing.name!r} already exists with other content "
                f"({standing.image_count} images from {standing.source}); choose another name"
            )

    def _write(self, records: Iterable[ImageRecord], pictures_in: Path | None) -> None:
        try:
            with transaction.atomic():
                corpus = Corpus.objects.create(name=self.name, format=self.format, source=self.ledger.source)
        except IntegrityError:
            raise Busy(_busy(self.name)) from None
        try:
            with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
                for chunk in batching.chunks(records, layer_rows.LAYER_IMAGES_PER_TRANSACTION):
                    kept = list(pool.map(self._keep, chunk))
                    self._insert(corpus, chunk, kept)
            self._check_whole(pictures_in)
            pictures.publish_pictures(self.staged)
            database.analyse_tables(self.ledger.captions, Image, Caption)
            if self.ledger.layered:
                layer_rows.analyse_layer_tables(self.ledger.images)
            with transaction.atomic():
                corpus.layers.update(published=True)
                Corpus.objects.filter(pk=corpus.pk).update(
                    digest=self.ledger.digest,
                    image_count=self.ledger.images,
                    caption_count=self.ledger.captions,
                    published=True,
                )
        except BaseException:
            _sweep(corpus)
            raise

    def _keep(self, record: ImageRecord) -> pictures.StoredPicture | None:
        """Keep the record's picture, where it has one, among the import's own."""
        if record.picture is None:
            return None
        kept = pictures.store_picture(record.picture, into=self.staged)
        said = (record.width, record.height)
        if said != (0, 0) and said != (kept.width, kept.height):
            raise IntakeError(
                f"{record.picture}: is {kept.width} x {kept.height} pixels; expected "
                f"{record.width} x {record.height}, as {self.ledger.source} says of image {record.id!r}"
            )
        return kept

    def _insert(
        self, corpus: Corpus, chunk: list[ImageRecord], kept: list[pictures.StoredPicture | None]
    ) -> None:
        rows: list[Image] = []
        for record, picture in zip(chunk, kept, strict=True):
            width, height = (picture.width, picture.height) if picture else (record.width, record.height)
            self._check(replace(record, width=width, height=height) if picture else record)
            rows.append(
                Image(
                    corpus_id=corpus.pk,
                    position=self.ledger.images,
                    key=record.id,
                    filename=record.filename,
                    external_id=record.external_id,
                    split=record.split,
                    width=width,
                    height=height,
                    picture=picture.name if picture else "",
                )
            )
            self.ledger.enter(record, picture.source if picture else "")
        with transaction.atomic():
            Image.objects.bulk_create(rows)
            captions = Caption.objects.bulk_create(
                Caption(
                    image_id=image.pk,
                    number=number,
                    text=caption.text,
                    tokens=" ".join(caption.tokens or ()),
                    external_id=caption.id,
                    unrelated=caption.unrelated,
                )
                for image, record in zip(rows, chunk, strict=True)
                for number, caption in enumerate(record.captions)
            )
            of_image: dict[int, list[int]] = {image.pk: [] for image in rows}
            for row in captions:
                of_image[row.image_id].append(row.pk)
            placed = [
                layer_rows.PlacedShare(image.pk, of_image[image.pk], record.layer)
                for image, record in zip(rows, chunk, strict=True)
                if record.layer is not None
            ]
            if placed and not self.layer:
                self.layer = corpus.layers.create(name=IMPORT, source=IMPORT)
            if self.layer:
                layer_rows.insert_shares(self.layer, placed)

    def _check(self, record: ImageRecord) -> None:
        self.ledger.check(record)
        self._first = self._first or record.filename

    def _check_whole(self, pictures_in: Path | None) -> None:
        """What can only be said at the end."""
        ledger = self.ledger
        if not ledger.images:
            raise IntakeError(f"{ledger.source}: holds no images; expected at least one")
        if pictures_in is not None and not ledger.pictures:
            raise IntakeError(
                f"{pictures_in}: holds no picture of the {ledger.images} images; "
                f"expected {self._first} and the like"
            )


def _sweep(corpus: Corpus) -> None:
    """Delete an unpublished corpus: its rows, and those of its pictures that no other corpus shows."""
    for layer in corpus.layers.all():
        layer_rows.remove_layer(layer)
    batching.delete_in_pages(Caption.objects.filter(image__corpus=corpus))
    while page := dict(corpus.images.values_list("pk", "picture")[: batching.ROWS_PER_TRANSACTION]):
        Image.objects.filter(pk__in=page).delete()
        names = set(page.values()) - {""}
        shown = set(Image.objects.filter(picture__in=names).values_list("picture", flat=True))
        for name in names - shown:
            pictures.discard_picture(name)
    corpus.delete()
