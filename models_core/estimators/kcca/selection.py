"""Selecting fifteen settings per direction, and combining their rankings.

Source: Hodosh et al. 2013, section 4.1.3. On the development set, five settings of dimensions and kappa are
selected that maximise R@1, five for R@5, five for R@10; a setting that is selected repeatedly counts as
often. Test rankings of the fifteen are combined by Borda counts, ties broken by the median rank. The paper
does not say which of equally good settings it selects, nor its 46 sizes: here the earlier one in the grid
(kappas as given, sizes ascending), and sizes evenly spaced on a logarithmic scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_core import storage
from models_core.estimators.base import DIRECTIONS, Matrix, RankDirection
from models_core.estimators.kcca import on_device
from models_core.estimators.kcca.kcca import KCCA, KappaSweep, Projection
from models_core.estimators.kcca.problem import centred, checked_pair
from phrasebox.device import CPU, Torch, memory_of, torch_on
from phrasebox.scoring import ranking

KAPPAS = (0.1, 0.5, 1.0, 5.0)
SIZES = 46
CUTOFFS = (1, 5, 10)
PICKS = 5
_KIND = "kcca-selected"


class Setting(NamedTuple):
    """A regulariser and a number of dimensions."""

    kappa: float
    dimensions: int


@dataclass(frozen=True, slots=True)
class Trial:
    """A setting on the development set: R@1, R@5, R@10 for each direction, in shares."""

    setting: Setting
    recall: dict[RankDirection, tuple[float, ...]]


def sizes(most: int, *, least: int = 10, number: int = SIZES) -> list[int]:
    """Return numbers of dimensions from `least` to `most`, evenly spaced on a logarithmic scale, without
    repetitions."""
    if most < least:
        return [most]
    return sorted({int(size) for size in np.rint(np.geomspace(least, most, number))})


def prefix_scores(
    x: Matrix, y: Matrix, dimensions: Sequence[int], on: Torch | None = None
) -> Iterator[tuple[int, Matrix]]:
    """Yield cosines in the first d dimensions, shape (x, y), for each d of `dimensions`, ascending.

    `x` and `y` have shape (items, all dimensions). Products are accumulated: all sizes together cost one
    product of the largest, computed `on` a device if given. The caller owns the yielded matrix.
    """
    for before, size in pairwise([0, *dimensions]):
        if not before < size <= x.shape[1]:
            raise ValueError(f"dimensions must ascend within {x.shape[1]}; got {size} after {before}")
    if on is not None:
        yield from on_device.prefix_scores_on_device(x, y, dimensions, on)
        return
    products = np.zeros((len(x), len(y)))
    lengths = np.zeros(len(x)), np.zeros(len(y))
    start = 0
    for size in dimensions:
        left, right = x[:, start:size], y[:, start:size]
        products += left @ right.T
        for total, part in zip(lengths, (left, right), strict=True):
            total += np.einsum("ij,ij->i", part, part)
        start = size
        scale = np.sqrt(np.outer(*lengths))
        yield size, products / np.where(scale > 0, scale, 1.0)


def recall_at_cutoffs(
    scores: Matrix, image_of: NDArray[np.intp], direction: RankDirection
) -> tuple[float, ...]:
    """Return R@1, R@5, R@10 of the original item; `image_of` is each sentence's image.

    For an image with several sentences, any of them in the top k counts.
    """
    if direction == "search":
        ranks = ranking.ranks(np.ascontiguousarray(scores.T), image_of)
    else:
        sentences = np.arange(len(image_of))
        (better, equal), _ = ranking.count(ranking.Dense(scores), in_rows=(image_of, sentences))
        ranks = np.full(len(scores), np.inf)
        np.minimum.at(ranks, image_of, 1 + better + (equal - 1) / 2)
    return tuple(float(np.mean(ranks <= cutoff)) for cutoff in CUTOFFS)


def choose_settings(
    trials: Sequence[Trial], direction: RankDirection, *, picks: int = PICKS
) -> list[Setting]:
    """Return the `picks` best settings at each cut-off, so `3 * picks` including repetitions."""
    chosen = []
    for index in range(len(CUTOFFS)):
        order = np.argsort([-trial.recall[direction][index] for trial in trials], kind="stable")
        chosen += [trials[i].setting for i in order[:picks]]
    return chosen


class SelectedKCCA:
    """KCCA with settings selected on a development set; learned are `trials_`, `chosen_`, `models_`.

    `chosen_` has the settings of each direction, `models_` one KCCA for each chosen kappa, with as many
    dimensions as its largest setting. Fitting holds all weights of all regularisers in memory: 8 bytes times
    2 n times the dimensions for each. `device` is where fitting computes; it is not stored.
    """

    trials_: list[Trial]
    chosen_: dict[RankDirection, list[Setting]]
    models_: dict[float, KCCA]

    def __init__(
        self,
        kappas: Sequence[float] = KAPPAS,
        *,
        most: int = 6000,
        number: int = SIZES,
        picks: int = PICKS,
        center: bool = True,
        device: str = CPU,
    ) -> None:
        self.kappas, self.most, self.number = tuple(float(k) for k in kappas), most, number
        self.picks, self.center, self.device = picks, center, device

    def fit(
        self,
        x: ArrayLike,
        y: ArrayLike,
        develop_x: ArrayLike,
        develop_y: ArrayLike,
        image_of: ArrayLike | None = None,
        *,
        progress: Callable[[str, int, int], None] = lambda phase, done, of: None,
    ) -> SelectedKCCA:
        """Learn from training kernels, (n, n), and select on those of held-out items, (new, n).

        `image_of` is the held-out image of each held-out sentence, its own number where None. `progress` is
        called with the phase, the number of kappas done, and their total; an exception of it ends the fit.
        """
        on = torch_on(self.device)
        first, second = checked_pair(x, y)
        with memory_of(on):
            trials, models = self._tried(first, second, develop_x, develop_y, image_of, on, progress)
        if on is not None:
            on.free()
        self.trials_ = trials
        self.chosen_ = {d: choose_settings(self.trials_, d, picks=self.picks) for d in DIRECTIONS}
        largest: dict[float, int] = {}
        for setting in {s for chosen in self.chosen_.values() for s in chosen}:
            largest[setting.kappa] = max(setting.dimensions, largest.get(setting.kappa, 0))
        self.models_ = {kappa: models[kappa].first(size) for kappa, size in sorted(largest.items())}
        return self

    def _tried(
        self,
        first: Matrix,
        second: Matrix,
        develop_x: ArrayLike,
        develop_y: ArrayLike,
        image_of: ArrayLike | None,
        on: Torch | None,
        progress: Callable[[str, int, int], None],
    ) -> tuple[list[Trial], dict[float, KCCA]]:
        """Evaluate every setting on the held-out items; return the trials, and a model with all dimensions
        for each kappa."""
        progress("decomposing kernels", 0, 1)
        sweep = KappaSweep(
            centred(first, center=self.center), centred(second, center=self.center), self.device
        )
        progress("decomposing kernels", 1, 1)
        trials: list[Trial] = []
        models: dict[float, KCCA] = {}
        for done, model in enumerate(sweep.models(self.kappas), start=1):
            model.center = self.center
            left, right = model.transform(develop_x, develop_y)
            owner = _owners(image_of, len(left), len(right))
            most = min(self.most, len(model.correlations_))
            for size, scores in prefix_scores(left, right, sizes(most, number=self.number), on):
                recalls = {direction: recall_at_cutoffs(scores, owner, direction) for direction in DIRECTIONS}
                trials.append(Trial(Setting(model.kappa, size), recalls))
            models[model.kappa] = model
            progress("trying regularisers", done, len(self.kappas))
        return trials, models

    def score_pairs(self, x: ArrayLike, y: ArrayLike, *, direction: RankDirection) -> NDArray[np.int64]:
        """Return Borda scores of every pair of new items for one direction, shape (images, sentences).

        Scores can only be compared within a query, and depend on the whole pool, as Borda counts do.
        """
        chosen = self.chosen_[direction]
        places: list[Matrix] = []
        for kappa, model in self.models_.items():
            times = {d: chosen.count(Setting(kappa, d)) for k, d in chosen if k == kappa}
            left, right = model.transform(x, y)
            for size, scores in prefix_scores(left, right, sorted(times)):
                turned = scores if direction == "annotation" else scores.T
                places += [ranking.positions(turned)] * times[size]
        combined = ranking.borda(np.stack(places))
        return combined if direction == "annotation" else np.ascontiguousarray(combined.T)

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the learned state as arrays and JSON-serialisable settings; `of_state` takes both."""
        arrays = {}
        for index, model in enumerate(self.models_.values()):
            arrays[f"{index}.correlations"] = model.correlations_
            for name, side in (("x", model.x_), ("y", model.y_)):
                arrays[f"{index}.{name}.weights"] = side.weights
                arrays[f"{index}.{name}.offset"] = side.offset
        return arrays, {
            "kappas": self.kappas,
            "most": self.most,
            "number": self.number,
            "picks": self.picks,
            "center": self.center,
            "models": list(self.models_),
            "items": next(iter(self.models_.values())).x_.items,
            "chosen": self.chosen_,
            "trials": [[*trial.setting, trial.recall] for trial in self.trials_],
        }

    @classmethod
    def of_state(cls, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> SelectedKCCA:
        """Restore what `state` returned; raises KeyError if something is missing."""
        restored = cls(
            settings["kappas"],
            most=settings["most"],
            number=settings["number"],
            picks=settings["picks"],
            center=settings["center"],
        )
        restored.chosen_ = {d: [Setting(*s) for s in settings["chosen"][d]] for d in DIRECTIONS}
        restored.trials_ = [
            Trial(Setting(kappa, size), {d: tuple(shares[d]) for d in DIRECTIONS})
            for kappa, size, shares in settings["trials"]
        ]
        restored.models_ = {}
        for index, kappa in enumerate(settings["models"]):
            model = KCCA(len(arrays[f"{index}.correlations"]), kappa, center=restored.center, solver="full")
            model.solver_, model.correlations_ = "full", arrays[f"{index}.correlations"]
            model.x_, model.y_ = (
                Projection(
                    arrays[f"{index}.{name}.weights"], arrays[f"{index}.{name}.offset"], settings["items"]
                )
                for name in ("x", "y")
            )
            restored.models_[kappa] = model
        return restored

    def save(self, folder: Path, metadata: dict[str, Any] | None = None) -> None:
        """Write the learned state to a new folder (see storage.save)."""
        arrays, settings = self.state()
        storage.save_model(folder, _KIND, arrays, settings, metadata)

    @classmethod
    def load(cls, folder: Path) -> SelectedKCCA:
        """Load what `save` wrote; raises storage.BadModel."""
        stored = storage.load_model(folder, _KIND)
        return cls.of_state(stored.arrays, stored.settings)


def _owners(image_of: ArrayLike | None, images: int, sentences: int) -> NDArray[np.intp]:
    if image_of is None:
        if images != sentences:
            raise ValueError(
                f"{images} held-out images and {sentences} sentences; give the image of each sentence with "
                "image_of"
            )
        return np.arange(images)
    owner = np.asarray(image_of, dtype=np.intp)
    if owner.shape != (sentences,) or (len(owner) and not 0 <= owner.min() <= owner.max() < images):
        raise ValueError(
            f"image_of has shape {owner.shape} or names no image; expected {sentences} of 0..{images - 1}"
        )
    return owner
