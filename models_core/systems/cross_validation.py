"""Cross-validation: every image is tested once, by a system that saw neither it nor its fold.

Images are divided into folds by a seed. For each fold the next one is held out to select settings, and the
others are for training; a method that selects nothing trains on both. Each test image has one caption, and is
ranked among those of its fold. Codebooks and the background text are the same for all folds: neither was made
from captions of the corpus (see `background.without_captions`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import DIRECTIONS, RankDirection
from models_core.folds import FOLDS, make_folds
from models_core.phase_cache import PhaseArrays, PhaseCache, digest_of_parts, from_json_array, to_json_array
from models_core.systems.dataset import STANDS_FOR, PreparedDataset
from models_core.systems.kernels import Resources, wordnet_digest
from models_core.systems.recipe import Recipe
from models_core.systems.training import FitOptions, fit
from phrasebox.device import CPU
from phrasebox.scoring import ranking
from phrasebox.scoring.tiles import Scores


@dataclass(frozen=True)
class CrossValidation:
    """The rank of each image's original, shape (images,) for each direction, and the number of items ranked;
    `remarks` on numbers, and on chosen settings, a sentence for each fold that has one."""

    recipe: Recipe
    ranks: dict[RankDirection, NDArray[np.float64]]
    pool: NDArray[np.int64]
    remarks: tuple[str, ...] = ()


def cross_validate(
    recipe: Recipe,
    material: PreparedDataset,
    aids: Resources | None = None,
    *,
    number: int = FOLDS,
    seed: int = 0,
    cache: PhaseCache,
    caption: int = STANDS_FOR,
    device: str = CPU,
) -> CrossValidation:
    """Test `recipe` on every image of `material`. The results of each fold are stored: a killed run continues
    after the last one, on any `device` (see `fit`).

    Raises what `fit` raises.
    """
    folds = make_folds(len(material), number, seed=seed)
    ranks: dict[RankDirection, NDArray[np.float64]] = {d: np.empty(len(material)) for d in DIRECTIONS}
    pool = np.empty(len(material), dtype=np.int64)
    remarks: list[str] = []
    aids = aids or Resources()
    provenance = {
        "recipe": recipe.digest,
        "material": material.digest,
        "background": digest_of_parts([list(s) for s in aids.background]) if aids.background else "",
        "folds": [number, seed],
        "caption": caption,
    }
    if nouns := wordnet_digest(recipe, aids):
        provenance["wordnet"] = nouns
    if recipe.reads == "names" and aids.caption_vectors is not None:
        provenance["caption_vectors"] = aids.caption_vectors.digest
    for fold, test in enumerate(folds):
        next_one, called = (fold + 1) % number, f"{recipe.name}, fold {fold + 1} of {number}"
        selects = recipe.chooses
        training = np.sort(
            np.concatenate(
                [
                    images_of_fold
                    for n, images_of_fold in enumerate(folds)
                    if n != fold and not (selects and n == next_one)
                ]
            )
        )

        def tested(
            test: NDArray[np.intp] = test,
            training: NDArray[np.intp] = training,
            held_out: NDArray[np.intp] | None = folds[next_one] if selects else None,
            called: str = called,
        ) -> PhaseArrays:
            system = fit(
                recipe,
                material.take(training),
                None if held_out is None else material.take(held_out),
                aids,
                cache=cache.within(called),
                options=FitOptions(caption, device=device, seed=seed),
            )
            images_of_fold = material.take(test)
            data = system.describe(images_of_fold.features, images_of_fold.single_captions(caption))
            notes = [*system.metadata.get("selection", ()), *system.metadata.get("remarks", ())]
            ranks_of = {str(d): own_ranks(system.score(data, direction=d)) for d in DIRECTIONS}
            return {**ranks_of, "remarks": to_json_array(notes)}

        arrays = cache.arrays(called, {**provenance, "fold": fold}, tested)
        pool[test] = len(test)
        remarks += [f"fold {fold + 1}: {remark}" for remark in from_json_array(arrays["remarks"])]
        for direction in DIRECTIONS:
            ranks[direction][test] = arrays[direction]
    return CrossValidation(recipe, ranks, pool, tuple(remarks))


def own_ranks(scores: Scores | NDArray[Any]) -> NDArray[np.float64]:
    """Return the rank of each query's original; the image and the caption with the same index belong
    together."""
    return ranking.ranks(scores, np.arange(scores.shape[0]))
