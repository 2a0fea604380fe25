"""What imports of captions, tags and localizations share: the request's fields, where a set comes from, and
the images that a file names."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import FileUpload, Help, Named, OperationContext, check_used
from annotation.selectors.corpora import CORPORA, corpus_named
from evaluation.comparison.provenance import Hashes
from evaluation.comparison.subsets import Subset, subset_named
from evaluation.models import System
from evaluation.models.stored import StoredPredictions
from evaluation.selectors import CorpusNames, digest_of_images, names_of
from evaluation.services.common import MOST_READ, InputError, check_file
from evaluation.services.declarations import TrainedOn, declared_training
from evaluation.services.predicting import packed_ids
from evaluation.services.request_fields import check_images
from evaluation.services.systems import registry
from evaluation.services.systems.registry import SYSTEMS
from models_core import storage
from phrasebox.balance import NOT_REQUESTED, UNKNOWN, current_tally
from phrasebox.text_files import FormatError, text_size

#: A file of predictions, which is read line by line.
PREDICTIONS_UPLOAD = FileUpload(most=MOST_READ, unpacked=text_size)


# Without slots: requests declare their file again, with its own help.
@dataclass(frozen=True, kw_only=True)
class SetImport:
    """Predictions made elsewhere, as a set. Without a system, one with the set's name is created, with a
    declaration of its training data."""

    name: Annotated[str, Named(), Help(_("Name of the set"))]
    file: Annotated[Path, PREDICTIONS_UPLOAD, Help(_("Predictions"))]
    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    system: Annotated[
        Annotated[str, Named(SYSTEMS)] | None, Help(_("System that made them"), _("If it is here"))
    ] = None
    split: Annotated[
        str,
        Field(max_length=1000),
        Help(
            _("Images that were looked at"),
            _(
                "A split, a fold such as 1/5, or run:NAME; those of which the file has nothing are missing "
                "output. Else all images"
            ),
        ),
    ] = ""
    seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed of folds"))] = 0
    trained_on: TrainedOn = ""
    licence: Annotated[
        str,
        Field(max_length=200),
        Help(_("Licence"), _("Name or address, as CC BY 4.0; empty says that nobody knows")),
    ] = ""


@dataclass(frozen=True)
class SetOrigin:
    """Where an imported set comes from: the `columns` of its row, the `names` of its corpus, and the images
    that were looked at (None: all); what its system was `trained_on`, and the images that this names."""

    request: SetImport
    columns: dict[str, Any]
    names: CorpusNames
    subset: Subset | None
    trained_on: str
    training_images: Hashes | None

    def note_images(self, row: StoredPredictions) -> None:
        """Note on the row of a new set which images were looked at."""
        if self.subset is not None:
            row.image_ids = packed_ids(self.subset.images)

    def link(self, row: StoredPredictions, context: OperationContext) -> None:
        """Register the system of a declaration, and link the set to it; raises as
        `registry.link_output`."""
        if self.trained_on:
            registry.link_output(
                row,
                _tag(self.request),
                registry.requested_by(context),
                trained_on=self.trained_on,
                images=self.training_images,
            )


def origin_of(request: SetImport, context: OperationContext, expected: str) -> SetOrigin:
    """Return where the set of a request comes from; `expected` says what should be in its file.

    Raises Invalid, UnknownName, BadSubset, and InputError for a file that does not exist and a system that
    does not fit.
    """
    row, declared = corpus_named(request.corpus), declared_training(request.trained_on, context)
    check_images("split", request.split, row, context, runs=True)
    check_file(request.file, expected)
    made_by: System | None = registry.system_row(request.system) if request.system else None
    if made_by is not None and made_by.corpus_id != row.pk:
        raise InputError(
            f"system {made_by.name!r} is of corpus {made_by.corpus.name!r}; name one of corpus "
            f"{request.corpus!r}, or none"
        )
    names = names_of(request.corpus)
    subset = subset_named(request.corpus, request.split, seed=request.seed, files=context.by_path)
    registry.check_declaration(_tag(request), request.corpus, declared.trained_on)
    images = declared.images()  # before anything is stored: it may name an unknown split
    columns = {
        "corpus": row,
        **({"made_by": made_by} if made_by is not None else {}),
        "split": request.split,
        "seed": request.seed,
        "source": request.file.name,
        "source_digest": storage.file_digest(request.file),
        "licence": " ".join(request.licence.split()),
        "input_digest": digest_of_images(subset.images, names) if subset else "",
    }
    return SetOrigin(request, columns, names, subset, declared.trained_on, images)


def _tag(request: SetImport) -> str:
    return request.system or request.name


class _OfImage(Protocol):
    """What a file says of an image: its name there, the name spaces, and the position, such as "line 3"."""

    @property
    def image(self) -> str: ...
    @property
    def position(self) -> str: ...
    @property
    def spaces(self) -> tuple[str, ...]: ...


_E = TypeVar("_E", bound=_OfImage)


def by_image(
    entries: Iterable[_E], names: CorpusNames, file: Path, spaces: Sequence[str] = ()
) -> tuple[dict[int, _E], list[str]]:
    """Return what a file says of each image of a corpus, by row id, and the names that the corpus lacks.

    Names are from the name `spaces`; without them from those that each entry states. Raises FormatError for
    an ambiguous name, and for two entries of one image under different names.
    """
    lookups = {}
    of_image: dict[int, _E] = {}
    unknown = []
    for entry in entries:
        stated = tuple(spaces) or entry.spaces
        if stated not in lookups:
            lookups[stated] = names.images_in(file, stated)
        pk = lookups[stated][entry.image]
        if pk is None:
            unknown.append(entry.image)
        elif pk in of_image:
            raise FormatError(
                f"{entry.position} and {of_image[pk].position} are of one image, {names.image_name[pk]!r}",
                file=file,
                expected="each image once",
            )
        else:
            of_image[pk] = entry
    return of_image, unknown


def images_to_store(
    origin: SetOrigin, of_image: dict[int, _E], unknown: Collection[str], kind: str, *, leave_unused: bool
) -> dict[int, _E]:
    """Return the entries of the images that were looked at, in the order of the corpus, and count those of
    the file: `kind` is the kind of its things, one or more an entry.

    Raises FormatError if none is left, and Invalid for unused content without confirmation.
    """
    names, subset, file = origin.names, origin.subset, origin.request.file
    stored = {
        pk: of_image[pk]
        for pk in names.image_name
        if pk in of_image and (subset is None or pk in subset.images)
    }
    if not stored:
        named = next(iter(names.image_name.values()), "")
        raise FormatError(
            f"has nothing of {subset.called + ' of ' if subset else ''}corpus {names.corpus!r}",
            file=file,
            expected=f"images by file name, key or id, as {named!r}",
        )
    outside = [names.image_name[pk] for pk in of_image if pk not in stored]
    current_tally().take_others(
        kind, len(of_image) + len(unknown), {UNKNOWN: unknown, NOT_REQUESTED: outside}
    )
    check_used(current_tally().sheet(), leave_unused=leave_unused)
    return stored
