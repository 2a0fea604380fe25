"""Feature sets computed here: vectors of a corpus's pictures from a network that the user names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.selectors.corpora import corpus_named
from annotation.selectors.records import stream_records
from evaluation.selectors import names_of
from evaluation.services.common import ImportRefused, check_file
from evaluation.services.features.store import NUMBER_TYPES, FeatureSet, NewSet, write_set
from models_core.checked_fields import BadField, read_fields
from models_core.features.image.cnn import CNN, CNNSettings
from models_core.features.image.pictures import read_picture
from models_core.phase_cache import PhaseProgress, no_progress

#: Pictures that are described between two words of progress.
PICTURES_PER_BLOCK = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractRequest:
    """Features to be computed: of which corpus, by which weights (an ONNX file), under which name.

    `settings` are fields of `CNNSettings` by name.
    """

    corpus: str
    name: str
    weights: Path
    settings: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = "float32"


def extract_set(
    wanted: ExtractRequest, *, progress: PhaseProgress = no_progress
) -> tuple[FeatureSet, bool, int]:
    """Write the set; say whether it is new, and how many images have no picture.

    What was stopped goes on where it ended. Raises UnknownName, ImportRefused, BadWeights, BadPicture,
    ValueError where the corpus has no pictures, OSError and Busy.
    """
    if wanted.dtype not in NUMBER_TYPES:
        raise ImportRefused(f"type {wanted.dtype!r}: expected {' or '.join(NUMBER_TYPES)}")
    check_file(wanted.weights, "a network as an ONNX file")
    network = network_of(wanted)
    names = names_of(wanted.corpus).image_name.values()
    records = stream_records(corpus=corpus_named(wanted.corpus))
    found = [(name, record.picture) for name, record in zip(names, records, strict=True)]
    pictures = [(name, path) for name, path in found if path is not None]
    if not pictures:
        raise ValueError(f"no image of corpus {wanted.corpus!r} has a picture; import it with --images")

    def blocks(done: int) -> Iterator[NDArray[np.float32]]:
        for start in range(done, len(pictures), PICTURES_PER_BLOCK):
            part = pictures[start : start + PICTURES_PER_BLOCK]
            yield network.describe([read_picture(path) for _, path in part])

    new = NewSet(
        corpus=wanted.corpus,
        name=wanted.name,
        kind="image",
        ids=[name for name, _ in pictures],
        dimensions=network.dimensions,
        dtype=wanted.dtype,
        origin={
            "extractor": "cnn",
            "file": wanted.weights.name,
            "sha256": network.digest,
            "settings": asdict(network.settings),
            "missing": len(found) - len(pictures),
        },
    )
    stored, made = write_set(new, blocks, progress=progress)
    return stored, made, len(found) - len(pictures)


def network_of(wanted: ExtractRequest) -> CNN:
    """The network; raises ImportRefused for a setting that there is not, or that cannot be so."""
    known = CNNSettings.__dataclass_fields__
    unknown = [key for key in wanted.settings if key not in known]
    if unknown:
        raise ImportRefused(f"unknown setting {unknown[0]!r}; known: {', '.join(known)}")
    try:
        settings = CNNSettings(**read_fields(CNNSettings, {**asdict(CNNSettings()), **wanted.settings}))
    except BadField as error:
        raise ImportRefused(f"{error.name} is {error.value}; expected {error.expected}") from None
    try:
        return CNN(wanted.weights, settings)
    except ModuleNotFoundError as error:
        raise ImportRefused(
            "networks are run by onnxruntime, which is missing: pip install onnxruntime"
        ) from error
