"""Additional training data of a recipe: a weak collection with the same features as the training images."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluation.services.common import InputError
from evaluation.services.features.store import FeatureSet, feature_set, is_label
from evaluation.services.weak.collections import weak_collection
from models_core.estimators.transfer.weak_pairs import WEAK
from models_core.systems.dataset import WeakPairs
from models_core.systems.recipe import Recipe
from models_core.systems.training import check_needs
from phrasebox.names import image_id
from phrasebox.registry import UnknownName


@dataclass(frozen=True, slots=True)
class Auxiliary:
    """Weak pairs under the method's names for them, the ids and the features of their images, and what a
    system's manifest stores about them."""

    pairs: dict[str, WeakPairs] = field(default_factory=dict)
    ids: dict[str, Sequence[str]] = field(default_factory=dict)
    sets: dict[str, FeatureSet] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)

    def check_apart(self, corpus: str, others: Iterable[str]) -> None:
        """Raise InputError if weak pairs are of `others`, images of the corpus that are not used for
        training. Images are the same if their names are, with or without a picture's extension."""
        unseen = {image_id(name): name for name in others} if self.ids else {}
        for name, ids in self.ids.items():
            shared = [unseen[pk] for pk in map(image_id, ids) if pk in unseen]
            if shared:
                raise InputError(
                    f"collection {self.metadata[name]['collection']!r} has {len(shared)} images of corpus "
                    f"{corpus!r} that are not training images, such as {shared[0]!r}: the system would learn "
                    "their texts; give a collection without them"
                )


def auxiliary_pairs(recipe: Recipe, weak: str, features: str) -> Auxiliary:
    """Read a weak collection, COLLECTION or COLLECTION/title,tags for texts of these kinds alone, with the
    feature set `features`; "" is none.

    Raises BadRecipe if the recipe lacks one or has no use for it, UnknownName for a collection, a kind or a
    feature set that does not exist, and InputError for features that are no set.
    """
    check_needs(recipe, (WEAK,) if weak else ())
    auxiliary = Auxiliary()
    if not weak:
        return auxiliary
    name, _, kinds = weak.partition("/")
    collection, chosen = weak_collection(name), [kind for kind in kinds.split(",") if kind]
    if not is_label(features):
        raise InputError(
            f"recipe {recipe.name!r} compares images with those of collection {collection.name!r}; "
            "give a feature set that both have"
        )
    try:
        vectors = feature_set(collection.name, features.partition(":")[0])
    except UnknownName as error:
        raise UnknownName(f"{error}; import features under this name first") from None
    text_of = dict(zip(collection.ids(), collection.texts(chosen), strict=True))
    auxiliary.ids[WEAK], auxiliary.sets[WEAK] = vectors.ids(), vectors
    auxiliary.pairs[WEAK] = WeakPairs(vectors.vectors(), [text_of[pk] for pk in vectors.ids()])
    auxiliary.metadata[WEAK] = {
        "collection": collection.name,
        "digest": collection.digest,
        "texts": chosen or list(collection.kinds),
        "features": vectors.label,
        "features_digest": vectors.digest,
        "pairs": vectors.rows,
    }
    return auxiliary
