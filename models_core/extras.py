"""Packages that only some work needs, imported when it begins and asked for where they are missing.

requirements-extras.txt installs them all. Nothing else names them.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from phrasebox.errors import PhraseboxError

#: By the name that is imported: the package that brings it, and what needs it.
EXTRAS = {
    "cv2": ("opencv-contrib-python-headless", "Features of pictures and proposals of regions"),
    "gensim": ("gensim", "Training of word vectors and fastText's models"),
    "h5py": ("h5py", "HDF5 files"),
    "onnxruntime": ("onnxruntime", "Networks that describe pictures"),
    "pyarrow": ("pyarrow", "Parquet files"),
}
REMEDY = "pip install -r requirements-extras.txt -c constraints.txt"


class MissingExtra(PhraseboxError):
    """A package that the work needs is not installed; the message is one line with the remedy."""


def load_extra(name: str) -> Any:
    """The module `name` of an extra package, as "pyarrow.parquet"; raises MissingExtra."""
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
    """Stands for a module of an extra package, which is imported when something of it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(load_extra(self._name), attribute)


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """The version of each of these packages that is installed."""
    versions = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions
