"""Uploading systems: embeddings or scores, checked against a corpus and stored for ranking.

An invalid upload leaves no system. One model is stored (see `models_core.storage`), with the names of the
corpus's images and captions as ids, so that a split can be selected without the files.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import (
    LEAVE_UNUSED,
    FieldError,
    Help,
    Named,
    OneOf,
    OperationContext,
    check_used,
    with_sheet,
)
from annotation.common.readers import read, stream
from annotation.selectors.corpora import CORPORA, corpus_named
from evaluation.formats.sent_files import SentFile, SentIds, SentMatrix, read_system, write_system
from evaluation.selectors import names_of
from evaluation.services.common import InputError, check_file, work_lock
from evaluation.services.declarations import (
    ARRAYS_UPLOAD,
    IdsBeside,
    TrainedOn,
    count_ids_files,
    declared_training,
)
from evaluation.services.request_fields import NamedBy, name_spaces
from evaluation.services.systems import registry
from evaluation.services.systems.folders import clear_leftovers, system_folder
from evaluation.services.systems.origins.uploaded import STORED_EMBEDDINGS, STORED_SCORES
from evaluation.services.systems.training_images import TrainingImages
from models_core import storage
from phrasebox.balance import CAPTIONS, NAMED_IMAGES, BalanceSheet, current_tally
from phrasebox.names import Lookup
from phrasebox.text_files import FormatError, short_repr


def _formats() -> dict[str, Any]:
    return {STORED_EMBEDDINGS: _("Embeddings"), STORED_SCORES: _("Scores")}


@dataclass(frozen=True, slots=True, kw_only=True)
class AddSystemRequest:
    """Embeddings or scores of a corpus, computed elsewhere, become a system; `rank` then makes runs of any
    split that they cover. If anything is wrong, nothing is stored. If the same system already exists, nothing
    changes."""

    name: Annotated[str, Named(), Help(_("Name"))]
    file: Annotated[
        Path,
        ARRAYS_UPLOAD,
        Help(_("File"), _("Embeddings, or scores of images by captions (npz, npy, safetensors)")),
    ]
    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    format: Annotated[str, OneOf(_formats), Help(_("Format"))] = STORED_EMBEDDINGS
    ids: IdsBeside = ()
    captions: Annotated[
        Annotated[Path, ARRAYS_UPLOAD] | None,
        Help(_("Captions"), _("Embeddings of captions, where the other file has those of images")),
    ] = None
    inner_products: Annotated[
        bool, Help(_("Inner products"), _("Score embeddings by inner products, not by cosines"))
    ] = False
    trained_on: TrainedOn = ""
    named_by: NamedBy = None
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False

    @property
    def files(self) -> list[Path]:
        """The files to read."""
        return [self.file] if self.captions is None else [self.file, self.captions]

    def problems(self) -> Iterator[FieldError]:
        """Errors of fields that do not apply to scores."""
        for name in ("captions", "inner_products"):
            if self.format != STORED_EMBEDDINGS and getattr(self, name):
                yield FieldError(name, "only_with", {"other": STORED_EMBEDDINGS})


@dataclass(frozen=True, slots=True)
class AddedSystem:
    """A system that was added. `unchanged`: it existed already, from the same files. Scores have 0
    `dimensions`.

    `remarks` are about its embeddings (see `ScoreMatrix.remarks`).
    """

    system: str
    corpus: str
    format: str
    images: int
    captions: int
    dimensions: int
    unchanged: bool
    sha256: str
    remarks: tuple[str, ...]
    sheet: BalanceSheet = BalanceSheet()


@with_sheet
def add_system(request: AddSystemRequest, context: OperationContext) -> AddedSystem:
    """Check and store a corpus's embeddings or scores as a system.

    Raises UnknownName, FormatError naming file and row, Busy, and InputError if another system has the
    name.
    """
    name, corpus, format, files = request.name, request.corpus, request.format, request.files
    for file in files:
        check_file(file, "a system's embeddings or scores")
    declared = declared_training(request.trained_on, context)
    images = declared.images()
    seen = {} if images is None else TrainingImages(images, images[:0]).arrays
    row, names, folder = corpus_named(corpus), names_of(corpus), system_folder(name)
    spaces = name_spaces(request.named_by)
    upload = SentMatrix(
        format=format, file=request.file, captions=request.captions, cosine=not request.inner_products
    )
    count_ids_files(request.ids)
    with work_lock(f"system.{name}", "system", name):
        registry.check_free(name, corpus, format)
        about, ids = _read(upload, {"images": len(names.image), "captions": len(names.caption)})
        held = {
            "images_ids": _known(
                ids["images"], names.images_in(files[0], spaces), names.image_name, "image", files[0], corpus
            ),
            "captions_ids": _known(
                ids["captions"],
                names.captions_in(files[-1], spaces),
                names.caption_name,
                "caption",
                files[-1],
                corpus,
            ),
            **({"cosine": not request.inner_products} if format == STORED_EMBEDDINGS else {}),
        }
        check_used(current_tally().sheet(), leave_unused=request.leave_unused)
        metadata = {
            "corpus": corpus,
            "corpus_digest": row.digest,
            "images": len(ids["images"]),
            "captions": len(ids["captions"]),
            **({"dimensions": about.number} if about.number else {}),
            "files": {file.name: storage.file_digest(file) for file in files},
            **({"trained_on": declared.trained_on} if declared.trained_on else {}),
        }
        unchanged = folder.exists()
        if unchanged:
            existing = storage.read_manifest(folder)
            if (existing["kind"], existing["settings"], existing["metadata"]) != (format, held, metadata):
                raise InputError(
                    f"system {name!r} already exists with other files, ids or training; choose another name"
                )
        else:
            clear_leftovers(name)
            read(write_system, upload, folder, held, metadata, seen)
        registry.register_stored_system(name, registry.requested_by(context))
        for side, kind in (("images", NAMED_IMAGES), ("captions", CAPTIONS)):
            current_tally().take_others(kind, len(ids[side]))
        return AddedSystem(
            name,
            corpus,
            format,
            len(ids["images"]),
            len(ids["captions"]),
            about.number,
            unchanged,
            storage.read_manifest(folder)["sha256"],
            about.remarks,
        )


def _read(upload: SentMatrix, most: Mapping[str, int]) -> tuple[SentFile, dict[str, list[str]]]:
    """Return a description of the files, and the ids of both sides as written there; with more than `most`
    names, the number in the corpus, some must be wrong, and no more are read."""
    ids: dict[str, list[str]] = {side: [] for side in most}
    with closing(stream(read_system, upload)) as parts:
        about = cast(SentFile, next(parts))
        for part in parts:
            assert isinstance(part, SentIds)
            ids[part.side] += part.ids
            if len(ids[part.side]) > most[part.side]:
                break
    return about, ids


def _known(
    ids: Sequence[str], rows: Lookup, called: Mapping[int, str], word: str, file: Path, corpus: str
) -> list[str]:
    """Return the corpus's names for ids; raises FormatError with the row of the first invalid one."""
    seen: dict[int, int] = {}
    for number, name in enumerate(ids):
        row = rows[name]
        if row is None:
            raise FormatError(
                f"row {number} (counted from 0) is of {short_repr(name)}, which is not one of the {word}s of "
                f"corpus {corpus!r}",
                file=file,
                expected=f"its {word}s' names, as {short_repr(next(iter(called.values()), ''))}",
            )
        if seen.setdefault(row, number) != number:
            raise FormatError(
                f"rows {seen[row]} and {number} (counted from 0) are of the same {word}, {short_repr(name)}",
                file=file,
                expected=f"each {word} once",
            )
    return [called[row] for row in seen]
