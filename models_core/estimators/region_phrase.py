"""Region-phrase CCA: phrases and regions in one space by normalised CCA, learned from resampled pairs.

At most N exemplars of each phrase are drawn (N-resampling). From pairs of a region x and a phrase y, CCA
gives W, U and correlations rho; region and phrase are embedded as

    (x - mean) W diag(rho)    and    (y - mean) U diag(rho)

normalised to length 1, and the score of a region for a phrase is the cosine. Covariances are streamed: memory
does not grow with the number of pairs.

Source: Plummer et al. 2015, sections 3.1 and 3.2; Gong et al. 2014, eq. 1 and 2, with the power 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from models_core.checked_fields import CheckedRecord
from models_core.estimators.base import (
    CAPTION_VIEW,
    IMAGE_VIEW,
    Dataset,
    FitContext,
    Matrix,
    RaggedRows,
    State,
    add_method,
)
from models_core.estimators.cca import RIDGES, CanonicalMaps, Components, Powers, Ridges, choose_maps
from models_core.estimators.covariances import ADDING_UP, COVARIANCE_PHASES, PairedSums, memory_of_pairs
from models_core.estimators.embeddings import LinearMap, recall_of_embeddings
from models_core.estimators.grids import GRID_STEPS, GridSteps
from models_core.estimators.predictors import resampled
from models_core.features.principal_axes import unit_rows
from models_core.features.text.phrases import PhraseRows
from phrasebox.scoring.tiles import Products, Scores

#: Number of pairs that are added up, and of regions or phrases that are embedded, at a time.
_TOGETHER = 4096


@dataclass(frozen=True, slots=True)
class RegionPhraseSettings(CheckedRecord):
    """Settings of region-phrase CCA; of several ridges and powers the best is chosen on held-out pairs."""

    exemplars: Annotated[
        int, Field(ge=0, description="Exemplars of a phrase that are learned from, at most (N); 0: all")
    ] = 10
    components: Components = 512
    ridges: Ridges = RIDGES
    powers: Powers = (1.0,)
    grid_steps: GridSteps = GRID_STEPS


def sums_of_exemplars(
    regions: RaggedRows,
    phrases: PhraseRows,
    region_of: NDArray[np.intp],
    chosen: NDArray[np.intp],
    context: FitContext,
) -> PairedSums:
    """Return the sums over the `chosen` phrases with their one region each, block by block: memory does not
    grow with their number."""
    sums = PairedSums(regions.shape[1], phrases.shape[1])
    for start in range(0, len(chosen), _TOGETHER):
        context.progress(ADDING_UP, start, len(chosen))
        part = chosen[start : start + _TOGETHER]
        sums.add(regions.padded(region_of[part])[0][:, 0], phrases[part], names=("regions", "phrases"))
    context.progress(ADDING_UP, len(chosen), len(chosen))
    return sums


class RegionPhraseCCA:
    """The method. Learned are the maps `regions_` and `phrases_`; `correlations_`, `ridge_`, `power_`;
    `pairs_`, the number of training pairs; and `tried_`, a row (ridge, power, held-out recall) for each
    setting."""

    regions_: LinearMap
    phrases_: LinearMap
    correlations_: Matrix
    ridge_: float
    power_: float
    pairs_: int
    tried_: Matrix
    selection_: tuple[str, ...]

    def __init__(self, settings: RegionPhraseSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> RegionPhraseCCA:
        """Train on pairs of a phrase and the one region of its item; of equally good settings the first is
        taken.

        Phrases without a known word are left out. Raises ValueError for items with several regions, if fewer
        than two pairs are left, and if there are several settings but no held-out pairs.
        """
        settings = self.settings
        settled = len(settings.ridges) == len(settings.powers) == 1
        if validation is None and not settled:
            raise ValueError("region-phrase CCA chooses its ridge on held-out pairs; give some, or one ridge")
        regions, phrases = views_of(train)
        if (regions.counts != 1).any():
            raise ValueError("an item to learn from has several regions; expected one region each")
        known = np.flatnonzero(phrases.known)
        chosen = known[resampled(phrases.phrase_of[known], settings.exemplars, context.rng("exemplars"))]
        if len(chosen) < 2:
            raise ValueError(
                f"{len(known)} of {len(phrases)} phrases have a word with a vector; give word vectors of "
                "this language"
            )
        sums = sums_of_exemplars(regions, phrases, train.image_of, chosen, context)
        self.pairs_ = len(chosen)

        def recall(maps: CanonicalMaps, power: float) -> float:
            self.regions_, self.phrases_ = maps.scaled(power)
            return 0.0 if validation is None else self._held_out_recall(validation)

        best = choose_maps(sums.covariances(), settings, settings.powers, context, recall)
        self.ridge_, self.power_ = best.ridge, best.power
        self.regions_, self.phrases_ = best.maps.scaled(best.power)
        self.correlations_, self.tried_ = best.maps.correlations, best.tried
        self.selection_ = best.remarks
        return self

    def _held_out_recall(self, validation: Dataset) -> float:
        """Return the mean of R@1, R@5 and R@10 over both directions, for regions with one phrase each."""
        regions, phrases = views_of(validation)
        known = np.flatnonzero(phrases.known)
        if not len(known):
            return 0.0
        images, image_of = np.unique(validation.image_of[known], return_inverse=True)
        embedded = self._together(self.regions_, _blocks_of(regions.take(images)))
        phrase_vectors = self._together(self.phrases_, _rows(phrases, known))
        return recall_of_embeddings(
            np.asarray(embedded, np.float64),
            np.asarray(phrase_vectors, np.float64),
            image_of.ravel(),
            cosine=True,
        )

    def embed_regions(self, regions: RaggedRows) -> NDArray[np.float32]:
        """Return the embeddings of all regions of these items in order, of length 1, shape (regions,
        components)."""
        return self._together(self.regions_, _blocks_of(regions))

    def embed_phrases(self, phrases: PhraseRows) -> NDArray[np.float32]:
        """Return embeddings of length 1, shape (phrases, components); zeros for a phrase without a known
        word."""
        distinct = phrases.distinct
        embedded = self._together(self.phrases_, _rows(distinct, np.arange(len(distinct))))
        embedded[~distinct.known] = 0
        return embedded[phrases.phrase_of]

    def localize(self, data: Dataset) -> RaggedRows:
        """Return the cosines of the regions of each phrase's image; 0 if none of its words is known. That is
        not a prediction: code that ranks regions leaves such phrases out."""
        regions, phrases = views_of(data)
        embedded, phrase_vectors = self.embed_regions(regions), self.embed_phrases(phrases)
        end = np.cumsum(regions.counts)
        begin = end - regions.counts
        counts = regions.counts[data.image_of]
        cosines = RaggedRows.of_counts(np.empty(int(counts.sum()), np.float32), counts)
        order = np.argsort(data.image_of, kind="stable")
        for phrases_of_image in np.split(order, np.flatnonzero(np.diff(data.image_of[order])) + 1):
            if len(phrases_of_image):
                image = data.image_of[phrases_of_image[0]]
                scores = phrase_vectors[phrases_of_image] @ embedded[begin[image] : end[image]].T
                for phrase, row in zip(phrases_of_image, scores, strict=True):
                    cosines.item(int(phrase))[:] = row
        return cosines

    def detect(self, data: Dataset) -> Scores:
        """Return the cosines of every region of all images for each phrase; rows are phrases."""
        regions, phrases = views_of(data)
        return Products(self.embed_phrases(phrases), self.embed_regions(regions))

    def _together(self, mapped: LinearMap, blocks: Iterator[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Return the blocks mapped in single precision, which is twice as fast, with rows of length 1."""
        weights = mapped.weights.astype(np.float32)
        moved = (mapped.mean @ mapped.weights).astype(np.float32)
        parts = [np.empty((0, weights.shape[1]), np.float32)]
        for block in blocks:
            if block.shape[1] != len(weights):
                raise ValueError(
                    f"features of {block.shape[1]} numbers against {len(weights)}; expected the same"
                )
            parts.append(unit_rows(block @ weights - moved))
        return np.concatenate(parts)

    def state(self) -> State:
        """Return everything learned: arrays, and settings that fit JSON."""
        arrays: dict[str, NDArray[Any]] = {"correlations": self.correlations_, "tried": self.tried_}
        for name, side in (("regions", self.regions_), ("phrases", self.phrases_)):
            arrays |= {f"{name}.mean": side.mean, f"{name}.weights": side.weights}
        return arrays, {"ridge": self.ridge_, "power": self.power_, "pairs": self.pairs_}

    @classmethod
    def from_state(cls, settings: RegionPhraseSettings, state: State) -> RegionPhraseCCA:
        """Restore what `state` returned; raises KeyError if something is missing."""
        arrays, stored_settings = state
        restored = cls(settings)
        restored.regions_, restored.phrases_ = (
            LinearMap(arrays[f"{name}.mean"], arrays[f"{name}.weights"]) for name in ("regions", "phrases")
        )
        restored.correlations_, restored.tried_ = arrays["correlations"], arrays["tried"]
        restored.ridge_, restored.power_, restored.pairs_ = (
            stored_settings["ridge"],
            stored_settings["power"],
            stored_settings["pairs"],
        )
        return restored


