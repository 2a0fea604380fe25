"""Training a recipe, in phases that are kept: word similarities, both kernels, then the grid of KCCA.

Source: Hodosh et al. 2013, section 4.1.3. Settings are selected on held-out images with one caption each.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from models_core.device import CPU, torch_on
from models_core.estimators.kcca.selection import SelectedKCCA
from models_core.features.grams import scaled_diagonal
from models_core.phase_cache import PhaseArrays, PhaseCache, digest_of_parts
from models_core.systems.dataset import STANDS_FOR, PreparedDataset
from models_core.systems.kernels import Resources, check_features, check_resources, image_gram, similarity_of
from models_core.systems.recipe import Recipe
from models_core.systems.trained_system import TrainedSystem

#: Fewer training or held-out images than these leave nothing to correlate, or to select by.
LEAST_TRAINING, LEAST_HELD_OUT = 10, 10


def fit(
    recipe: Recipe,
    training: PreparedDataset,
    held_out: PreparedDataset | None,
    aids: Resources | None = None,
    *,
    kept: PhaseCache | None = None,
    caption: int = STANDS_FOR,
    facts: dict[str, Any] | None = None,
    device: str = CPU,
) -> TrainedSystem:
    """Train `recipe`; settings are selected on `held_out`, each image with its caption of number `caption`.

    Nearest neighbours have nothing to select, and do not look at held-out images. `kept` keeps word
    similarities, and its folder `kernels` the matrices, which are large; its progress hears of all
    phases, and what it raises ends the training. `device` is where image kernels and KCCA are computed (see
    `models_core.device`). Raises BadRecipe, WordNetMissing, NoDevice, and ValueError for too few images, and
    for an image that both sides have.
    """
    torch_on(device)
    kept = kept or PhaseCache()
    check_pairs(recipe, training, held_out)
    check_resources(recipe, aids or Resources())
    check_features(recipe.image, training.features)
    words = tuple(own[: recipe.text.captions] for own in training.words)
    similarity = similarity_of(recipe, words, aids or Resources(), kept)
    system = TrainedSystem(
        recipe,
        training.names,
        training.documents(recipe.text.captions),
        training.features,
        similarity,
        facts=facts or {},
    )
    if held_out is None or recipe.method == "nearest-neighbour":
        return system
    given = {
        "recipe": recipe.digest,
        "training": training.digest,
        "held out": held_out.digest,
        "caption": caption,
        "similarity": "" if similarity is None else digest_of_parts(similarity.words, similarity.matrix),
    }
    queries = held_out.standing(caption)

    def texts() -> PhaseArrays:
        own = system.text.gram(system.documents, system.documents)
        return {"own": own, "new": system.text.gram(queries, system.documents)}

    def images() -> PhaseArrays:
        own = image_gram(recipe.image, training.features, training.features, device)
        new = image_gram(recipe.image, held_out.features, training.features, device)
        return {"own": own, "new": new}

    store = PhaseCache(kept.kernels, kept.progress)
    text = store.arrays("text kernel", given, texts)
    image = store.arrays("image kernel", given, images)
    grid = recipe.selection
    kcca = SelectedKCCA(
        grid.kappas,
        most=grid.most,
        number=grid.sizes,
        picks=grid.picks,
        center=grid.center,
        device=device,
    ).fit(
        image["own"],
        scaled_diagonal(text["own"], recipe.text.diagonal),
        image["new"],
        text["new"],
        progress=kept.progress,
    )
    return dataclasses.replace(system, kcca=kcca)


def check_pairs(recipe: Recipe, training: PreparedDataset, held_out: PreparedDataset | None) -> None:
    """Raise ValueError where there are too few images, or one is on both sides."""
    sides = [("training", training, LEAST_TRAINING)]
    if recipe.method == "kcca":
        if held_out is None:
            raise ValueError(
                f"recipe {recipe.name!r} selects its settings on held-out images; give at least one"
            )
        sides.append(("held-out", held_out, LEAST_HELD_OUT))
    for word, own, least in sides:
        if len(own) < least:
            raise ValueError(f"recipe {recipe.name!r} has {len(own)} {word} images; expected {least} or more")
    both = set(training.names) & set(() if held_out is None else held_out.names)
    if both:
        raise ValueError(f"image {min(both)!r} is both a training image and held out; use it for only one")
