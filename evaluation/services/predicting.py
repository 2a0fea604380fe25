"""What captions, tags and localizations share: the fields of requests, and the summary of a set."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import numpy as np
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, Named, OperationContext, invalid
from annotation.selectors.corpora import CORPORA
from evaluation.models import System
from evaluation.models.stored import StoredPredictions
from evaluation.services.common import check_same_corpus
from evaluation.services.features.store import FeatureSet, feature_sets
from evaluation.services.request_fields import check_images
from evaluation.services.stored_kinds import OfCorpusRequest
from evaluation.services.systems import registry
from evaluation.services.systems.registry import SYSTEMS
from models_core.estimators.base import METHODS, Method

#: A feature set by its name (the newest version) or as NAME:VERSION; "" for the one used in training.
SetField = Annotated[str, Field(pattern=r"^([-a-zA-Z0-9_]+(:\d{1,9})?)?$", max_length=120)]
_ID = np.dtype("<i8")


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionRequest:
    """The common fields of such requests. `set_name` is the name of the new set."""

    system: Annotated[str, Named(SYSTEMS), Help(_("System"))]
    name: Annotated[
        Annotated[str, Named()] | None, Help(_("Name of the set"), _("Else the system's name"))
    ] = None
    split: Annotated[
        str, Field(max_length=1000), Help(_("Split"), _("A split, or a fold such as 1/5; else all images"))
    ] = ""
    seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed of folds"))] = 0

    @property
    def set_name(self) -> str:
        """The name of the new set."""
        return self.name or self.system


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionSetsRequest(OfCorpusRequest):
    """Sets, by name."""

    corpus: Annotated[Annotated[str, Named(CORPORA)] | None, Help(_("Corpus"))] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionSet:
    """Predictions for images of a split, or of all where that is empty. `system` made them; it is empty where
    none is known. `digest` covers the predictions. `source` is the file with `source_digest`, or the
    collection, that they come from; empty for those of a system here."""

    name: str
    corpus: str
    system: str
    split: str
    images: int
    digest: str
    source: str
    source_digest: str
    licence: str
    created_at: datetime


def prediction_values(row: Any) -> dict[str, Any]:
    """Return the fields of a PredictionSet."""
    return {
        "name": row.name,
        "corpus": row.corpus.name,
        "system": row.made_by.name if row.made_by is not None else "",
        "split": row.split,
        "images": row.image_count,
        "digest": row.digest,
        "source": row.source,
        "source_digest": row.source_digest,
        "licence": row.licence,
        "created_at": row.created_at,
    }


def packed_ids(ids: Iterable[int]) -> bytes:
    """Pack row ids as `image_ids` of a set holds them, in increasing order."""
    return np.asarray(sorted(ids), _ID).tobytes()


def packed_images(row: StoredPredictions) -> frozenset[int] | None:
    """Return the images that the system behind a set looked at, by row id; None where the set does not hold
    them."""
    return None if row.image_ids is None else frozenset(np.frombuffer(row.image_ids, _ID).tolist())


def requested_system(request: PredictionRequest, context: OperationContext) -> System:
    """Return the system that a request names. Raises InputError if its corpus is not the job's, and
    Invalid if its corpus does not have the images."""
    row = registry.system_row(request.system)
    check_same_corpus(context, row)
    check_images("split", request.split, row.corpus, context)
    return row


def method_of(system: System) -> Method | None:
    """Return the method with which a system was trained here, None if it was not."""
    return METHODS.get(system.settings.get("recipe", {}).get("method", ""))


def region_sets(corpus: str, *, proposed: bool = False) -> list[FeatureSet]:
    """Return the sets of regions of a corpus; with `proposed` only those that people did not draw."""
    sets = [stored for stored in feature_sets(corpus) if stored.kind == "region"]
    return [stored for stored in sets if not proposed or stored.origin.get("regions") != "gold"]


def check_set(field: str, label: str, sets: Iterable[FeatureSet]) -> None:
    """Raise Invalid if a field names none of these sets; "" is always valid."""
    known = sorted({known_label.label for known_label in sets})
    if label and not any(label in (known_label, known_label.partition(":")[0]) for known_label in known):
        about: dict[str, Any] = {"kind": _("feature set"), "value": label, "known": ", ".join(known)}
        raise invalid(field, "unknown_of" if known else "unknown", **about)
