"""Operations on weak collections, and on parses of captions."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import (
    LEAVE_UNUSED,
    Help,
    Listing,
    Named,
    OperationContext,
    ServerFile,
    invalid,
    result_of,
    with_sheet,
)
from annotation.selectors.corpora import CORPORA, Corpus
from evaluation.services.common import errors_without_folder
from evaluation.services.features.parses import import_parses, stored_parses
from evaluation.services.features.store import feature_sets
from evaluation.services.phases import PhaseShares
from evaluation.services.weak.collections import (
    WeakCollection,
    import_collection,
    remove_collection,
    weak_collections,
)
from phrasebox.balance import BalanceSheet

PARSE_FILES = ServerFile("parses", (".conllu", ".conllu.gz"))
COLLECTION_FILES = ServerFile("collections", (".csv", ".parquet"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportParsesRequest:
    """Dependency parses of a corpus's captions are read from CoNLL-U. Each sentence names its caption
    (sent_id) and has that caption's words."""

    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    file: Annotated[str, PARSE_FILES, Help(_("File"), _("CoNLL-U, on the server in sources/parses"))]
    replace: Annotated[bool, Help(_("Replace the parses that the corpus has"))] = False
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredParses:
    """The stored parses of a corpus, with remarks; `unchanged`: they existed already."""

    corpus: str
    captions: int
    words: int
    digest: str
    unchanged: bool
    remarks: tuple[str, ...]
    sheet: BalanceSheet = BalanceSheet()


@dataclass(frozen=True, slots=True, kw_only=True)
class WeakCollectionsRequest:
    """Weak collections, by name: images with titles, tags or descriptions for training systems, which
    annotators never see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionSummary:
    """A weak collection: its number of images, the kinds of their texts, and their feature sets."""

    name: str
    rows: int
    kinds: tuple[str, ...]
    digest: str
    features: tuple[str, ...]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportCollectionRequest:
    """A file becomes a weak collection: a row for each image, with the column id and one or more of title,
    tags, description. It belongs to no corpus."""

    name: Annotated[str, Named(), Help(_("Name"))]
    file: Annotated[
        str, COLLECTION_FILES, Help(_("File"), _("CSV or Parquet, on the server in sources/collections"))
    ]
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCollection(CollectionSummary):
    """A weak collection that was imported; `unchanged`: it existed already."""

    unchanged: bool
    sheet: BalanceSheet = BalanceSheet()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveCollectionRequest:
    """Systems that were trained with the weak collection stay as they are."""

    collection: Annotated[str, Field(max_length=100), Help(_("Weak collection"))]


def check_parses(request: ImportParsesRequest, context: OperationContext) -> ImportParsesRequest:
    """Raise Invalid if the corpus has parses and `replace` is not set."""
    if not request.replace and stored_parses(request.corpus) is not None:
        raise invalid("replace", "has_parses", corpus=request.corpus)
    return request


@with_sheet
def import_requested_parses(request: ImportParsesRequest, context: OperationContext) -> StoredParses:
    """Import parses; raises as `import_parses` does."""
    path = PARSE_FILES.path(request.file, by_path=context.by_path)
    with errors_without_folder(path, context):
        imported = import_parses(
            request.corpus,
            path,
            replace=request.replace,
            leave_unused=request.leave_unused,
            progress=PhaseShares(context.report_progress),
        )
    about = {"unchanged": imported.unchanged, "remarks": tuple(imported.remarks)}
    return result_of(StoredParses, imported.parses, **about, sheet=BalanceSheet())


def collection_summary(row: WeakCollection) -> CollectionSummary:
    """Return what is stored of a collection."""
    return CollectionSummary(**_collection_values(row))


def list_collections(request: WeakCollectionsRequest, context: OperationContext) -> Listing:
    """Return all weak collections; they belong to no corpus."""
    return Listing(weak_collections(), lambda collection: str(collection.name), collection_summary)


def check_new_collection(
    request: ImportCollectionRequest, context: OperationContext
) -> ImportCollectionRequest:
    """Raise Invalid if a collection or a corpus has this name."""
    taken = any(collection.name == request.name for collection in weak_collections())
    if taken or Corpus.objects.filter(name=request.name).exists():
        raise invalid("name", "taken", value=request.name)
    return request


@with_sheet
def import_requested_collection(
    request: ImportCollectionRequest, context: OperationContext
) -> StoredCollection:
    """Import a collection; raises as `import_collection` does."""
    path = COLLECTION_FILES.path(request.file, by_path=context.by_path)
    with errors_without_folder(path, context):
        row, new = import_collection(
            request.name,
            path,
            leave_unused=request.leave_unused,
            progress=PhaseShares(context.report_progress),
        )
    return StoredCollection(**_collection_values(row), unchanged=not new)


def remove_requested_collection(request: RemoveCollectionRequest, context: OperationContext) -> None:
    """Remove a collection. Raises UnknownName and Busy."""
    remove_collection(request.collection)


def _collection_values(row: WeakCollection) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in ("name", "rows", "kinds", "digest", "created_at")}
    return {**values, "features": tuple(stored.label for stored in feature_sets(row.name))}
