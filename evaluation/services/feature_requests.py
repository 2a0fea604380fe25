"""Operations on feature sets: list, remove, import, compute."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import (
    LEAVE_UNUSED,
    FieldError,
    Help,
    Listing,
    Named,
    OneOf,
    OperationContext,
    ServerFile,
    StoredKind,
    invalid,
    with_sheet,
)
from annotation.common.roles import RESEARCHER
from annotation.selectors.corpora import CORPORA, corpus_named
from evaluation.comparison.provenance import UNDECLARED
from evaluation.formats.feature_files import FEATURE_SUFFIXES
from evaluation.formats.word_vectors import WORD_VECTOR_SUFFIXES
from evaluation.services.common import errors_without_folder
from evaluation.services.declarations import (
    ARRAYS_UPLOAD,
    IdsBeside,
    TrainedOn,
    count_ids_files,
    declared_training,
)
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.features.store import (
    FEATURE_KINDS,
    NUMBER_TYPES,
    FeatureKind,
    FeatureSet,
    feature_set,
    feature_sets,
)
from evaluation.services.features.word_training import (
    ALL_CAPTIONS,
    WordTraining,
    images_read,
    train_word_vectors,
)
from evaluation.services.phases import PhaseShares
from evaluation.services.request_fields import NamedBy, check_images, name_spaces
from evaluation.services.systems.feature_use import remove_unused
from evaluation.services.weak.collections import weak_collection, weak_collections
from phrasebox.balance import BalanceSheet
from phrasebox.registry import UnknownName

FEATURE_FILES = ServerFile("features", (*FEATURE_SUFFIXES, *WORD_VECTOR_SUFFIXES))
_VECTOR_FILES = ServerFile("features", FEATURE_SUFFIXES)


class _FeatureOwners(StoredKind):
    """Owners of feature sets: corpora, and for commands also weak collections, which belong to no corpus."""

    def find(self, name: str, account: Any, roles: Any) -> Any:
        if account is None and any(collection.name == name for collection in weak_collections()):
            return weak_collection(name)
        return super().find(name, account, roles)


#: A corpus; for commands also a weak collection.
FEATURE_OWNERS = _FeatureOwners(_("corpus"), CORPORA.rows)


def _kinds() -> dict[str, Any]:
    titles = (_("images"), _("captions"), _("regions"), _("words"))
    return dict(zip(FEATURE_KINDS, titles, strict=True))


def _number_types() -> dict[str, None]:
    return dict.fromkeys(NUMBER_TYPES)


NumberType = Annotated[str, OneOf(_number_types), Help(_("Stored as"))]
SetName = Annotated[
    str, Named(), Help(_("Name"), _("Other vectors under a name that exists become its next version"))
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturesRequest:
    """Feature sets, by corpus, name and version."""

    corpus: Annotated[Annotated[str, Named(FEATURE_OWNERS)] | None, Help(_("Corpus"))] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureSetSummary:
    """A feature set: vectors of the images, captions, regions or words of a corpus. Trainings refer to its
    `label`, name and version; `origin` is its source, `digest` is that of ids and numbers."""

    label: str
    corpus: str
    name: str
    version: int
    kind: str
    rows: int
    dimensions: int
    dtype: str
    bytes: int
    digest: str
    origin: dict[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFeatures(FeatureSetSummary):
    """A feature set that was stored; `unchanged`: it existed already. `remarks` are sentences about it."""

    unchanged: bool
    remarks: tuple[str, ...] = ()
    sheet: BalanceSheet = BalanceSheet()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveFeaturesRequest:
    """Rejected while a system needs the feature set."""

    corpus: Annotated[str, Named(FEATURE_OWNERS), Help(_("Corpus"))]
    set: Annotated[
        str, Field(max_length=200), Help(_("Feature set"), _("NAME for the newest, or NAME:VERSION"))
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportFeaturesRequest:
    """Vectors of a corpus's images, captions, regions or words become a feature set. An interrupted run
    resumes."""

    corpus: Annotated[str, Named(FEATURE_OWNERS), Help(_("Corpus"))]
    file: Annotated[
        Annotated[Path, ARRAYS_UPLOAD] | None,
        Help(_("File"), _("npz, npy, safetensors, Parquet, HDF5; of words also txt, vec, bin")),
    ] = None
    ids: IdsBeside = ()
    server_file: Annotated[
        Annotated[str, FEATURE_FILES] | None, Help(_("Or a file on the server"), _("In sources/features"))
    ] = None
    name: SetName
    kind: Annotated[str, OneOf(_kinds), Help(_("Describes"))] = FEATURE_KINDS[0]
    dtype: NumberType = NUMBER_TYPES[0]
    network: Annotated[
        str,
        Field(max_length=100),
        Help(_("Network that computed them"), _("Sets of one network have the same name here")),
    ] = ""
    trained_on: TrainedOn = ""
    named_by: NamedBy = None
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False

    def problems(self) -> Iterator[FieldError]:
        """Errors: exactly one file is needed."""
        if self.file is None and self.server_file is None:
            yield FieldError("file", "missing")
        if self.file is not None and self.server_file is not None:
            yield FieldError("server_file", "not_with", {"other": "file"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionFeaturesRequest:
    """Vectors of a weak collection's images become a feature set, with the same name as the corpus's."""

    collection: Annotated[str, Field(max_length=100), Help(_("Weak collection"))]
    name: SetName
    file: Annotated[str, _VECTOR_FILES, Help(_("File on the server"), _("In sources/features"))]
    dtype: NumberType = NUMBER_TYPES[0]
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WordVectorsRequest:
    """Word vectors are learned from a corpus's captions, by skip-gram with negative sampling, and become a
    feature set of words. If these include the captions of test images, figures on those images are too
    high."""

    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    name: SetName
    split: Annotated[
        str,
        Field(max_length=1000),
        Help(
            _("Captions of the images of"),
            _("A split, a fold such as 1/5, run:NAME, or all; else train, or all where there are no splits"),
        ),
    ] = ""
    dimensions: Annotated[int, Field(ge=2, le=2000), Help(_("Numbers of a vector"))] = 100
    window: Annotated[int, Field(ge=1, le=50), Help(_("Words to either side that are predicted"))] = 5
    negative: Annotated[int, Field(ge=1, le=50), Help(_("Wrong words beside each right one"))] = 5
    epochs: Annotated[int, Field(ge=1, le=1000), Help(_("Passes over the captions"))] = 10
    least: Annotated[int, Field(ge=1, le=10**6), Help(_("Occurrences that a word needs to get a vector"))] = 2
    seed: Annotated[int, Field(ge=0, lt=2**31), Help(_("Seed of the training"))] = 0


def set_summary(row: FeatureSet) -> FeatureSetSummary:
    """Return the summary of a feature set."""
    return FeatureSetSummary(**set_values(row))


def set_values(row: FeatureSet) -> dict[str, Any]:
    """Return the fields of FeatureSetSummary."""
    names = (
        *("label", "corpus", "name", "version", "kind", "rows", "dimensions", "dtype", "bytes"),
        "digest",
    )
    values = {name: getattr(row, name) for name in names}
    return {**values, "origin": dict(row.origin), "created_at": row.created_at}


def list_features(request: FeaturesRequest, context: OperationContext) -> Listing:
    """Return the feature sets that the caller may see."""
    if request.corpus is not None:
        rows = feature_sets(request.corpus)
    elif context.actor is None:
        rows = feature_sets()
    else:
        names = CORPORA.rows(context.actor, RESEARCHER).values_list("name", flat=True)
        rows = [stored for name in names for stored in feature_sets(name)]
    return Listing(rows, lambda stored: f"{stored.corpus} {stored.name} {stored.version:09d}", set_summary)


def remove_features(request: RemoveFeaturesRequest, context: OperationContext) -> None:
    """Remove a feature set. Raises PhraseboxError and Busy."""
    try:
        stored = feature_set(request.corpus, request.set)
    except UnknownName as error:
        known = ", ".join(other_set.label for other_set in feature_sets(request.corpus))
        code, kind = "unknown_of" if known else "unknown", _("feature set")
        raise invalid("set", code, kind=kind, value=request.set, known=known) from error
    remove_unused(stored, actor=context.actor)


@with_sheet
def import_requested_features(request: ImportFeaturesRequest, context: OperationContext) -> StoredFeatures:
    """Import a file; raises as `import_features` does."""
    path = request.file
    if path is None:
        assert request.server_file is not None
        path = FEATURE_FILES.path(request.server_file, by_path=context.by_path)
    count_ids_files(request.ids)
    with errors_without_folder(path, context):
        feature_import = FeatureImport(
            corpus=request.corpus,
            name=request.name,
            path=path,
            kind=_kind(request.kind),
            ids=request.ids[0] if request.ids else None,
            dtype=request.dtype,
            network=request.network,
            named_by=name_spaces(request.named_by),
            leave_unused=request.leave_unused,
            declared=declared_training(request.trained_on, context),
        )
        return _imported(feature_import, context)


def check_collection(
    request: CollectionFeaturesRequest, context: OperationContext
) -> CollectionFeaturesRequest:
    """Raise Invalid if the collection does not exist."""
    known = [collection.name for collection in weak_collections()]
    if request.collection not in known:
        code, kind = "unknown_of" if known else "unknown", _("weak collection")
        raise invalid("collection", code, kind=kind, value=request.collection, known=", ".join(known))
    return request


@with_sheet
def import_collection_features(
    request: CollectionFeaturesRequest, context: OperationContext
) -> StoredFeatures:
    """Import features of a collection's images; raises as `import_features` does."""
    check_collection(request, context)
    feature_import = FeatureImport(
        corpus=request.collection,
        name=request.name,
        path=_VECTOR_FILES.path(request.file, by_path=context.by_path),
        dtype=request.dtype,
        leave_unused=request.leave_unused,
        declared=UNDECLARED,
    )
    return _imported(feature_import, context)


def check_word_vectors(request: WordVectorsRequest, context: OperationContext) -> WordVectorsRequest:
    """Raise Invalid if the captions do not exist, and if the request has to name which are read."""
    corpus = corpus_named(request.corpus)
    check_images("split", request.split, corpus, context, runs=True, also=ALL_CAPTIONS)
    if not request.split:
        images_read(corpus.name, "")  # fail now, not in the job, where no split is called train
    return request


def train_requested_vectors(request: WordVectorsRequest, context: OperationContext) -> StoredFeatures:
    """Train word vectors; raises as `train_word_vectors` does."""
    check_word_vectors(request, context)
    row, new = train_word_vectors(
        WordTraining(**asdict(request)), progress=PhaseShares(context.report_progress)
    )
    return StoredFeatures(**set_values(row), unchanged=not new)


def _imported(feature_import: FeatureImport, context: OperationContext) -> StoredFeatures:
    imported = import_features(feature_import, progress=PhaseShares(context.report_progress))
    return StoredFeatures(
        **set_values(imported.set), unchanged=imported.unchanged, remarks=tuple(imported.remarks)
    )


def _kind(word: str) -> FeatureKind:
    return next(kind for kind in FEATURE_KINDS if kind == word)
