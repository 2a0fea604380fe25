"""Plug-in folders: a site's additions to a registry, each with everything that belongs to it.

A site lists packages in its settings. Each of their subpackages with the right module is one plug-in, and its
module registers it under the folder's name. System checks report what a folder lacks.
"""

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterable, Iterator
from pathlib import Path


class PlugInFolders:
    """The folders of one kind of plug-in, in packages that are added.

    `module` is the name of the module that registers ("format"). A folder with one of `also` (names of files
    or folders) counts too, so that the missing module can be reported.
    """

    def __init__(self, module: str, *, also: Iterable[str] = ()) -> None:
        self.module = module
        self.packages: list[str] = []
        self._signs = (f"{module}.py", *also)

    def add_packages(self, names: Iterable[str]) -> None:
        """Search these packages too; a known one changes nothing."""
        self.packages.extend(name for name in names if name not in self.packages)

    def folders(self) -> Iterator[tuple[str, Path]]:
        """Yield the (dotted name, path) of every plug-in's folder; raises ImportError for a missing
        package."""
        for name in self.packages:
            package = importlib.import_module(name)
            for module in pkgutil.iter_modules(package.__path__):
                if not module.ispkg:
                    continue
                spec = importlib.util.find_spec(f"{name}.{module.name}")
                assert spec is not None and spec.submodule_search_locations
                path = Path(spec.submodule_search_locations[0])
                if any((path / sign).exists() for sign in self._signs):
                    yield f"{name}.{module.name}", path

    def load(self) -> None:
        """Import the module of every folder that has it; the checks report folders that lack it."""
        for name, path in self.folders():
            if (path / f"{self.module}.py").is_file():
                importlib.import_module(f"{name}.{self.module}")
