"""Kernels of captions and of images: matrices of how alike items are (Hodosh et al. 2013, section 3).

A kernel is made from training items, from which it learns weights, and gives `gram(rows, columns)`, float64
of shape (rows, columns). An item of text is a list of captions, a caption a list of words: `BagOfWords`,
`Trigram`, `TagRank`, and `SimilarTrigram` with a `WordKernel` of similar words. An item of `Intersection` is
an image's shares of colours, textures and shapes. `scaled_diagonal` and `powered` change a finished matrix.
Equations: docs/kernels.md.

TagRank, SimilarTrigram and Intersection are compiled by Numba, which is imported when one of them is named:
`pip install phrasebox[kernels]`. The first call compiles, for some seconds.

>>> items = [[["dog", "run"], ["brown", "dog"]], [["dog", "sleep"]]]
>>> BagOfWords(items).gram(items, items).round(3).tolist()
[[1.0, 0.577], [0.577, 1.0]]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from models_core.features.grams import powered, scaled_diagonal
from models_core.features.text.kernels.bag_of_words import BagOfWords
from models_core.features.text.kernels.trigram import Trigram
from models_core.features.text.similarity import WordKernel

if TYPE_CHECKING:
    from models_core.features.image.intersection import Intersection
    from models_core.features.text.kernels.tag_rank import TagRank
    from models_core.features.text.kernels.trigram_similar import SimilarTrigram

__all__ = [
    "BagOfWords",
    "Intersection",
    "SimilarTrigram",
    "TagRank",
    "Trigram",
    "WordKernel",
    "powered",
    "scaled_diagonal",
]

#: What Numba compiles, and where it is.
_COMPILED = {
    "Intersection": "image.intersection",
    "SimilarTrigram": "text.kernels.trigram_similar",
    "TagRank": "text.kernels.tag_rank",
}


def __getattr__(name: str) -> Any:
    if name not in _COMPILED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    try:
        module = importlib.import_module(f"models_core.features.{_COMPILED[name]}")
    except ModuleNotFoundError as error:
        if error.name != "numba":
            raise
        raise ImportError(
            f"{__name__}.{name} needs Numba, which is not installed: pip install phrasebox[kernels]"
        ) from error
    return globals().setdefault(name, getattr(module, name))


def __dir__() -> list[str]:
    return sorted(__all__)
