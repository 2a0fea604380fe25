"""Images and sentences compared by themselves, and by the regions and phrases that they are made of.

    D_RP = 1 / L^gamma * sum over the L phrases p of a sentence of |p - r(p)|^2          (eq. 1)
    D    = alpha D_IS + (1 - alpha) D_RP                                                 (eq. 2)

r(p) is the region of the image that is the nearest to p in the space of region-phrase CCA, and D_IS the
squared distance of image and sentence in the space of whole-image CCA. Vectors of both spaces have length 1,
so a squared distance is 2 - 2 cos. A phrase without a known word, and an image without a region, have a
distance of 2, that of a right angle. With alpha = 1 it is whole-image CCA.

A sentence without phrases is as far from an image as the others that are scored with it are on average, 0
where none has phrases (ours; the paper is silent). So an image ranks these sentences among each other by the
whole alone, and on the scale of the others. With a sum of nothing, 0, they would be nearest to every image.

Source: Plummer et al. 2015, section 4.2 (alpha 0.7, gamma 1.5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy import sparse

from models_core.checked_fields import check_fields
from models_core.estimators.base import (
    CAPTION_VIEW,
    IMAGE_VIEW,
    PHRASE_VIEW,
    REGION_VIEW,
    Dataset,
    FitContext,
    Method,
    RaggedRows,
    RankDirection,
    State,
    UnitRows,
    register_method,
)
from models_core.estimators.cca import CCA, RIDGES, CCASettings, Components, Ridges
from models_core.estimators.covariances import COVARIANCE_PHASES
from models_core.estimators.localizers import region_phrase_views
from models_core.estimators.region_phrase import RegionPhraseCCA, RegionPhraseSettings
from models_core.features.text.phrases import PhraseRows
from models_core.scoring.tiles import Dense, Scores

#: Phrases that are compared with all regions at a time.
_TOGETHER = 512


@dataclass(frozen=True, slots=True)
class WeightedDistanceSettings:
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
    phrase_ridge: Annotated[float, Field(gt=0, description="Ridge of region-phrase CCA")] = 0.1

    def __post_init__(self) -> None:
        check_fields(self)

    def whole(self) -> CCASettings:
        """Of the CCA of images and sentences."""
        return CCASettings(self.components, True, self.ridges, (1.0,))

    def parts(self) -> RegionPhraseSettings:
        """Of the CCA of regions and phrases."""
        return RegionPhraseSettings(self.exemplars, self.components, (self.phrase_ridge,), (1.0,))


class WeightedDistance:
    """Learned are `whole_`, a CCA of images and sentences, and `parts_`, one of regions and phrases."""

    whole_: CCA
    parts_: RegionPhraseCCA

    def __init__(self, settings: WeightedDistanceSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> WeightedDistance:
        """Learn both; raises ValueError where the context has no regions with phrases."""
        regions, phrases, region_of = region_phrase_views(context.auxiliary.get(REGION_VIEW))
        views: dict[str, Any] = {IMAGE_VIEW: _unit(regions), CAPTION_VIEW: phrases}
        pairs = Dataset(views, {(CAPTION_VIEW, IMAGE_VIEW): region_of})
        self.parts_ = RegionPhraseCCA(self.settings.parts()).fit(pairs, None, context)
        self.whole_ = CCA(self.settings.whole()).fit(train, validation, context)
        return self

    def score(self, data: Dataset, *, direction: RankDirection) -> Scores:
        """Minus the distance of eq. 2; rows are queries. Raises ValueError where `data` has no regions or
        phrases, unless alpha is 1."""
        alpha = self.settings.alpha
        whole = self.whole_.score(data, direction="annotation")
        images, captions = whole.shape
        everything = np.asarray(whole.tile(slice(0, images), slice(0, captions)), np.float64)
        distance = alpha * (2 - 2 * everything)
        if alpha < 1:
            distance = distance + (1 - alpha) * self.part_distances(data).T
        found = Dense(-distance)
        return found if direction == "annotation" else found.turned()

    def part_distances(self, data: Dataset) -> NDArray[np.float64]:
        """D_RP of each caption with each image, shape (captions, images)."""
        regions, phrases = data.views.get(REGION_VIEW), data.views.get(PHRASE_VIEW)
        if not isinstance(regions, RaggedRows) or not isinstance(phrases, PhraseRows):
            raise ValueError(
                "the weighted distance compares regions with phrases; give regions of the images, and a "
                "layer with mentions of the captions"
            )
        each = phrases.distinct
        best = nearest_regions(
            self.parts_.embed_phrases(each), self.parts_.embed_regions(_unit(regions)), regions.counts
        )
        owner = data.links[PHRASE_VIEW, CAPTION_VIEW]
        counts = sparse.csr_matrix(
            (np.ones(len(owner)), (owner, phrases.phrase_of)), shape=(data.captions.shape[0], len(each))
        )
        return distances_of_sentences(counts, 2 - 2 * best, self.settings.gamma)

    def state(self) -> State:
        """What both CCAs learned."""
        said: dict[str, Any] = {}
        arrays: dict[str, NDArray[Any]] = {}
        for name, model in (("whole", self.whole_), ("parts", self.parts_)):
            own, said[name] = model.state()
            arrays |= {f"{name}.{key}": array for key, array in own.items()}
        return arrays, said

    @classmethod
    def from_state(cls, settings: WeightedDistanceSettings, state: State) -> WeightedDistance:
        """What `state` gave; raises KeyError where something is missing."""
        arrays, said = state

        def of(name: str) -> State:
            start = f"{name}."
            own = {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}
            return own, said[name]

        found = cls(settings)
        found.whole_ = CCA.from_state(settings.whole(), of("whole"))
        found.parts_ = RegionPhraseCCA.from_state(settings.parts(), of("parts"))
        return found


def nearest_regions(
    phrases: NDArray[np.float32], regions: NDArray[np.float32], counts: NDArray[np.intp]
) -> NDArray[np.float64]:
    """The largest product of each phrase with a region of each image, shape (phrases, images).

    0 where an image has none. The regions of images follow each other, `counts` of them each.
    """
    found = np.zeros((len(phrases), len(counts)))
    there = np.flatnonzero(counts)
    begin = (np.cumsum(counts) - counts)[there]
    if not len(there):
        return found
    for start in range(0, len(phrases), _TOGETHER):
        part = slice(start, start + _TOGETHER)
        found[part, there] = np.maximum.reduceat(phrases[part] @ regions.T, begin, axis=1)
    return found


def distances_of_sentences(
    counts: sparse.csr_matrix, distances: NDArray[np.float64], gamma: float
) -> NDArray[np.float64]:
    """D_RP (eq. 1), shape (sentences, images), of how often sentences have each phrase and of each phrase's
    squared distance to its nearest region of each image.

    A sentence without phrases has the mean of the others, for each image its own; 0 where none has phrases.
    """
    number = np.asarray(counts.sum(axis=1)).ravel()
    found = np.asarray(counts @ distances) / np.maximum(number, 1)[:, None] ** gamma
    if (number > 0).any():
        found[number == 0] = found[number > 0].mean(axis=0)
    return found


def _unit(regions: RaggedRows) -> UnitRows:
    return UnitRows(regions.values, regions.begin, regions.end)


register_method(
    Method(
        name="weighted-distance",
        title="weighted distance of wholes and parts",
        settings=WeightedDistanceSettings,
        make=WeightedDistance,
        load=WeightedDistance.from_state,
        takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "phrases"},
        source="Plummer et al. 2015, section 4.2",
        phases=(*COVARIANCE_PHASES, *COVARIANCE_PHASES),
        recipes={"Weighted-distance": {"text": {"vectors": "fisher"}, "printed": "Weighted Distance"}},
        grounding="ranking",
    )
)
