"""Four ways to learn normalised CCA from clean pairs X, Y and weak pairs F, T.

weak only      CCA of F, T
joint          CCA of [X; beta F], [Y; beta T]
text feature   CCA of [X, the mean of the texts T of each image's k nearest F], Y
stacked        CCA of [X, phi(X A)], [Y, phi(Y B)], A and B the scaled maps of CCA on F, T;
               phi is a random Fourier map (SAE), or nothing (linear); without X and Y "stacked training"

Weak texts are described like the clean captions. Features that are added beside others are scaled to the same
mean variance, since both share one ridge, which would otherwise affect only the smaller ones. Ridges and
powers, of both CCAs, are chosen on held-out clean images.

Source: Gong et al. 2014, sections 4.1 and 4.2.
"""

from collections.abc import Callable, Mapping
from typing import Any

from models_core.estimators.base import CAPTION_VIEW, IMAGE_VIEW, Amounts, add_method
from models_core.estimators.covariances import ADDING_UP, COVARIANCE_PHASES, memory_of_further_pairs
from models_core.estimators.transfer.stacked import Stacked, stacked_memory
from models_core.estimators.transfer.text_feature import TextFeature, text_feature_memory
from models_core.estimators.transfer.weak_pairs import (
    WEAK,
    Joint,
    JointSettings,
    StackedSettings,
    TextFeatureSettings,
    WeakOnly,
    WeakSettings,
)

_Phases = tuple[tuple[str, float], ...]


def _registered(
    name: str,
    title: str,
    settings: type,
    kind: Any,
    recipes: Mapping[str, Any],
    phases: _Phases,
    memory: Callable[[Any, Amounts], float],
) -> None:
    add_method(
        name=name,
        title=title,
        settings=settings,
        make=kind,
        load=kind.from_state,
        takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "vectors"},
        source="Gong et al. 2014, section 4",
        recipes=recipes,
        phases=phases,
        memory=memory,
        needs=(WEAK,),
    )


_registered(
    "weak-only",
    "CCA of weak pairs",
    WeakSettings,
    WeakOnly,
    {"Weak-only": {"printed": "Weakly Supervised Only"}},
    COVARIANCE_PHASES,
    memory_of_further_pairs,
)
_registered(
    "joint",
    "CCA of clean and weak pairs",
    JointSettings,
    Joint,
    {"Joint": {"printed": "Joint Training"}},
    ((ADDING_UP, 1), *COVARIANCE_PHASES),
    memory_of_further_pairs,
)
_registered(
    "text-feature",
    "CCA with text features",
    TextFeatureSettings,
    TextFeature,
    {"Text-feature": {"printed": "Text Feature"}},
    (("looking for neighbours", 1), *COVARIANCE_PHASES),
    text_feature_memory,
)
_registered(
    "stacked",
    "stacked CCA",
    StackedSettings,
    Stacked,
    {
        "SAE": {"printed": "SAE (nonlinear)"},
        "SAE-linear": {"settings": {"mapping": "linear"}, "printed": "SAE (linear)"},
        "Stacked": {
            "settings": {"mapping": "linear", "original": False, "weak_components": 256},
            "printed": "Stacked Training",
        },
    },
    (*COVARIANCE_PHASES, *COVARIANCE_PHASES),
    stacked_memory,
)
