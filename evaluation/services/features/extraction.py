"""Feature sets computed from a corpus's pictures, by a network that the user supplies or as the standard
features of Gong et al. 2014."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from annotation.selectors.corpora import corpus_named
from annotation.selectors.records import stream_records
from evaluation.comparison.provenance import UNDECLARED, Declaration, Hashes, identities
from evaluation.selectors import names_of
from evaluation.services.common import InputError, check_file, check_name, phase_cache
from evaluation.services.features.store import (
    NUMBER_TYPES,
    TRAINED_ON,
    FeatureSet,
    NewSet,
    digest_of_pictures,
    write_set,
)
from models_core.checked_fields import BadField, read_fields
from models_core.features.image.cnn import CNN, CNNSettings, cnn_settings
from models_core.features.image.combined import CombinedFeatures, CombinedSettings, learn_combined
from models_core.features.image.layout import LayoutSettings, RegionLayout
from models_core.features.image.pictures import Picture, read_picture
from models_core.phase_cache import PhaseProgress, no_progress

#: Number of pictures per block, after which progress is reported.
PICTURES_PER_BLOCK = 32
#: The settings class of each extractor, by its name.
EXTRACTORS: dict[str, type[Any]] = {
    "cnn": CNNSettings,
    "combined": CombinedSettings,
    "layout": LayoutSettings,
}
_Settings = TypeVar("_Settings")


class _Extractor(Protocol):
    """Computes vectors of pictures."""

    @property
    def dimensions(self) -> int:
        """The length of a vector."""

    def describe(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        """Return a vector for each picture, shape (pictures, dimensions)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractRequest:
    """A request to compute features: the corpus, the extractor, and the name of the set.

    `weights` is the network of the extractor `cnn`: an ONNX file, or weights for the architecture that
    `settings` name. `combined` learns from the pictures of `learn_corpus`, of the corpus itself where empty.
    `settings` are fields of the extractor's settings. `declared` says what the network was trained on.
    """

    corpus: str
    name: str
    extractor: str = "cnn"
    weights: Path | None = None
    learn_corpus: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = "float32"
    declared: Declaration = UNDECLARED


def extract_set(
    request: ExtractRequest, *, progress: PhaseProgress = no_progress
) -> tuple[FeatureSet, bool, int]:
    """Write the set; return it, whether it is new, and the number of images without a picture.

    An interrupted extraction continues where it stopped. Raises UnknownName, InputError, BadWeights,
    BadPicture, ValueError if the corpus has no pictures or too few to learn from, OSError and Busy.
    """
    if request.dtype not in NUMBER_TYPES:
        raise InputError(f"type {request.dtype!r}: expected {' or '.join(NUMBER_TYPES)}")
    check_declared(request.extractor, request.declared)
    if request.extractor not in EXTRACTORS:
        raise InputError(f"extractor {request.extractor!r}: expected one of {', '.join(EXTRACTORS)}")
    check_name(request.name, "feature set")
    extractor: _Extractor
    learned: Hashes | None = None
    if request.extractor == "cnn":
        extractor, origin = _network(request)
        images = _pictures(request.corpus)
        learned = declared_network(request.declared, origin)
    elif request.extractor == "layout":
        extractor, origin = layout_of(request.settings, request.weights)
        learned = identities(()).packed()
        images = _pictures(request.corpus)
    else:
        settings = read_settings(CombinedSettings, request.settings)
        if request.weights is not None:
            raise InputError("extractor combined takes no network; leave the weights out")
        images = _pictures(request.corpus)
        extractor, origin, learned = _combined(request, settings, progress)
    pictures = [(name, path) for name, path in images if path is not None]

    def blocks(done: int) -> Iterator[NDArray[np.float32]]:
        for start in range(done, len(pictures), PICTURES_PER_BLOCK):
            part = pictures[start : start + PICTURES_PER_BLOCK]
            yield extractor.describe([read_picture(path) for _, path in part])

    new = NewSet(
        corpus=request.corpus,
        name=request.name,
        kind="image",
        ids=[name for name, _ in pictures],
        dimensions=extractor.dimensions,
        dtype=request.dtype,
        origin={"extractor": request.extractor, **origin, "missing": len(images) - len(pictures)},
        pictures=digest_of_pictures(path for _, path in pictures),
        learned=learned,
    )
    stored, created = write_set(new, blocks, progress=progress)
    return stored, created, len(images) - len(pictures)


