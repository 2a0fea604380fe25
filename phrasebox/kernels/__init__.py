"""Kernels of captions and of images: matrices of similarities (Hodosh et al. 2013, section 3).

A kernel learns weights from training items, and returns `gram(rows, columns)`, float64 of shape (rows,
columns). An item of text is a list of captions, a caption a list of words: `BagOfWords`, `Trigram`,
`TagRank`, and `SimilarTrigram` with a `WordKernel` of similar words. An item of `Intersection` is an image's
shares of colours, textures and shapes. `scaled_diagonal` and `powered` change a finished matrix. Equations:
docs/kernels.md.

TagRank, SimilarTrigram and Intersection are compiled by Numba, which is imported on their first use: `pip
install phrasebox[kernels]`. The first call compiles, for some seconds.

>>> items = [[["dog", "run"], ["brown", "dog"]], [["dog", "sleep"]]]
>>> BagOfWords(items).gram(items, items).round(3).tolist()
[[1.0, 0.577], [0.577, 1.0]]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from phrasebox.kernels.bag_of_words import BagOfWords
from phrasebox.kernels.grams import powered, scaled_diagonal
from phrasebox.kernels.similarity import WordKernel
from phrasebox.kernels.trigram import Trigram

if TYPE_CHECKING:
    from phrasebox.kernels.intersection import Intersection
    from phrasebox.kernels.tag_rank import TagRank
    from phrasebox.kernels.trigram_similar import SimilarTrigram

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

#: The kernels compiled by Numba, and their modules.
_COMPILED = {"Intersection": "intersection", "SimilarTrigram": "trigram_similar", "TagRank": "tag_rank"}


def __getattr__(name: str) -> Any:
    if name not in _COMPILED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    try:
        module = importlib.import_module(f"{__name__}.{_COMPILED[name]}")
    except ModuleNotFoundError as error:
        if error.name != "numba":
            raise
        raise ImportError(
            f"{__name__}.{name} needs Numba, which is not installed: pip install phrasebox[kernels]"
        ) from error
    return globals().setdefault(name, getattr(module, name))


def __dir__() -> list[str]:
    return sorted(__all__)
