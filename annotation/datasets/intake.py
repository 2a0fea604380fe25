"""Import a stream of records as a corpus: records are checked, pictures stored and rows written, all or none.

Everything is read to the end, in spite of problems, so that all of them are known at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from django.db import IntegrityError, transaction

from annotation.common import database
from annotation.common.locks import Busy
from annotation.common.operations import check_used
from annotation.datasets import layer_rows
from annotation.datasets.deliveries import ImageDelivery, hidden_name
from annotation.datasets.source_problems import IntakeError, ProblemList, SourceProblem
from annotation.formats import FORMATS
from annotation.formats.base import problems_reported_to
from annotation.formats.digest import Ledger, RepeatedImage
from annotation.formats.files.folders import pictures_below
from annotation.formats.layers.frames import EITHER, RAW, frame_of, has_boxes, upright_layer
from annotation.images import pictures
from annotation.images.withdrawn import withdrawn_pictures
from annotation.models import Account, Caption, Corpus, Image, Layer
from annotation.protocol.terms import ImageRecord, LayerRecord, is_too_small
from annotation.selectors.corpora import corpus_named
from phrasebox.balance import (
    CAPTIONS,
    CLUTTER,
    NAMED_IMAGES,
    NOT_READ,
    OF_LEFT,
    PICTURELESS,
    PICTURES,
    PROBLEM,
    RAW_FRAME,
    TOO_SMALL,
    TURNED,
    UNCAPTIONED,
    BalanceSheet,
    Tally,
    counted_by,
)
from phrasebox.text_files import FormatError

#: Name of the layer in a source, and its origin.
IMPORT = "import"
#: A picture that was taken.
_TAKEN = ""
#: Number of pictures that one reader decodes.
_PICTURES = 125


@dataclass(frozen=True, slots=True)
class ImportHow:
    """How problems are handled: `skip_problems` skips invalid parts, otherwise nothing is imported; nor is it
    if something would remain unused, unless confirmed (`leave_unused`). `dry_run` never stores anything.
    `source` is the corpus's origin if that is not the path. `add`: the images are added to the existing
    corpus of that name, by `actor`."""

    skip_problems: bool = False
    leave_unused: bool = False
    dry_run: bool = False
    source: str = ""
    add: bool = False
    actor: Account | None = None


STRICT = ImportHow()


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import. `added`: the images were added to an existing corpus, and each of `campaigns`
    asks about that many of them. `unchanged`: the corpus existed with the same content, or the same images
    were added before. `digest` covers what was read.

    `covered` counts the images with a layer. `chains` and `mentions` exclude what is not visual (chain 0),
    which `not_visual` counts. `seconds` is wall-clock time. `problems` are all problems: skipped, if
    requested (`skipped`); otherwise those that do not prevent an import. With `dry_run` nothing was stored,
    and the counts are of valid records. `sheet`: the balance sheet.
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
    problems: tuple[SourceProblem, ...] = ()
    dry_run: bool = False
    skipped: bool = False
    sheet: BalanceSheet = BalanceSheet()
    added: bool = False
    campaigns: Mapping[str, int] = field(default_factory=dict)


class CorpusIntake:
    """A running import: what it has read, the problems, and where it stores the results."""

    def __init__(self, name: str, format: str, source: str, staged: Path, how: ImportHow = STRICT) -> None:
        self.name = name
        self.format = format
        self.staged = staged
        self.how = how
        self.ledger = Ledger(source)
        self.problems = ProblemList()
        self.layer: Layer | None = None
        self.tally = Tally()
        self._delivery = ImageDelivery(corpus_named(name), source) if how.add else None
        positions = count()
        self._next_position = self._delivery.next_position if self._delivery else lambda _: next(positions)
        self._unchanged = False
        self._source: Path | None = None
        self._pictured = False
        self._pictures_in: Path | None = None
        self._compares = False
        self._captioned = format not in FORMATS or FORMATS.get(format).captioned
        #: The pictures of records: _TAKEN, or why they are left.
        self._pictures: dict[str, str] = {}
        self._first = ""

    def take(
        self,
        records: Iterable[ImageRecord],
        *,
        pictures_in: Path | None = None,
        pictured: bool = False,
        source: Path | None = None,
    ) -> ImportReport:
        """Write the corpus, or compare it with the existing one, or only check it.

        If it is to be `pictured`, the folder of pictures must contain some of its pictures. The folder
        `source` is searched for missing pictures.
        """
        began = time.monotonic()
        self._pictures_in, self._source, self._pictured = pictures_in, source, pictured
        corpus = Corpus.objects.filter(name=self._hidden).first()
        with (
            ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool,
            problems_reported_to(self._add_reader_error),
            counted_by(self.tally),
        ):
            if self.how.dry_run:
                for chunk in self._chunks(records):
                    self._enter(self._sound(pool, chunk))
                self._count_pictures()
            elif corpus is not None and corpus.published:
                self._compare(corpus, records, pool)
            else:
                if corpus:
                    sweep_corpus(corpus)
                self._write(records, pool)
        ledger, delivery = self.ledger, self._delivery
        return ImportReport(
            corpus=self.name,
            source=ledger.source,
            unchanged=self._unchanged,
            images=ledger.images,
            captions=ledger.captions,
            pictures=ledger.pictures,
            layer=IMPORT if ledger.layered else "",
            covered=ledger.layered,
            mentions=ledger.mentions,
            not_visual=ledger.not_visual,
            chains=ledger.chains,
            boxes=ledger.boxes,
            digest=(ledger if delivery is None else delivery.read).digest,
            seconds=time.monotonic() - began,
            problems=tuple(self.problems),
            dry_run=self.how.dry_run,
            skipped=self.how.skip_problems,
            sheet=self.tally.sheet(),
            added=self.how.add,
        )

    @property
    def _hidden(self) -> str:
        """The name of the row that the images are written to."""
        return self.name if self._delivery is None else hidden_name(self._delivery.corpus)

    def _compare(self, corpus: Corpus, records: Iterable[ImageRecord], pool: ThreadPoolExecutor) -> None:
        self._compares = self._unchanged = True
        for chunk in self._chunks(records):
            self._enter(self._sound(pool, chunk))
        self._check_whole()
        if self.ledger.digest != corpus.digest:
            raise IntakeError(
                f"corpus {corpus.name!r} already exists with other content "
                f"({corpus.image_count} images from {corpus.source}); choose another name"
            )

    def _write(self, records: Iterable[ImageRecord], pool: ThreadPoolExecutor) -> None:
        try:
            with transaction.atomic():
                corpus = Corpus.objects.create(
                    name=self._hidden, format=self.format, source=self.ledger.source
                )
        except IntegrityError:
            raise Busy(being_imported(self.name)) from None
        try:
            for chunk in self._chunks(records):
                sound = self._sound(pool, chunk)
                if self._stores:
                    self._insert(corpus, sound)
                else:
                    self._enter(sound)
            if self._delivery is not None and self._delivery.repeated:
                self._unchanged, self.problems, self.tally = True, ProblemList(), Tally()
                self.ledger = self._delivery.read
                sweep_corpus(corpus)
                return
            self._check_whole()
            check_used(self.tally.sheet(), leave_unused=self.how.leave_unused)
            pictures.publish_pictures(self.staged)
            database.analyse_tables(self.ledger.captions, Image, Caption)
            if self.ledger.layered:
                layer_rows.analyse_layer_tables(self.ledger.images)
            with database.writing():
                # Staged before they were withdrawn: a later withdrawal finds the rows itself.
                corpus.images.filter(picture__in=withdrawn_pictures()).update(picture="")
                if self._delivery is not None:
                    self._delivery.publish(corpus, self.ledger, self.how.actor)
                    return
                corpus.layers.update(published=True)
                Corpus.objects.filter(pk=corpus.pk).update(
                    digest=self.ledger.digest,
                    image_count=self.ledger.images,
                    caption_count=self.ledger.captions,
                    published=True,
                )
        except BaseException:
            sweep_corpus(corpus)
            raise

    @property
    def _stores(self) -> bool:
        """Whether valid records are still written: not once it is clear that the import will be rejected."""
        return self.how.skip_problems or not self.problems.errors

    def _chunks(self, records: Iterable[ImageRecord]) -> Iterator[list[ImageRecord]]:
        """Yield the records in chunks, to the end of what can be read."""
        try:
            yield from database.chunks(records, layer_rows.LAYER_IMAGES_PER_TRANSACTION)
        except FormatError as error:  # nothing after it can be read
            if not self.problems.errors or (self.how.skip_problems and not error.no_valid_image):
                raise
            if not error.no_valid_image:  # that follows from the problems
                self._add_reader_error(error)

    def _add_reader_error(self, error: FormatError) -> None:
        self.problems.add_reader_error(error)
        for picture in error.pictures:
            self._pictures.setdefault(picture, OF_LEFT)

    def _sound(self, pool: ThreadPoolExecutor, chunk: list[ImageRecord]) -> list[SoundRecord]:
        """Return the valid records of a chunk; the problems of the others are reported."""
        sound = []
        for record, stored in zip(chunk, self._stored_pictures(pool, chunk), strict=True):
            self.tally.count(NAMED_IMAGES)
            self.tally.count(CAPTIONS, len(record.captions))
            if isinstance(stored, Exception):
                self.problems.add_refusal(stored, record.picture or record.filename)
                self._leave(record, PROBLEM)
                continue
            width, height = (
                (stored.width, stored.height) if stored and stored.width else (record.width, record.height)
            )
            frame, layer = _frame(record, stored) if stored else None, record.layer
            raw = frame == RAW
            if stored is not None and frame == EITHER and has_boxes(layer):
                self.problems.add_refusal(self._of_either_frame(record, stored), record.filename)
                self._leave(record, OF_LEFT)
                continue
            if stored is not None and raw and layer is not None:
                layer = upright_layer(layer, (width, height), stored.orientation)
            try:
                upright = replace(record, width=width, height=height, layer=layer) if stored else record
                self._check(upright)
                if self._delivery is not None:
                    self._delivery.check(record, stored)
            except (FormatError, RepeatedImage) as error:
                turned = stored is not None and stored.turned and layer is not None
                self.problems.add_refusal(_of_turned(error) if turned else error, record.filename)
                self._leave(record, OF_LEFT)
                continue
            if self._lacking(record) and self.how.skip_problems:
                self._leave(record, OF_LEFT)
                continue
            self.tally.note(RAW_FRAME, raw, record.filename)
            sound.append(SoundRecord(record, stored, width, height, layer))
        return sound

    def _of_either_frame(self, record: ImageRecord, stored: pictures.StoredPicture) -> IntakeError:
        return IntakeError(
            f"{record.picture}: EXIF orientation {stored.orientation} turns it, and no size in "
            f"{self.ledger.source} tells whether boxes of image {record.id!r} are of the upright picture; "
            "expected a picture without an orientation, turned as its boxes are, or the boxes in a layer "
            "that is imported later, which says their frame"
        )

    def _leave(self, record: ImageRecord, of_picture: str) -> None:
        """Count a record as left, with its captions, and its picture for the reason `of_picture`."""
        self.tally.leave(NAMED_IMAGES, PROBLEM, 1, record.filename)
        self.tally.leave(CAPTIONS, OF_LEFT, len(record.captions))
        if record.picture is not None:
            self._pictures.setdefault(str(record.picture), of_picture)

    def _lacking(self, record: ImageRecord) -> bool:
        """Whether a record lacks a caption, or its picture although there are pictures; reports it."""
        without_caption = self._captioned and not record.captions
        if without_caption:
            self.problems.without_caption(record.filename)
        if record.picture is None and self._pictures_in is not None:
            self.problems.without_picture(self._pictures_in, record.filename)
        return without_caption or (record.picture is None and self._pictures_in is not None)

    def _stored_pictures(
        self, pool: ThreadPoolExecutor, chunk: list[ImageRecord]
    ) -> Iterator[pictures.StoredPicture | Exception | None]:
        """Yield the picture of each record, if it has one: stored in the import's folder, or only checked, if
        the import stores nothing; or its error."""
        paths = [record.picture for record in chunk if record.picture is not None]
        parts = [paths[start : start + _PICTURES] for start in range(0, len(paths), _PICTURES)]
        stored = chain.from_iterable(pool.map(self._store_pictures, parts))
        for record in chunk:
            yield None if record.picture is None else self._as_stated(record, next(stored))

    def _store_pictures(self, paths: list[Path]) -> list[pictures.StoredPicture | pictures.PictureError]:
        if self._compares and not self.how.skip_problems:  # equal ones were checked then
            return [pictures.StoredPicture("", 0, 0, pictures.source_digest(path)) for path in paths]
        if self.how.dry_run or not self._stores:
            return list(pictures.check_pictures(paths))
        return list(pictures.store_pictures(paths, into=self.staged))

    def _as_stated(
        self, record: ImageRecord, stored: pictures.StoredPicture | Exception
    ) -> pictures.StoredPicture | Exception:
        """Return the picture, or the error that its size differs from the source's."""
        stated_size = (record.width, record.height)
        if isinstance(stored, Exception) or stated_size == (0, 0) or not stored.width:
            return stored
        if stated_size == (stored.width, stored.height) or _frame(record, stored) == RAW:
            return stored
        turned = f", turned upright by EXIF orientation {stored.orientation}" if stored.turned else ""
        return IntakeError(
            f"{record.picture}: is {stored.width} x {stored.height} pixels{turned}; expected "
            f"{record.width} x {record.height}, as {self.ledger.source} says of image {record.id!r}"
        )

    def _enter(self, sound: Iterable[SoundRecord]) -> None:
        for stored in sound:
            record, picture = stored.record, stored.picture
            self.ledger.enter(record, picture.source if picture else "")
            self.tally.take(NAMED_IMAGES)
            self.tally.take(CAPTIONS, len(record.captions))
            self.tally.note(TOO_SMALL, is_too_small(stored.width, stored.height), record.filename)
            if record.picture is not None and picture is not None:
                self._pictures[str(record.picture)] = _TAKEN
                self.tally.note(TURNED, picture.turned, record.filename)
            elif self._pictures_in is not None:
                self.tally.note(PICTURELESS, 1, record.filename)

    def _insert(self, corpus: Corpus, sound: list[SoundRecord]) -> None:
        next_position = self._next_position
        rows = [
            Image(
                corpus_id=corpus.pk,
                position=next_position(stored.record),
                key=stored.record.id,
                filename=stored.record.filename,
                external_id=stored.record.external_id,
                split=stored.record.split,
                width=stored.width,
                height=stored.height,
                picture=stored.picture.name if stored.picture else "",
                orientation=stored.picture.orientation if stored.picture else 1,
            )
            for stored in sound
        ]
        self._enter(sound)
        chunk = [stored.record for stored in sound]
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
                layer_rows.PlacedShare(image.pk, of_image[image.pk], stored.layer)
                for image, stored in zip(rows, sound, strict=True)
                if stored.layer is not None
            ]
            if placed and not self.layer:
                self.layer = corpus.layers.create(name=IMPORT, source=IMPORT)
            if self.layer:
                layer_rows.insert_shares(self.layer, placed)

    def _check(self, record: ImageRecord) -> None:
        self.ledger.check(record)
        self._first = self._first or record.filename

    def _check_whole(self) -> None:
        """Check what is only known at the end; raise the error of an import that skips nothing."""
        self._count_pictures()
        if not self.how.skip_problems:
            self.problems.raise_blocking(self.ledger.source)
        ledger = self.ledger
        if not ledger.images:
            new = "" if self._delivery is None else f" that corpus {self.name!r} lacks"
            raise IntakeError(f"{ledger.source}: holds no images{new}; expected at least one")
        if self._pictured and not ledger.pictures:
            raise IntakeError(
                f"{self._pictures_in}: holds no picture of the {ledger.images} images; "
                f"expected {self._first} and the like"
            )

    def _count_pictures(self) -> None:
        """Count the pictures of the source, and those of records in other folders."""
        folders = [folder for folder in (self._source, self._pictures_in) if folder is not None]
        if len(folders) == 2 and folders[1].is_relative_to(folders[0]):
            folders.pop()
        unnamed = UNCAPTIONED if self._pictures_in is not None else NOT_READ
        for folder in folders:
            for path, cluttered in pictures_below(folder):
                name = path[len(f"{folder}/") :]
                beside = CLUTTER if cluttered and self._pictures_in is not None else unnamed
                self._count_picture(self._pictures.pop(path, beside), name)
        for path, why in self._pictures.items():
            self._count_picture(why, path)

    def _count_picture(self, why: str, name: str) -> None:
        self.tally.count(PICTURES)
        if why == _TAKEN:
            self.tally.take(PICTURES)
        else:
            self.tally.leave(PICTURES, why, 1, name)


class SoundRecord(NamedTuple):
    """A valid record, its picture, the size of the image in pixels, 0 if unknown, and its layer in these
    pixels."""

    record: ImageRecord
    picture: pictures.StoredPicture | None
    width: int
    height: int
    layer: LayerRecord | None


def _frame(record: ImageRecord, stored: pictures.StoredPicture) -> str | None:
    """Return the frame of a record's size and boxes."""
    return frame_of((record.width, record.height), (stored.width, stored.height), stored.orientation)


def _of_turned(error: Exception) -> Exception:
    """Return the error of a record whose picture was rotated, which may be the reason."""
    if not isinstance(error, FormatError):
        return error
    return FormatError(
        f"{error.problem}; EXIF turned this picture upright",
        file=error.file,
        line=error.line,
        expected="boxes of the upright picture, or width and height as the file has them before it is turned",
    )


def being_imported(name: str) -> str:
    """Return the message while another process imports the corpus."""
    return f"corpus {name!r} is being imported by another process; wait for its end"


def sweep_corpus(corpus: Corpus, *, alive: Callable[[], object] = lambda: None) -> None:
    """Delete an unpublished corpus: its rows, and those of its pictures that no other corpus shows.

    `alive` is called regularly.
    """
    for layer in corpus.layers.all():
        layer_rows.remove_layer(layer, alive=alive)
    database.delete_in_pages(Caption.objects.filter(image__corpus=corpus), alive=alive)
    while page := dict(corpus.images.values_list("pk", "picture")[: database.ROWS_PER_TRANSACTION]):
        alive()
        Image.objects.filter(pk__in=page).delete()
        names = set(page.values()) - {""}
        in_use = set(Image.objects.filter(picture__in=names).values_list("picture", flat=True))
        for name in names - in_use:
            pictures.discard_picture(name)
    corpus.delete()
