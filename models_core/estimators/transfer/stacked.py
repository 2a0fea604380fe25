"""CCA on top of the features from a CCA of weak pairs: SAE, and its baselines.

Source: Gong et al. 2014, sections 4.1 and 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import (
    CAPTION_NUMBERS,
    CAPTION_VIEW,
    FURTHER,
    FURTHER_CAPTION_NUMBERS,
    FURTHER_IMAGE_NUMBERS,
    HELD_OUT,
    IMAGE_NUMBERS,
    IMAGE_VIEW,
    TRAINING_CAPTIONS,
    Amounts,
    Dataset,
    FitContext,
    Matrix,
    RankDirection,
    State,
    View,
    checked_numbers,
)
from models_core.estimators.cca import CCA
from models_core.estimators.covariances import (
    PairedSums,
    covariance_memory,
    register_row_map,
    sums_of_dataset,
)
from models_core.estimators.embeddings import LinearMap
from models_core.estimators.transfer.weak_pairs import StackedSettings, matching_scale, weak_pairs
from models_core.features.fourier import FourierFeatures
from phrasebox.lazy import sparse
from phrasebox.scoring.tiles import Scores

#: Maximum number of rows on which variances are compared; of more, a sample is drawn.
_SCALED_BY = 5000


@dataclass(frozen=True)
class StackedRows:
    """Rows [X, phi(X A)] of eq. 5 for both views: `maps` are A and B, `fourier` is phi if it is used,
    `scales` are factors of the features added beside the original rows, if these are kept."""

    maps: Mapping[str, LinearMap]
    fourier: Mapping[str, FourierFeatures]
    scales: Mapping[str, float]
    original: bool
    name: ClassVar[str] = "stacked"

    def mapped(self, view: str, rows: View) -> Matrix:
        """Return phi(X A)."""
        embedded = self.maps[view](rows)
        return self.fourier[view].transform(embedded) if view in self.fourier else embedded

    def __call__(self, view: str, rows: View) -> View:
        """Return a dense array, shape (rows, numbers of the CCA on top)."""
        embedded: View = self.scales[view] * self.mapped(view, rows)
        if not self.original:
            return embedded
        dense = rows.toarray() if isinstance(rows, sparse.csr_matrix) else np.asarray(rows)
        return np.hstack([dense, embedded])

    def state(self) -> State:
        """Return everything as a state."""
        arrays: dict[str, NDArray[Any]] = {}
        for view, row_map in self.maps.items():
            arrays |= {f"map.{view}.mean": row_map.mean, f"map.{view}.weights": row_map.weights}
        for view, features in self.fourier.items():
            arrays |= {f"fourier.{view}.{key}": array for key, array in features.state().items()}
        settings = {"fourier": list(self.fourier), "scales": dict(self.scales), "original": self.original}
        return arrays, settings

    @classmethod
    def from_state(cls, state: State) -> StackedRows:
        """Restore what `state` returned; raises KeyError if something is missing."""
        arrays, settings = state
        fourier = {}
        for view in settings["fourier"]:
            start = f"fourier.{view}."
            arrays_of_view = {
                key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)
            }
            fourier[view] = FourierFeatures().take_state(arrays_of_view)
        maps = {
            view: LinearMap(arrays[f"map.{view}.mean"], arrays[f"map.{view}.weights"])
            for view in (IMAGE_VIEW, CAPTION_VIEW)
        }
        return cls(maps, fourier, settings["scales"], settings["original"])


def stacked_memory(settings: StackedSettings, amounts: Amounts) -> float:
    """`Method.memory` of a CCA on top of a CCA of further pairs: held-out rows of both sides are dense."""
    added = settings.features if settings.mapping == "fourier" else settings.weak_components
    original = (amounts[IMAGE_NUMBERS], amounts[CAPTION_NUMBERS]) if settings.original else (0, 0)
    images, captions = (numbers + added for numbers in original)
    held_out = 8.0 * amounts[HELD_OUT] * 2 * (images + captions)
    scaling = 8.0 * 2 * min(_SCALED_BY, amounts[TRAINING_CAPTIONS]) * max(images, captions)
    return max(
        covariance_memory(amounts[FURTHER_IMAGE_NUMBERS], amounts[FURTHER_CAPTION_NUMBERS], amounts[FURTHER]),
        covariance_memory(images, captions, amounts[TRAINING_CAPTIONS]) + held_out,
        scaling,
    )


register_row_map(StackedRows.name, StackedRows.from_state)


class Stacked:
    """CCA on top of the features from a CCA of weak pairs. Learned are `weak_` and `cca_`, with Fourier
    features `fourier_` for each side, and `scales_` of the features added beside the original ones."""

    weak_: CCA
    cca_: CCA
    fourier_: Mapping[str, FourierFeatures]
    scales_: Mapping[str, float]
    selection_: tuple[str, ...]

    def __init__(self, settings: StackedSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> Stacked:
        """Train on weak pairs first, then on clean ones; raises ValueError without weak pairs."""
        settings = self.settings
        if isinstance(train.images, np.ndarray) and not np.isfinite(train.images.sum(dtype=np.float64)):
            checked_numbers(train.images, IMAGE_VIEW)  # it names the first
        weak = self._auxiliary_sums(context).covariances()
        self.weak_ = CCA(settings.weak_cca()).solve(weak, validation, context)
        self.fourier_ = {}
        if settings.mapping == "fourier":
            for view in (IMAGE_VIEW, CAPTION_VIEW):
                features = FourierFeatures(
                    settings.features, neighbour=settings.neighbour, as_printed=settings.as_printed
                )
                rows = self.weak_.embed(view, train.views[view])
                self.fourier_ = {**self.fourier_, view: features.fit(rows, context.rng(f"fourier, {view}"))}
        self.scales_ = {IMAGE_VIEW: 1.0, CAPTION_VIEW: 1.0}
        if settings.original:
            self.scales_ = {view: self._scale(view, train.views[view], context) for view in self.scales_}
        covariances = sums_of_dataset(train, context, self.stacked).covariances()
        held_out = None if validation is None else self._all_stacked(validation)
        self.cca_ = CCA(settings.cca()).solve(covariances, held_out, context)
        below = (f"CCA below: {remark}" for remark in self.weak_.selection_)
        self.selection_ = (*below, *self.cca_.selection_)
        return self

    @property
    def stacked(self) -> StackedRows:
        """What makes of rows those of the CCA on top."""
        maps = {IMAGE_VIEW: self.weak_.images_, CAPTION_VIEW: self.weak_.captions_}
        return StackedRows(maps, self.fourier_, self.scales_, self.settings.original)

    def _auxiliary_sums(self, context: FitContext) -> PairedSums:
        """Return the sums over the training pairs of the lower CCA."""
        return sums_of_dataset(weak_pairs(context), context)

    def _scale(self, view: str, rows: View, context: FitContext) -> float:
        chosen = context.rng(f"scale, {view}").permutation(rows.shape[0])[:_SCALED_BY]
        return matching_scale(rows[chosen], self.stacked.mapped(view, rows[chosen]))

    def _all_stacked(self, data: Dataset) -> Dataset:
        stacked = self.stacked
        views = {view: stacked(view, data.views[view]) for view in (IMAGE_VIEW, CAPTION_VIEW)}
        return Dataset(views, data.links)

    def score(self, data: Dataset, *, direction: RankDirection) -> Scores:
        """Return cosines; rows are queries."""
        return self.cca_.score(self._all_stacked(data), direction=direction)

    def state(self) -> State:
        """Return what both CCAs learned, and the random numbers drawn."""
        settings: dict[str, Any] = {"scales": dict(self.scales_)}
        arrays: dict[str, NDArray[Any]] = {}
        for name, model in (("weak", self.weak_), ("top", self.cca_)):
            model_arrays, settings[name] = model.state()
            arrays |= {f"{name}.{key}": array for key, array in model_arrays.items()}
        for view, features in self.fourier_.items():
            arrays |= {f"fourier.{view}.{key}": array for key, array in features.state().items()}
        return arrays, settings

    @classmethod
    def from_state(cls, settings: StackedSettings, state: State) -> Stacked:
        """Restore what `state` returned; raises KeyError if something is missing."""
        arrays, stored_settings = state

        def of(prefix: str) -> dict[str, NDArray[Any]]:
            start = f"{prefix}."
            return {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}

        restored = cls(settings)
        restored.weak_ = CCA.from_state(settings.weak_cca(), (of("weak"), stored_settings["weak"]))
        restored.cca_ = CCA.from_state(settings.cca(), (of("top"), stored_settings["top"]))
        restored.scales_ = stored_settings["scales"]
        views = (IMAGE_VIEW, CAPTION_VIEW) if settings.mapping == "fourier" else ()
        restored.fourier_ = {
            view: FourierFeatures(
                settings.features, neighbour=settings.neighbour, as_printed=settings.as_printed
            ).take_state(of(f"fourier.{view}"))
            for view in views
        }
        return restored
