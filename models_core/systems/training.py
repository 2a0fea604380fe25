"""Train a recipe, in cached phases: learn both sides, describe the training items, fit the method.

Settings are selected on held-out images with one caption each (Hodosh et al. 2013, section 4.1.3).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from models_core.checkpoints import CHECKPOINTS, Checkpoints
from models_core.estimators.base import (
    CAPTION_VIEW,
    IMAGE_VIEW,
    REGION_VIEW,
    Dataset,
    FitContext,
    SumPairs,
    UnitRows,
)
from models_core.estimators.fitting import fit_method
from models_core.features.text.lemmas import Lemmatiser
from models_core.phase_cache import PhaseArrays, PhaseCache, PhaseProgress
from models_core.processes import present_processes, started_processes
from models_core.systems.dataset import STANDS_FOR, PreparedDataset, RegionVectors, Vectors, WeakPairs
from models_core.systems.kernels import Resources, check_resources
from models_core.systems.recipe import BadRecipe, Recipe
from models_core.systems.side_contracts import ImageSide, TextSide
from models_core.systems.side_settings import VectorSettings
from models_core.systems.trained_system import SIDES, TrainedSystem
from phrasebox.device import CPU, torch_on
from phrasebox.kernels.idf import Document
from phrasebox.lazy import sparse

#: With fewer training or held-out images there is nothing to correlate, or to select by.
LEAST_TRAINING, LEAST_HELD_OUT = 10, 10
#: Number of weak texts that are described at a time.
_WEAK_BLOCK = 1000
#: Version of the format of checkpoints; checkpoints in another one are ignored.
_CHECKPOINT_FORM = 2


@dataclass(frozen=True)
class FitOptions:
    """Options of training a system.

    `caption` is the number of the caption of each held-out image on which settings are selected; `device` is
    where kernels and methods compute (see `phrasebox.device`); `seed` is the seed of all random numbers;
    `metadata` is stored in the manifest; `auxiliary` has the weak pairs that the method needs, by name.
    `sum_pairs` adds up covariances (see `FitContext`). `regions` are regions of the training images as items,
    with the phrases about them, for methods with `grounding`. `seen` is stored with the system (see
    `TrainedSystem`).
    """

    caption: int = STANDS_FOR
    metadata: Mapping[str, Any] = field(default_factory=dict)
    device: str = CPU
    seed: int = 0
    auxiliary: Mapping[str, WeakPairs] = field(default_factory=dict)
    sum_pairs: SumPairs | None = None
    regions: PreparedDataset | None = None
    seen: PhaseArrays = field(default_factory=dict)


def fit(
    recipe: Recipe,
    training: PreparedDataset,
    held_out: PreparedDataset | None,
    aids: Resources | None = None,
    *,
    cache: PhaseCache | None = None,
    options: FitOptions | None = None,
) -> TrainedSystem:
    """Train `recipe`, and select its settings on `held_out` if it has any to select.

    `cache` stores word similarities and, in its folder `kernels`, the large matrices. Its progress callback
    receives all phases, and an exception that it raises ends the training. The system's metadata has notes
    about the selected settings and the numbers, under "selection" and "remarks". Raises BadRecipe,
    WordNetMissing, NoDevice, NotEnoughMemory, and ValueError for too few images, for an image on both sides,
    and for numbers out of range.
    """
    options, cache, aids = options or FitOptions(), cache or PhaseCache(), aids or Resources()
    torch_on(options.device)
    check_pairs(recipe, training, held_out)
    check_processes(recipe)
    check_resources(recipe, aids)
    check_needs(recipe, options.auxiliary)
    kind = recipe.kind
    images: ImageSide = SIDES[IMAGE_VIEW][kind.takes[IMAGE_VIEW]].learn(recipe, training.features)
    texts: TextSide = SIDES[CAPTION_VIEW][kind.takes[CAPTION_VIEW]].learn(
        recipe, training.words, replace(aids, seed=options.seed), cache
    )
    model, metadata = kind.make(recipe.settings), dict(options.metadata)
    if kind.learns:
        available = {
            "recipe": recipe.digest,
            "training": training.digest,
            "held out": "" if held_out is None else held_out.digest,
            "caption": options.caption,
            **({} if options.regions is None else {"regions": options.regions.digest}),
            **texts.digest_parts(),
        }
        store = PhaseCache(cache.kernels, cache.progress)
        queries = None if held_out is None else _held_out_captions(recipe, held_out, options.caption)
        text = texts.describe_training(queries, store, available)
        image = images.describe_training(
            None if held_out is None else held_out.features, store, available, options.device
        )
        new = None
        one_caption_each = {(CAPTION_VIEW, IMAGE_VIEW): np.arange(0 if held_out is None else len(held_out))}
        if held_out is not None and image.new is not None and text.new is not None:
            new = Dataset({IMAGE_VIEW: image.new, CAPTION_VIEW: text.new}, one_caption_each)
        dataset = Dataset(
            {IMAGE_VIEW: image.training, CAPTION_VIEW: text.training},
            {(CAPTION_VIEW, IMAGE_VIEW): text.owners},
        )
        weak = {
            name: _described(pairs, images, texts, cache.progress)
            for name, pairs in options.auxiliary.items()
        }
        if options.regions is not None:
            weak[REGION_VIEW] = _regions_with_phrases(options.regions, texts, recipe)
        checkpoints = Checkpoints(
            cache.kernels and cache.kernels / CHECKPOINTS,
            {**available, "seed": options.seed, "form": _CHECKPOINT_FORM},
            written=present_processes().first,
        )
        context = FitContext(
            options.seed, options.device, cache.progress, weak, options.sum_pairs, checkpoints
        )
        learned = fit_method(kind, recipe.settings, dataset, new, context)
        model = learned.model
        metadata |= {"selection": list(learned.selection), "remarks": list(learned.remarks)}
    return TrainedSystem(recipe, training.names, texts, images, model, metadata, options.seen)


def _held_out_captions(recipe: Recipe, held_out: PreparedDataset, caption: int) -> list[Document]:
    """Return for each held-out image one caption, or all captions if the method uses all."""
    return held_out.documents() if recipe.kind.all_captions else held_out.single_captions(caption)


def check_processes(recipe: Recipe) -> None:
    """Raise BadRecipe if torchrun started several processes and the recipe's method trains in one."""
    if started_processes() > 1 and not recipe.kind.by_processes:
        raise BadRecipe(f"recipe {recipe.name!r} is trained by one process; leave torchrun out")