def check_declared(extractor: str, declared: Declaration) -> None:
    """Raise InputError if a training is declared for an extractor that uses no network."""
    if declared.trained_on and extractor != "cnn":
        raise InputError(
            f"extractor {extractor} has no network from outside; leave out what it was trained on"
        )


def declared_network(declared: Declaration, origin: dict[str, Any]) -> Hashes | None:
    """Return the images that a network was declared to be trained on, and add the declaration to `origin`;
    None: unknown."""
    if declared.trained_on:
        origin[TRAINED_ON] = declared.trained_on
    return declared.images()


def network_of(weights: Path, values: Mapping[str, Any]) -> CNN:
    """Load the network; raises InputError for an unknown or invalid setting."""
    _check_known(CNNSettings, values)
    try:
        return CNN(weights, cnn_settings(values))
    except BadField as error:
        raise InputError(f"{error.name} is {error.value}; expected {error.expected}") from None


def _network(request: ExtractRequest) -> tuple[CNN, dict[str, Any]]:
    if request.weights is None:
        raise InputError(
            "extractor cnn needs a network; give an ONNX file, or weights and which network they are of"
        )
    if request.learn_corpus:
        raise InputError("extractor cnn learns nothing; leave out which corpus to learn from")
    check_file(request.weights, "a network")
    network = network_of(request.weights, request.settings)
    settings = network.settings.changed_settings
    return network, {"file": request.weights.name, "sha256": network.digest, "settings": settings}


def layout_of(values: Mapping[str, Any], weights: Path | None) -> tuple[RegionLayout, dict[str, Any]]:
    """Return the layout that describes pictures and regions by colours, gradients and position, and its part
    of the origin.

    Raises InputError for an invalid setting, and for a network.
    """
    if weights is not None:
        raise InputError("extractor layout takes no network; leave the weights out")
    layout = RegionLayout(read_settings(LayoutSettings, values))
    return layout, {"sha256": layout.digest, "settings": asdict(layout.settings)}


def _combined(
    request: ExtractRequest, settings: CombinedSettings, progress: PhaseProgress
) -> tuple[CombinedFeatures, dict[str, Any], Hashes]:
    corpus = request.learn_corpus or request.corpus
    split = None if settings.learn_from == "all" else settings.learn_from
    records = stream_records(corpus=corpus_named(corpus), split=split)
    read = [record for record in records if record.picture is not None]
    learned = [record.picture for record in read if record.picture is not None]
    if not learned:
        raise InputError(
            f"corpus {corpus!r} has no picture in split {split!r} to learn from; set learn_from=all, or name "
            "another corpus to learn from"
        )
    features = learn_combined(learned, settings, cache=phase_cache(progress))
    origin = {
        "sha256": features.digest,
        "settings": asdict(settings),
        "learned_from": {"corpus": corpus, "pictures": len(learned)},
        "numbers": features.lengths,
    }
    pictures = ((record.filename or record.id, record.picture.name) for record in read if record.picture)
    return features, origin, identities(pictures).packed()


def _pictures(corpus: str) -> list[tuple[str, Path | None]]:
    """Return the images' names and pictures; raises ValueError if there is no picture."""
    names = names_of(corpus).image_name.values()
    records = stream_records(corpus=corpus_named(corpus))
    pictures = [(name, record.picture) for name, record in zip(names, records, strict=True)]
    if all(path is None for _, path in pictures):
        raise ValueError(f"no image of corpus {corpus!r} has a picture; import it with its pictures")
    return pictures


def read_settings(kind: type[_Settings], values: Mapping[str, Any]) -> _Settings:
    """Build the settings; raises InputError for an unknown or invalid setting."""
    _check_known(kind, values)
    defaults: Any = kind()
    try:
        return kind(**read_fields(kind, {**asdict(defaults), **values}))
    except BadField as error:
        raise InputError(f"{error.name} is {error.value}; expected {error.expected}") from None


def _check_known(kind: type[Any], values: Mapping[str, Any]) -> None:
    known = asdict(kind())
    unknown = [key for key in values if key not in known]
    if unknown:
        raise InputError(f"unknown setting {unknown[0]!r}; known: {', '.join(known)}")
