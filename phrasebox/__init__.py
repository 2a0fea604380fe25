"""Phrasebox as a library: what is measured, without the server that asks people.

    metrics        rankings of images and captions, scored; written captions, scored
    agreement      how far those who judged agree; many answers made one
    significance   whether one system is better than another
    formats        runs, qrels, judgments, scores and embeddings in files
    kernels        of captions and of images (Hodosh et al. 2013)

Nothing of Django is imported, and each of the five is loaded when it is first named. What they list in
`__all__` is the public interface: docs/library.md. Everything else may change from version to version.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phrasebox import agreement, formats, kernels, metrics, significance

__version__ = "1.0.0"
__all__ = ["__version__", "agreement", "formats", "kernels", "metrics", "significance"]

#: What lies beside this package, under names that a folder of scripts may have as well.
_BESIDE = ("annotation", "evaluation", "models_core")


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)


def _check_neighbours() -> None:
    """Raise ImportError where a script's neighbour hides a package of ours."""
    for name in _BESIDE:
        found = importlib.util.find_spec(name)
        if found is None:
            raise ImportError(
                f"phrasebox is incomplete: it lacks the package {name!r}; install phrasebox again"
            )
        if found.origin is None or not _is_ours(Path(found.origin), name):
            where = found.origin or ", ".join(found.submodule_search_locations or ())
            raise ImportError(
                f"{where} hides the package {name!r} that phrasebox needs; rename it, or run from another "
                "folder"
            )


def _is_ours(origin: Path, name: str) -> bool:
    return origin.resolve() == Path(__file__).resolve().parent.parent / name / "__init__.py"


_check_neighbours()
