"""Optional packages, imported when first needed, with an error that says how to install a missing one.

requirements-extras.txt installs them all. No other file names them.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from phrasebox.errors import PhraseboxError

#: Import name -> the package that provides it, and the features that need it.
EXTRAS = {
    "cv2": ("opencv-contrib-python-headless", "Features of pictures and proposals of regions"),
    "gensim": ("gensim", "Training of word vectors and fastText's models"),
    "h5py": ("h5py", "HDF5 files"),
    "onnxruntime": ("onnxruntime", "Networks that describe pictures"),
    "pyarrow": ("pyarrow", "Parquet files"),
}
REMEDY = "pip install -r requirements-extras.txt -c constraints.txt"


class MissingExtra(PhraseboxError):
    """An optional package that the work needs is not installed; the message is one line with the remedy."""


def load_extra(name: str) -> Any:
    """Return the module `name` of an optional package, as "pyarrow.parquet"; raises MissingExtra."""
    top = name.partition(".")[0]
    package, purpose = EXTRAS[top]
    try:
        importlib.import_module(top)
    except ModuleNotFoundError as error:
        if error.name != top:
            raise
        raise MissingExtra(f"{purpose} need {package}, which is not installed: {REMEDY}") from None
    return importlib.import_module(name)


class LazyExtra:
    """A proxy for a module of an optional package, which is imported at the first use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(load_extra(self._name), attribute)


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the version of each of these packages that is installed."""
    versions = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions
