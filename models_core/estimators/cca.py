"""Canonical correlation analysis, plain and normalised, from streamed covariances.

The columns of W and U solve eq. 1: they are the directions of images and captions with the highest
correlations. The covariance of each side gets a ridge of r * trace / d. An image x and a caption y are
embedded as

    (x - mean) W diag(rho^t)    and    (y - mean) U diag(rho^t)

Plain CCA has t = 0 and compares by Euclidean distance, normalised CCA scales by a power of the correlations
and compares by the cosine (eq. 2). The ridge and t are chosen on held-out pairs.

Source: Gong et al. 2014, section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np
from pydantic import Field

from models_core.checked_fields import CheckedRecord
from models_core.estimators.base import (
    CAPTION_NUMBERS,
    CAPTION_VIEW,
    IMAGE_VIEW,
    TRAINING_CAPTIONS,
    Amounts,
    Dataset,
    FitContext,
    Matrix,
    State,
    add_method,
)
from models_core.estimators.covariances import (
    COVARIANCE_PHASES,
    PAIRS_PER_BLOCK,
    Covariances,
    memory_of_pairs,
    sums_of_dataset,
)
from models_core.estimators.embeddings import RECALL, LinearEmbedder, LinearMap
from models_core.estimators.grids import GRID_STEPS, UNUSABLE, Axis, Grid, GridSteps
from phrasebox.lazy import linalg

#: Ridges to try, as shares of the mean variance; small data needs large ones.
RIDGES = (1e-4, 1e-2, 1e-1, 1.0, 10.0)
#: Powers of the correlations to try.
POWERS = (0.0, 1.0, 2.0, 4.0)
#: Up to this width all singular vectors are computed; beyond it only those of the largest values.
_SMALL = 512


@dataclass(frozen=True)
class CanonicalMaps:
    """Both maps into the space of `correlations`, shape (components,), not yet scaled by any power of
    these."""

    images: LinearMap
    captions: LinearMap
    correlations: Matrix

    def scaled(self, power: float) -> tuple[LinearMap, LinearMap]:
        """Return the maps with each component times its correlation to the power of `power`."""
        scale = self.correlations**power
        return self.images.scaled(scale), self.captions.scaled(scale)


class SingularCovariance(ValueError):
    """A covariance that is not invertible, with the ridge that was added to it; one line with the remedy."""


class RidgeChoice(Protocol):
    """Settings that say how many components to learn, and which ridges to try."""

    @property
    def components(self) -> int:
        """The maximum number."""

    @property
    def ridges(self) -> tuple[float, ...]:
        """The ridges to try."""

    @property
    def grid_steps(self) -> int:
        """See `GridSteps`."""


@dataclass(frozen=True)
class ChosenMaps:
    """The maps of the best ridge and power; `tried` has a row (ridge, power, held-out figure) for each pair,
    -1 where a covariance was not invertible, and `remarks` are about the choice."""

    maps: CanonicalMaps
    ridge: float
    power: float
    tried: Matrix
    remarks: tuple[str, ...]


def choose_maps(
    covariances: Covariances,
    settings: RidgeChoice,
    powers: tuple[float, ...],
    context: FitContext,
    figure_of: Callable[[CanonicalMaps, float], float],
) -> ChosenMaps:
    """Return the maps and power with the highest `figure_of`; of equal ones the first that was tried.

    Sums of many numbers in single precision have rounding errors, so a covariance may not be invertible with
    a small ridge. Another ridge is used, if there is one. Raises SingularCovariance if none is large
    enough.
    """
    grid = Grid((Axis("ridge", settings.ridges), Axis("power", powers)), RECALL, settings.grid_steps)
    ridges: dict[float, CanonicalMaps | None] = {}
    tried: list[tuple[float, float, float]] = []
    failure: SingularCovariance | None = None
    while (setting := grid.next_setting(tried)) is not None:
        ridge, power = setting
        if ridge not in ridges:
            try:
                ridges[ridge] = canonical_maps(covariances, settings.components, ridge)
            except SingularCovariance as error:
                ridges[ridge], failure = None, error
            context.progress("trying ridges", len(ridges), max(len(ridges), len(settings.ridges)))
        maps = ridges[ridge]
        tried.append((ridge, power, UNUSABLE if maps is None else figure_of(maps, power)))
        if len(powers) == 1:  # otherwise maps may be requested again; they are large
            best = grid.best(tried)[0]
            ridges = {
                tried_ridge: maps_of_ridge if tried_ridge == best else None
                for tried_ridge, maps_of_ridge in ridges.items()
            }
    ridge, power = grid.best(tried)
    chosen = ridges[ridge]
    if chosen is None:
        assert failure is not None
        raise failure
    return ChosenMaps(chosen, ridge, power, np.asarray(tried), grid.remarks(tried))


def canonical_maps(covariances: Covariances, components: int, ridge: float) -> CanonicalMaps:
    """Return the leading `components` of eq. 1, or as many as there are.

    Raises SingularCovariance if a covariance with its ridge is not invertible, naming constant columns.
    """
    factors = [
        _factor(covariance, ridge, name)
        for covariance, name in ((covariances.xx, IMAGE_VIEW), (covariances.yy, CAPTION_VIEW))
    ]
    # K = Lx^-1 Cxy Ly^-T; its singular values are the correlations.
    half = linalg.solve_triangular(factors[0], covariances.xy, lower=True)
    whitened = linalg.solve_triangular(factors[1], half.T, lower=True).T
    left, values, right = _leading(whitened, components)
    weights = [
        linalg.solve_triangular(factor, side, lower=True, trans="T")
        for factor, side in zip(factors, (left, right), strict=True)
    ]
    # The sign of each component is arbitrary: make the images' largest weight positive.
    peaks = np.take_along_axis(weights[0], np.abs(weights[0]).argmax(axis=0)[None], axis=0)[0]
    signs = np.where(peaks < 0, -1.0, 1.0)
    return CanonicalMaps(
        LinearMap(covariances.x_mean, weights[0] * signs),
        LinearMap(covariances.y_mean, weights[1] * signs),
        np.minimum(values, 1.0),
    )


def _factor(covariance: Matrix, ridge: float, name: str) -> Matrix:
    """Return the lower Cholesky factor of a covariance with its ridge."""
    variances = covariance.diagonal()
    mean = float(variances.mean())
    if not mean > 0:
        raise ValueError(f"all {len(variances)} columns of the {name} are constant; nothing can correlate")
    if ridge == 0:
        constant = np.flatnonzero(variances <= 1e-12 * mean)
        if len(constant):
            raise SingularCovariance(
                f"{len(constant)} columns of the {name} are constant, first {constant[:3].tolist()}; leave "
                "them out, or take a ridge above 0"
            )
    added = covariance.copy()
    added.flat[:: len(added) + 1] += ridge * mean
    try:
        factor = linalg.cholesky(added, lower=True)
    except linalg.LinAlgError:
        factor = None
    # Rounding errors alone may yield a factor.
    if factor is None or (ridge == 0 and factor.diagonal().min() ** 2 <= 1e-12 * mean):
        raise SingularCovariance(
            f"the covariance of the {name} is singular: columns depend on each other; take a ridge above "
            f"{ridge:g}"
        ) from None
    return np.asarray(factor)


def _leading(matrix: Matrix, components: int) -> tuple[Matrix, Matrix, Matrix]:
    """Return left vectors, singular values and right vectors of the largest values, descending."""
    number = min(components, *matrix.shape)
    if min(matrix.shape) <= _SMALL:
        left, values, right = linalg.svd(matrix, full_matrices=False)
        return left[:, :number], values[:number], right[:number].T
    turned = matrix.shape[0] < matrix.shape[1]
    tall = matrix.T if turned else matrix
    gram = tall.T @ tall
    size = len(gram)
    squares, vectors = linalg.eigh(gram, subset_by_index=(size - number, size - 1))
    values = np.sqrt(np.maximum(squares[::-1], 0.0))
    vectors = vectors[:, ::-1]
    retained = values > 1e-7 * values[0]
    values, vectors = values[retained], vectors[:, retained]
    others = tall @ vectors / values
    return (vectors, values, others) if turned else (others, values, vectors)


Components = Annotated[int, Field(ge=1, description="Numbers of an embedding (c)")]
Ridges = Annotated[
    tuple[Annotated[float, Field(ge=0)], ...],
    Field(strict=False, min_length=1, description="Ridges that are tried, in mean variances"),
]
Powers = Annotated[
    tuple[Annotated[float, Field(ge=0)], ...],
    Field(strict=False, min_length=1, description="Powers of the correlations that are tried (t)"),
]


@dataclass(frozen=True, slots=True)
class CCASettings(CheckedRecord):
    """Settings of CCA; of several ridges and powers the best is chosen on held-out images."""

    components: Components = 96
    normalised: Annotated[
        bool, Field(description="Whether embeddings are scaled by powers and compared by the cosine")
    ] = True
    ridges: Ridges = RIDGES
    powers: Powers = POWERS
    grid_steps: GridSteps = GRID_STEPS


class CCA(LinearEmbedder):
    """CCA or normalised CCA; learned are `images_`, `captions_`, `correlations_`, `ridge_`, `power_`, and
    `tried_`, a row (ridge, power, mean recall) for each setting; -1 where a covariance was not invertible."""

    correlations_: Matrix
    ridge_: float
    power_: float
    tried_: Matrix
    selection_: tuple[str, ...]

    def __init__(self, settings: CCASettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> CCA:
        """Learn from all captions with their images; choose ridge and power on `validation`.

        Of equally good settings the first is chosen: the smallest ridge, then the smallest power, in the
        order in which they are listed. Raises ValueError without held-out pairs if there is a choice.
        """
        self._check_choice(validation)
        covariances = sums_of_dataset(train, context).covariances()
        return self.solve(covariances, validation, context)

    def _check_choice(self, validation: Dataset | None) -> None:
        settled = len(self.settings.ridges) == len(self._powers) == 1
        if validation is None and not settled:
            raise ValueError("CCA chooses its ridge on held-out images; give some, or one ridge and power")

    @property
    def _powers(self) -> tuple[float, ...]:
        return self.settings.powers if self.settings.normalised else (0.0,)

    def solve(self, covariances: Covariances, validation: Dataset | None, context: FitContext) -> CCA:
        """Learn from given covariances; otherwise as `fit`."""
        self._check_choice(validation)

        def recall(maps: CanonicalMaps, power: float) -> float:
            self.images_, self.captions_ = maps.scaled(power)
            return self.held_out_recall(validation)

        chosen = choose_maps(covariances, self.settings, self._powers, context, recall)
        self.ridge_, self.power_ = chosen.ridge, chosen.power
        self.images_, self.captions_ = chosen.maps.scaled(chosen.power)
        self.correlations_, self.tried_ = chosen.maps.correlations, chosen.tried
        self.selection_ = chosen.remarks
        return self

    @property
    def cosine(self) -> bool:
        """Whether the embeddings are normalised (eq. 2)."""
        return self.settings.normalised

    def state(self) -> State:
        """Return the learned state as arrays and JSON-serialisable settings."""
        arrays = {**self.map_arrays(), "correlations": self.correlations_, "tried": self.tried_}
        return arrays, {"ridge": self.ridge_, "power": self.power_}

    @classmethod
    def from_state(cls, settings: CCASettings, state: State) -> CCA:
        """Restore what `state` returned; raises KeyError if something is missing."""
        arrays, stored_settings = state
        restored = cls(settings)
        restored.take_maps(arrays)
        restored.correlations_, restored.tried_ = arrays["correlations"], arrays["tried"]
        restored.ridge_, restored.power_ = stored_settings["ridge"], stored_settings["power"]
        return restored


def _chooses(settings: CCASettings) -> bool:
    return len(set(settings.ridges)) > 1 or (settings.normalised and len(set(settings.powers)) > 1)


#: The assumed number of words of a sentence, and numbers of a word, in blocks of sentences.
_WORDS, _WORD_NUMBERS = 18, 300


def memory_of_sentences(settings: CCASettings, amounts: Amounts) -> float:
    """Return `memory_of_pairs` plus the vectors of a block's words with their running sums."""
    sentences = min(PAIRS_PER_BLOCK, amounts[TRAINING_CAPTIONS])
    words = 12.0 * _WORDS * sentences * min(_WORD_NUMBERS, amounts[CAPTION_NUMBERS])
    return memory_of_pairs(settings, amounts) + words


