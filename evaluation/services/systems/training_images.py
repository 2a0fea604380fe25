"""The images that a training learns from and chooses settings on, including those of its feature sets and
collections.

They are stored with the system (`TrainedSystem.seen`), and registered as `SeenImages`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from annotation.selectors.corpora import corpus_named
from evaluation.comparison.provenance import Hashes, declaration_text, identities, identities_of
from evaluation.comparison.subsets import FOLD
from evaluation.models import SeenImages, System
from evaluation.services.common import InputError
from evaluation.services.features.store import TRAINED_ON, feature_set, is_label
from evaluation.services.systems.auxiliary import Auxiliary
from evaluation.services.systems.examples import Examples
from evaluation.services.systems.folders import system_folder
from evaluation.services.systems.region_texts import OF_REGION
from evaluation.services.systems.sources import Sources
from models_core import storage
from models_core.systems.trained_system import TrainedSystem

#: The names of a stored system's arrays, by column of `SeenImages`.
_ARRAYS = {"learned": "seen.learned", "validated": "seen.validated"}
#: Columns of `SeenImages` that are in a manifest's metadata.
_SENTENCES = ("unknown", "declared", "notes")
#: The metadata key that holds them.
SEEN_FACT = "seen"


@dataclass(frozen=True, slots=True)
class TrainingImages:
    """Packed identities of images (see `comparison.provenance`), and sentences as in `SeenImages`."""

    learned: Hashes
    validated: Hashes
    unknown: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def arrays(self) -> dict[str, Hashes]:
        """The arrays as a stored system has them."""
        return {array: getattr(self, column) for column, array in _ARRAYS.items()}

    @property
    def sentences(self) -> dict[str, list[str]]:
        """The sentences as a manifest has them."""
        return {column: list(getattr(self, column)) for column in _SENTENCES}


def images_of_training(
    dataset: Examples, training: Sequence[int], held: Sequence[int], sources: Sources, further: Auxiliary
) -> TrainingImages:
    """Return the images at positions `training` and `held` of `dataset`; the training images of its feature
    sets, and those of collections, count as training images too. Raises UnknownName for a removed set."""
    corpus = corpus_named(dataset.corpus)
    ids = [[dataset.names.image[dataset.examples[n].name] for n in places] for places in (training, held)]
    trained_images, validated = (identities_of(corpus, some).packed() for some in ids)
    learned, unknown, declared = [trained_images], [], []
    for collection in further.ids.values():
        learned.append(identities((item, "") for item in collection).packed())
    labels = sources.sets.values()
    sets = [(f"the features {label!r}", feature_set(dataset.corpus, label)) for label in labels]
    sets += [(f"the features {item.label!r} of {item.corpus!r}", item) for item in further.sets.values()]
    for what, item in sets:
        images, text = item.learned(), str(item.origin.get(TRAINED_ON, ""))
        if images is None:
            unknown.append(what)
        else:
            learned.append(images)
        if text:
            declared.append(declaration_text(text, what))
    if sources.features and not is_label(sources.features):
        unknown.append(f"the features {Path(sources.features).name!r}")
    notes = []
    if not (sources.features or sources.regions):
        notes.append("Its visual words come from all pictures of its corpus, without their captions.")
    every = np.unique(np.concatenate(learned))
    return TrainingImages(every, validated, tuple(unknown), tuple(declared), tuple(notes))


def enter_seen_images(system: System, metadata: Mapping[str, Any]) -> None:
    """Create the row of the images that a stored system has seen, if its folder has them."""
    arrays = storage.load_some(system_folder(system.name), list(_ARRAYS.values()))
    if len(arrays) < len(_ARRAYS):
        return
    sentences = metadata.get(SEEN_FACT, {})
    packed = {column: arrays[array].astype("<u8").tobytes() for column, array in _ARRAYS.items()}
    texts = {column: list(sentences.get(column, ())) for column in _SENTENCES}
    SeenImages.objects.create(system=system, **packed, **texts)


def enter_declaration(system: System, images: Hashes | None) -> None:
    """Create the row of images that the person who added a system declares, if the declaration names any."""
    if images is not None:
        packed = images.astype("<u8").tobytes()
        SeenImages.objects.create(system=system, learned=packed, validated=b"")


def check_not_learned_from(
    stored: TrainedSystem, name: str, dataset: Examples, places: Sequence[int], what: str
) -> None:
    """Raise InputError if `what` is a fold of the training's corpus, and the system called `name` was
    trained on one of its images, those at `places`.

    Folds are dealt among the images that can be used. With other features, regions or seed than in training,
    a fold of the same name has other images.
    """
    if not FOLD.fullmatch(what) or dataset.corpus != stored.metadata.get("corpus"):
        return
    learned = {name_learned.partition(OF_REGION)[0] for name_learned in stored.names}
    seen = [dataset.examples[index].name for index in places if dataset.examples[index].name in learned]
    if seen:
        raise InputError(
            f"system {name!r} learned from {len(seen)} of the {len(places)} images of fold {what}, such as "
            f"{seen[0]!r}: folds differ between features, regions and seeds; take those of the training, or "
            "name images in a file"
        )
