"""Plug-ins in tests: those of `tests/plugged_in`, as a site would have them, or copies to modify."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from annotation.api import document
from annotation.common.operations import requests
from annotation.formats import FORMATS
from annotation.formats.base import FORMAT_FOLDERS
from phrasebox.metrics.table import METRIC_FOLDERS, METRICS
from phrasebox.plug_ins import PlugInFolders

HERE = "tests.plugged_in"
FOLDER = Path(__file__).with_name("plugged_in")
#: The package of copies.
COPIES = "added_here"


@contextmanager
def plugged(folders: PlugInFolders, package: str = HERE) -> Iterator[None]:
    """Make the plug-ins of a package available, as in a server whose settings name it; undo this afterwards.

    They are not loaded yet if `package` is that of copies, so that a part can be removed first.
    """
    formats, names, keys = dict(FORMATS._entries), dict(METRICS._by_name), dict(METRICS._by_key)
    packages = [*folders.packages]
    folders.add_packages([package])
    try:
        if package == HERE:
            folders.load()
        forget_choices()
        yield
    finally:
        folders.packages[:] = packages
        FORMATS._entries, METRICS._by_name, METRICS._by_key = formats, names, keys
        forget(package)
        forget_choices()


def forget_choices() -> None:
    """Make requests and the OpenAPI document read the available formats again, which a server does once."""
    for value in [*vars(requests).values(), *vars(document).values()]:
        if hasattr(value, "cache_clear"):
            value.cache_clear()


def forget(package: str) -> None:
    """Remove the modules of a package, so that they are imported again."""
    for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
        if name != HERE:
            del sys.modules[name]
    importlib.invalidate_caches()


@contextmanager
def copied(folders: PlugInFolders, name: str, under: Path) -> Iterator[Path]:
    """Copy the plug-in `name` to a package of its own under the folder `under`, without loading it."""
    folder = under / COPIES / name
    shutil.copytree(FOLDER / name, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (under / COPIES / "__init__.py").touch()
    sys.path.insert(0, str(under))
    forget(COPIES)
    try:
        with plugged(folders, COPIES):
            yield folder
    finally:
        sys.path.remove(str(under))


__all__ = ["FORMAT_FOLDERS", "METRIC_FOLDERS", "copied", "plugged"]
