"""Settings of the methods that learn from clean pairs and from weak ones.

Source: Gong et al. 2014, section 4.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from models_core.checked_fields import CheckedRecord
from models_core.estimators.cca import POWERS, RIDGES, CCASettings, Components, Powers, Ridges
from models_core.estimators.grids import GRID_STEPS, GridSteps

Stacking = Literal["fourier", "linear"]


@dataclass(frozen=True, slots=True)
class WeakSettings(CheckedRecord):
    """Settings of CCA on weak pairs alone; the other methods add theirs."""

    components: Components = 96
    ridges: Ridges = RIDGES
    powers: Powers = POWERS
    grid_steps: GridSteps = GRID_STEPS

    def cca(self) -> CCASettings:
        """Of the CCA whose embeddings are ranked by."""
        return CCASettings(self.components, True, self.ridges, self.powers, self.grid_steps)


@dataclass(frozen=True, slots=True)
class JointSettings(WeakSettings):
    """Settings of CCA on clean and weak pairs as one set."""

    weight: Annotated[float, Field(gt=0, description="Factor of the weak rows (beta)")] = 1.0


@dataclass(frozen=True, slots=True)
class TextFeatureSettings(WeakSettings):
    """Settings of CCA on images described by the texts of similar weak images too."""

    neighbours: Annotated[int, Field(ge=1, description="Weak images whose texts are averaged (k)")] = 50


@dataclass(frozen=True, slots=True)
class StackedSettings(WeakSettings):
    """Settings of a CCA on top of one of weak pairs."""

    weak_components: Annotated[
        int, Field(ge=1, description="Numbers of the embedding of weak pairs (c1)")
    ] = 128
    mapping: Annotated[
        Stacking, Field(description="What is made of that embedding: random Fourier features, or nothing")
    ] = "fourier"
    original: Annotated[bool, Field(description="Whether the original features are kept beside it")] = True
    features: Annotated[int, Field(ge=1, description="How many Fourier features")] = 3000
    neighbour: Annotated[
        int, Field(ge=1, description="The neighbour whose mean distance is the kernel's width")
    ] = 50
    as_printed: Annotated[
        bool, Field(description="Whether Fourier features are drawn as the paper prints it")
    ] = False

    def weak_cca(self) -> CCASettings:
        """Of the CCA of weak pairs."""
        return CCASettings(self.weak_components, True, self.ridges, self.powers, self.grid_steps)