add_method(
    name="cca",
    title="CCA",
    settings=CCASettings,
    make=CCA,
    load=CCA.from_state,
    takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "vectors"},
    source="Gong et al. 2014, section 3.2",
    phases=COVARIANCE_PHASES,
    memory=memory_of_pairs,
    chooses=_chooses,
    recipes={
        "CCA": {"settings": {"normalised": False}, "printed": "CCA"},
        "nCCA": {"settings": {"normalised": True}, "printed": "CCA+Normalization"},
        "nCCA-1000": {
            "settings": {"normalised": True},
            "text": {"words": 1000},
            "printed": "1,000 words",
        },
        "nCCA-5000": {
            "settings": {"normalised": True},
            "text": {"words": 5000},
            "printed": "5,000 words",
        },
    },
)
add_method(
    name="sentence-cca",
    title="CCA of images and sentences",
    settings=CCASettings,
    make=CCA,
    load=CCA.from_state,
    takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "phrases"},
    source="Plummer et al. 2015, section 4.1",
    phases=COVARIANCE_PHASES,
    memory=memory_of_sentences,
    chooses=_chooses,
    recipes={
        "HGLMM-CCA": {
            "text": {"vectors": "fisher"},
            "settings": {"components": 512, "powers": [1.0]},
            "printed": "HGLMM FV",
        },
    },
)
