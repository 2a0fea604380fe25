"""Whether a fold is one that a system was not trained on."""

from collections.abc import Sequence

from evaluation.comparison.subsets import FOLD
from evaluation.services.common import InputError
from evaluation.services.systems.examples import Examples
from evaluation.services.systems.region_texts import OF_REGION
from models_core.systems.trained_system import TrainedSystem


def check_not_learned_from(
    stored: TrainedSystem, name: str, dataset: Examples, places: Sequence[int], what: str
) -> None:
    """Raise InputError where `what` is a fold of the training's corpus, and the system called `name`
    learned from one of its images, those at `places`.

    Folds are dealt by their number among the images that can be used. With other features or regions, or
    another seed, than at the training, a fold of the same name has other images.
    """
    if not FOLD.fullmatch(what) or dataset.corpus != stored.facts.get("corpus"):
        return
    learned = {name_learned.partition(OF_REGION)[0] for name_learned in stored.names}
    seen = [dataset.examples[index].name for index in places if dataset.examples[index].name in learned]
    if seen:
        raise InputError(
            f"system {name!r} learned from {len(seen)} of the {len(places)} images of fold {what}, such as "
            f"{seen[0]!r}: folds differ between features, regions and seeds; take those of the training, or "
            "name images in a file"
        )
