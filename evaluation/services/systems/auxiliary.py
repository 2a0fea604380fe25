"""Additional training data of a recipe: weak collections with the same features as the training images."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluation.services.common import InputError
from evaluation.services.features.store import FeatureSet, feature_set, is_label
from evaluation.services.weak.collections import WeakCollection, weak_collection
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


@dataclass(frozen=True, slots=True)
class _Named:
    """A collection, the kinds of its texts, and the features of its images."""

    collection: WeakCollection
    kinds: list[str]
    vectors: FeatureSet


def check_auxiliary(recipe: Recipe, definitions: Sequence[str], features: str) -> dict[str, _Named]:
    """Resolve `definitions` without reading the data; raises as `auxiliary_pairs` does."""
    collections: dict[str, str] = {}
    for definition in definitions:
        name, sign, what = definition.partition("=")
        if not sign or not what or name in collections:
            raise InputError(f"auxiliary data {definition!r}: expected NAME=COLLECTION, each name once")
        collections[name] = what
    check_needs(recipe, collections)
    return {name: _named(recipe, what, features) for name, what in collections.items()}


def _named(recipe: Recipe, what: str, features: str) -> _Named:
    name, _, kinds = what.partition("/")
    collection = weak_collection(name)
    if not is_label(features):
        raise InputError(
            f"recipe {recipe.name!r} compares images with those of collection {collection.name!r}; "
            "give a feature set that both have"
        )
    feature_name = features.partition(":")[0]
    try:
        vectors = feature_set(collection.name, feature_name)
    except UnknownName as error:
        raise UnknownName(f"{error}; import features under this name first") from None
    chosen = [kind for kind in kinds.split(",") if kind]
    collection.check_kinds(chosen)
    return _Named(collection, chosen, vectors)


def auxiliary_pairs(recipe: Recipe, definitions: Sequence[str], features: str) -> Auxiliary:
    """Read the data of definitions such as "weak=COLLECTION" or "weak=COLLECTION/title,tags", with the
    feature set `features`.

    Raises BadRecipe if the recipe lacks something or has no use for it, UnknownName for a collection or a
    feature set that does not exist, and InputError for an invalid definition.
    """
    auxiliary = Auxiliary()
    for name, named in check_auxiliary(recipe, definitions, features).items():
        collection, vectors = named.collection, named.vectors
        text_of = dict(zip(collection.ids(), collection.texts(named.kinds), strict=True))
        auxiliary.ids[name], auxiliary.sets[name] = vectors.ids(), vectors
        auxiliary.pairs[name] = WeakPairs(vectors.vectors(), [text_of[pk] for pk in vectors.ids()])
        auxiliary.metadata[name] = {
            "collection": collection.name,
            "digest": collection.digest,
            "texts": named.kinds or list(collection.kinds),
            "features": vectors.label,
            "features_digest": vectors.digest,
            "pairs": vectors.rows,
        }
    return auxiliary
