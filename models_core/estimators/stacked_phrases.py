"""Stacked CCA whose auxiliary pairs are regions with the phrases that describe them.

The embedding of region-phrase pairs is appended to the features of whole images and sentences. At most N
exemplars of a phrase are drawn.

Source: Plummer et al. 2015, section 4.1; Gong et al. 2014, section 4.2, for the method.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from models_core.estimators.base import CAPTION_VIEW, IMAGE_VIEW, REGION_VIEW, FitContext, add_method
from models_core.estimators.covariances import COVARIANCE_PHASES, PairedSums
from models_core.estimators.predictors import region_phrase_views, resampled
from models_core.estimators.region_phrase import sums_of_exemplars
from models_core.estimators.transfer.stacked import Stacked, stacked_memory
from models_core.estimators.transfer.weak_pairs import StackedSettings


@dataclass(frozen=True, slots=True)
class StackedPhrasesSettings(StackedSettings):
    """Settings of a CCA on top of one of regions and phrases."""

    exemplars: Annotated[
        int, Field(ge=0, description="Exemplars of a phrase that are learned from, at most (N); 0: all")
    ] = 10


class StackedPhrases(Stacked):
    """Like `Stacked`, with regions and phrases in place of weak pairs."""

    settings: StackedPhrasesSettings

    def _auxiliary_sums(self, context: FitContext) -> PairedSums:
        regions, phrases, region_of = region_phrase_views(context.auxiliary.get(REGION_VIEW))
        known = np.flatnonzero(phrases.known)
        chosen = known[resampled(phrases.phrase_of[known], self.settings.exemplars, context.rng("exemplars"))]
        return sums_of_exemplars(regions, phrases, region_of, chosen, context)


add_method(
    name="stacked-phrases",
    title="stacked CCA with regions and phrases",
    settings=StackedPhrasesSettings,
    make=StackedPhrases,
    load=StackedPhrases.from_state,
    takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "phrases"},
    source="Plummer et al. 2015, section 4.1",
    phases=(*COVARIANCE_PHASES, *COVARIANCE_PHASES),
    recipes={"SAE-phrases": {"text": {"vectors": "fisher"}, "printed": "SAE"}},
    grounding="training",
    memory=stacked_memory,
)
