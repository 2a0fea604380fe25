"""Phrasebox as a library: the measures, without the annotation server.

    metrics        rankings of images and captions, scored; written captions, scored
    agreement      how far those who judged agree; many answers made one
    significance   whether one system is better than another
    formats        runs, qrels, judgments, scores and embeddings in files
    kernels        of captions and of images (Hodosh et al. 2013)

Django is not imported, and each of the five is loaded on first use. Their `__all__` is the public interface
(docs/library.md). Everything else may change between versions.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phrasebox import agreement, formats, kernels, metrics, significance

__version__ = "1.0.0"
__all__ = ["__version__", "agreement", "formats", "kernels", "metrics", "significance"]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)