def views_of(data: Dataset) -> tuple[RaggedRows, PhraseRows]:
    """Return the regions and phrases of a dataset; raises ValueError for other forms."""
    regions, phrases = data.images, data.captions
    if not isinstance(regions, RaggedRows) or not isinstance(phrases, PhraseRows):
        raise ValueError("region-phrase CCA takes regions and phrases; describe items by a system's sides")
    return regions, phrases


def _blocks_of(regions: RaggedRows) -> Iterator[NDArray[np.float32]]:
    """Yield the regions of all items in order, `_TOGETHER` or a few more at a time."""
    until = np.cumsum(regions.counts)
    first = 0
    while first < len(regions):
        before = until[first] - regions.counts[first]
        last = max(first + 1, int(np.searchsorted(until, before + _TOGETHER, side="right")))
        held = [regions.item(index) for index in range(first, last)]
        yield np.asarray(np.concatenate(held), np.float32)
        first = last


def _rows(phrases: PhraseRows, chosen: NDArray[np.intp]) -> Iterator[NDArray[np.float32]]:
    for start in range(0, len(chosen), _TOGETHER):
        yield phrases[chosen[start : start + _TOGETHER]]


add_method(
    name="region-phrase-cca",
    title="CCA of regions and phrases",
    settings=RegionPhraseSettings,
    make=RegionPhraseCCA,
    load=RegionPhraseCCA.from_state,
    takes={IMAGE_VIEW: "regions", CAPTION_VIEW: "phrases"},
    source="Plummer et al. 2015, section 3.1",
    phases=COVARIANCE_PHASES,
    memory=memory_of_pairs,
    recipes={
        "Region-phrase-CCA": {"printed": "CCA, N = 10"},
        "Region-phrase-HGLMM": {"text": {"vectors": "fisher"}, "printed": "CCA of HGLMM, N = 10"},
    },
    predicts="localizations",
    items="regions",
)
