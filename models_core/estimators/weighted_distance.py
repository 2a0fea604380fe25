"""Compare images and sentences as wholes, and by their regions and phrases.

    D_RP = 1 / L^gamma * sum over the L phrases p of a sentence of |p - r(p)|^2          (eq. 1)
    D    = alpha D_IS + (1 - alpha) D_RP                                                 (eq. 2)

r(p) is the region of the image that is nearest to p in the space of region-phrase CCA, and D_IS is the
squared distance of image and sentence in the space of whole-image CCA. Vectors of both spaces have length 1,
so a squared distance is 2 - 2 cos. A phrase without a known word, and an image without a region, have a
distance of 2, that of a right angle. With alpha = 1 it is whole-image CCA.

A sentence without phrases is as far from an image as the others that are scored with it are on average, 0
if none has phrases (ours; the paper is silent). So an image ranks these sentences among each other by the
whole alone, on the scale of the others. With an empty sum, 0, they would be nearest to every image.

A large matrix of images x captions is never in memory (40 GB for the 31,783 images of Flickr30k): distances
are computed for a block of images and all captions at a time. The distances of each image's regions are
computed separately, so that they are bitwise the same in any block. Cosines of wholes are products of a block
in single precision; blocks begin at the same images whatever tile is requested.

Source: Plummer et al. 2015, section 4.2 (alpha 0.7, gamma 1.5).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from models_core.checked_fields import CheckedRecord
from models_core.estimators.base import (
    CAPTION_VIEW,
    IMAGE_VIEW,
    PHRASE_VIEW,
    REGION_VIEW,
    Dataset,
    FitContext,
    RaggedRows,
    RankDirection,
    State,
    UnitRows,
    add_method,
)
from models_core.estimators.cca import CCA, RIDGES, CCASettings, Components, Ridges
from models_core.estimators.covariances import COVARIANCE_PHASES, memory_of_further_pairs
from models_core.estimators.grids import GRID_STEPS, GridSteps
from models_core.estimators.predictors import region_phrase_views
from models_core.estimators.region_phrase import RegionPhraseCCA, RegionPhraseSettings
from models_core.features.text.phrases import PhraseRows
from phrasebox.lazy import sparse
from phrasebox.scoring.tiles import Dense, RowIndices, ScoreArray, Scores, at_by_tiles

#: Number of entries, images times captions, that are computed at a time (32 MiB), and that are cached (256
#: MiB).
_ENTRIES, _HELD = 2**22, 2**25


@dataclass(frozen=True, slots=True)
class WeightedDistanceSettings(CheckedRecord):
    """Settings of the weighted distance; the ridge of wholes is chosen on held-out images."""

    alpha: Annotated[float, Field(ge=0, le=1, description="Weight of images and sentences as wholes")] = 0.7
    gamma: Annotated[
        float, Field(ge=0, description="Power of the number of phrases that their sum is divided by")
    ] = 1.5
    exemplars: Annotated[
        int, Field(ge=0, description="Exemplars of a phrase that are learned from, at most (N); 0: all")
    ] = 10
    components: Components = 512
    ridges: Ridges = RIDGES
    grid_steps: GridSteps = GRID_STEPS
    phrase_ridge: Annotated[float, Field(gt=0, description="Ridge of region-phrase CCA")] = 0.1

    def whole(self) -> CCASettings:
        """The settings of the CCA of images and sentences."""
        return CCASettings(self.components, True, self.ridges, (1.0,), self.grid_steps)

    def parts(self) -> RegionPhraseSettings:
        """The settings of the CCA of regions and phrases."""
        return RegionPhraseSettings(self.exemplars, self.components, (self.phrase_ridge,), (1.0,))


class WeightedDistance:
    """The method. Learned are `whole_`, a CCA of images and sentences, and `parts_`, a CCA of regions and
    phrases."""

    whole_: CCA
    parts_: RegionPhraseCCA
    selection_: tuple[str, ...]

    def __init__(self, settings: WeightedDistanceSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> WeightedDistance:
        """Train both; raises ValueError if the context has no regions with phrases."""
        regions, phrases, region_of = region_phrase_views(context.auxiliary.get(REGION_VIEW))
        views: dict[str, Any] = {IMAGE_VIEW: _unit(regions), CAPTION_VIEW: phrases}
        pairs = Dataset(views, {(CAPTION_VIEW, IMAGE_VIEW): region_of})
        self.parts_ = RegionPhraseCCA(self.settings.parts()).fit(pairs, None, context)
        self.whole_ = CCA(self.settings.whole()).fit(train, validation, context)
        self.selection_ = self.whole_.selection_
        return self

    def score(self, data: Dataset, *, direction: RankDirection) -> Scores:
        """Return minus the distance of eq. 2; rows are queries. Raises ValueError if `data` has no regions or
        phrases, unless alpha is 1."""
        alpha = self.settings.alpha
        scores: Scores = _WeightedScores(
            self.whole_.score(data, direction="annotation"),
            alpha,
            self.part_distances(data) if alpha < 1 else None,
        )
        if scores.shape[0] * scores.shape[1] <= _HELD:
            scores = Dense(scores.tile(slice(None), slice(None)))
        return scores if direction == "annotation" else scores.turned()

    def part_distances(self, data: Dataset) -> PartDistances:
        """Return D_RP of the captions with the images; raises ValueError as `score` does."""
        regions, phrases = data.views.get(REGION_VIEW), data.views.get(PHRASE_VIEW)
        if not isinstance(regions, RaggedRows) or not isinstance(phrases, PhraseRows):
            raise ValueError(
                "the weighted distance compares regions with phrases; give regions of the images, and a "
                "layer with mentions of the captions"
            )
        distinct = phrases.distinct
        owner = data.links[PHRASE_VIEW, CAPTION_VIEW]
        counts = sparse.csr_matrix(
            (np.ones(len(owner)), (owner, phrases.phrase_of)), shape=(data.captions.shape[0], len(distinct))
        )
        phrase_vectors = self.parts_.embed_phrases(distinct)
        return PartDistances(self.parts_, phrase_vectors, counts, _unit(regions), self.settings.gamma)

    def state(self) -> State:
        """Return the state of both CCAs."""
        settings: dict[str, Any] = {}
        arrays: dict[str, NDArray[Any]] = {}
        for name, model in (("whole", self.whole_), ("parts", self.parts_)):
            state_arrays, settings[name] = model.state()
            arrays |= {f"{name}.{key}": array for key, array in state_arrays.items()}
        return arrays, settings

    @classmethod
    def from_state(cls, settings: WeightedDistanceSettings, state: State) -> WeightedDistance:
        """Restore what `state` returned; raises KeyError if something is missing."""
        arrays, stored_settings = state

        def of(name: str) -> State:
            start = f"{name}."
            model_arrays = {
                key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)
            }
            return model_arrays, stored_settings[name]

        restored = cls(settings)
        restored.whole_ = CCA.from_state(settings.whole(), of("whole"))
        restored.parts_ = RegionPhraseCCA.from_state(settings.parts(), of("parts"))
        return restored


@dataclass(frozen=True, slots=True)
class PartDistances:
    """D_RP (eq. 1) of sentences with images; `parts` embeds the regions.

    `phrases` are the embedded phrases of the sentences, shape (phrases, components); `counts` is the number
    of times that each sentence has each phrase, shape (sentences, phrases); an item of `regions` is an image.
    """

    parts: RegionPhraseCCA
    phrases: NDArray[np.float32]
    counts: sparse.csr_matrix
    regions: RaggedRows
    gamma: float

    def of_images(self, images: slice) -> NDArray[np.float64]:
        """Return the distances of all sentences to these images, shape (sentences, images)."""
        return distances_of_sentences(self.counts, 2 - 2 * self._nearest(images), self.gamma)

    def _nearest(self, images: slice) -> NDArray[np.float64]:
        """Return the largest product of each phrase with a region of each image, 0 for an image without
        regions."""
        places = np.arange(len(self.regions))[images]
        nearest = np.zeros((len(self.phrases), len(places)))
        for column, index in enumerate(places):
            regions = self.regions.take([index])
            if regions.counts[0]:
                # One image at a time: in a larger product the last bits would depend on the other images.
                nearest[:, column] = (self.phrases @ self.parts.embed_regions(regions).T).max(axis=1)
        return nearest


class _WeightedScores(Scores):
    """Minus the distance of eq. 2; rows are images and columns captions, or transposed.

    `whole` are the cosines of images with captions. For a selection, the mean of eq. 1 is still that over all
    captions; `captions` has the rows of the selected ones.
    """

    def __init__(self, whole: Scores, alpha: float, parts: PartDistances | None) -> None:
        self.whole, self.alpha, self.parts = whole, alpha, parts
        self.captions: RowIndices | None = None
        self._by_image = True
        # The last block: consecutive tiles of few captions come from the same block.
        self._block: tuple[int, ScoreArray] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.whole.shape if self._by_image else self.whole.shape[::-1]

    @property
    def tile_shape(self) -> tuple[int, int]:
        shape = self._together, max(1, self.whole.shape[1])
        return shape if self._by_image else shape[::-1]

    @property
    def _together(self) -> int:
        """The number of images in a block."""
        captions = self.whole.shape[1] if self.parts is None else self.parts.counts.shape[0]
        return max(1, _ENTRIES // max(1, captions))

    def tile(self, rows: slice, columns: slice) -> ScoreArray:
        spans = rows, columns
        images, captions = spans if self._by_image else spans[::-1]
        start, stop, _ = images.indices(self.whole.shape[0])
        blocks = [np.empty((0, self.whole.shape[1]))[:, captions]]
        for number in range(start // self._together, -(-stop // self._together) if stop > start else 0):
            first = number * self._together
            block = self._of_block(number)
            blocks.append(block[max(start - first, 0) : stop - first, captions])
        tile = np.concatenate(blocks)
        return tile if self._by_image else tile.T

    def _of_block(self, number: int) -> ScoreArray:
        """Return the scores of a block of images with all captions."""
        held = self._block
        if held is not None and held[0] == number:
            return held[1]
        images = slice(number * self._together, min((number + 1) * self._together, self.whole.shape[0]))
        cosines = np.asarray(self.whole.tile(images, slice(0, self.whole.shape[1])), np.float64)
        distance = self.alpha * (2 - 2 * cosines)
        if self.parts is not None:
            part_distances = self.parts.of_images(images)
            distance += (1 - self.alpha) * (
                part_distances if self.captions is None else part_distances[self.captions]
            ).T
        scores = np.negative(distance, out=distance)
        self._block = number, scores
        return scores

    def at(self, rows: RowIndices, columns: RowIndices) -> ScoreArray:
        return at_by_tiles(self, rows, columns, np.dtype(np.float64))

    def select(self, rows: RowIndices, columns: RowIndices) -> _WeightedScores:
        images, captions = (rows, columns) if self._by_image else (columns, rows)
        selected = copy(self)
        selected.whole, selected._block = self.whole.select(images, captions), None
        if self.parts is not None:
            selected.parts = replace(self.parts, regions=self.parts.regions.take(images))
        selected.captions = captions if self.captions is None else self.captions[captions]
        return selected

    def turned(self) -> _WeightedScores:
        turned = copy(self)
        turned._by_image = not self._by_image
        return turned


def distances_of_sentences(
    counts: sparse.csr_matrix, distances: NDArray[np.float64], gamma: float
) -> NDArray[np.float64]:
    """Return D_RP (eq. 1), shape (sentences, images), from the counts of each sentence's phrases and each
    phrase's squared distance to its nearest region of each image.

    A sentence without phrases has the mean of the others, for each image separately; 0 if no sentence has
    phrases.
    """
    number = np.asarray(counts.sum(axis=1)).ravel()
    sentence_distances = np.asarray(counts @ distances) / np.maximum(number, 1)[:, None] ** gamma
    described = number > 0
    if described.any() and not described.all():
        # Added one after the other, for any number of images: numpy's mean of a single column adds in another
        # order.
        sums = sparse.csr_matrix(described.astype(np.float64)) @ sentence_distances
        sentence_distances[~described] = sums / described.sum()
    return sentence_distances


def _unit(regions: RaggedRows) -> UnitRows:
    return UnitRows(regions.values, regions.begin, regions.end)


add_method(
    name="weighted-distance",
    title="weighted distance of wholes and parts",
    settings=WeightedDistanceSettings,
    make=WeightedDistance,
    load=WeightedDistance.from_state,
    takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "phrases"},
    source="Plummer et al. 2015, section 4.2",
    phases=(*COVARIANCE_PHASES, *COVARIANCE_PHASES),
    memory=memory_of_further_pairs,
    recipes={"Weighted-distance": {"text": {"vectors": "fisher"}, "printed": "Weighted Distance"}},
    grounding="ranking",
)