def check_needs(recipe: Recipe, available: Collection[str]) -> None:
    """Raise BadRecipe unless the available data is exactly what the method needs."""
    needs = recipe.kind.needs
    lacking = [name for name in needs if name not in available]
    if lacking:
        raise BadRecipe(
            f"recipe {recipe.name!r} learns from {lacking[0]} pairs too; give a collection of them"
        )
    unused = [name for name in available if name not in needs]
    if unused:
        known = ", ".join(needs) or "none"
        raise BadRecipe(f"recipe {recipe.name!r} makes no use of {unused[0]!r} pairs; it needs: {known}")


def _described(weak: WeakPairs, images: ImageSide, texts: TextSide, progress: PhaseProgress) -> Dataset:
    """Describe weak pairs in the same way as the clean ones."""
    lemmatiser, blocks = Lemmatiser(), []
    for start in range(0, len(weak.texts), _WEAK_BLOCK):
        progress("reading weak texts", start, len(weak.texts))
        descriptions = [
            [[word.lemma for word in lemmatiser.words(text, None)]]
            for text in weak.texts[start : start + _WEAK_BLOCK]
        ]
        blocks.append(texts.describe(descriptions))
    progress("reading weak texts", len(weak.texts), len(weak.texts))
    views = {
        IMAGE_VIEW: images.describe(Vectors(weak.vectors)),
        CAPTION_VIEW: sparse.vstack(blocks, format="csr"),
    }
    return Dataset(views, {(CAPTION_VIEW, IMAGE_VIEW): np.arange(len(weak.texts))})


def _regions_with_phrases(pairs: PreparedDataset, texts: TextSide, recipe: Recipe) -> Dataset:
    """Return regions as items, of length 1 if the recipe normalizes images, and their phrases."""
    assert isinstance(pairs.features, RegionVectors)
    regions = pairs.features.rows
    if isinstance(recipe.image, VectorSettings) and recipe.image.normalised:
        regions = UnitRows(regions.values, regions.begin, regions.end)
    documents = pairs.documents()
    owners = np.repeat(np.arange(len(documents)), [len(phrases_of_image) for phrases_of_image in documents])
    phrases = texts.describe([[phrase] for phrases_of_image in documents for phrase in phrases_of_image])
    views: dict[str, Any] = {IMAGE_VIEW: regions, CAPTION_VIEW: phrases}
    return Dataset(views, {(CAPTION_VIEW, IMAGE_VIEW): owners})


def check_held_out(recipe: Recipe, images: int) -> None:
    """Raise ValueError if a recipe that selects settings has no held-out images."""
    if not images and recipe.chooses:
        raise ValueError(
            f"recipe {recipe.name!r} chooses its settings on held-out images; hold some out, or give it one "
            "value of each setting"
        )


def check_pairs(recipe: Recipe, training: PreparedDataset, held_out: PreparedDataset | None) -> None:
    """Raise ValueError if there are too few images, or if an image is on both sides."""
    sides = [("training", training, LEAST_TRAINING)]
    if held_out is None:
        check_held_out(recipe, 0)
    elif recipe.kind.selects:
        sides.append(("held-out", held_out, LEAST_HELD_OUT))
    for word, amount, least in sides:
        if len(amount) < least:
            raise ValueError(
                f"recipe {recipe.name!r} has {len(amount)} {word} images; expected {least} or more"
            )
    both = set(training.names) & set(() if held_out is None else held_out.names)
    if both:
        raise ValueError(f"image {min(both)!r} is both a training image and held out; use it for only one")
