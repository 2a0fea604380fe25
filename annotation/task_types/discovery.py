"""Discovery of task types: a folder for each kind of question, in this package and in those that a site adds.

A kind's folder contains `rules.py` (pure), `type.py` (pages and forms), `practice.py`, `simulate.py`,
`task.html`, `sign.svg`, and `instructions.txt` in each language. `rules`, `type`, `practice` and `simulate`
register their definitions on import; `load_kind_modules` imports them. `annotation.checks` reports what a
kind lacks.
"""

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterable, Iterator
from pathlib import Path

#: Packages whose subpackages are kinds, in the order in which their kinds are listed.
PACKAGES: list[str] = ["annotation.task_types"]

#: The modules of a kind, each with the modules of its folder that it imports.
BUILDS_UPON: dict[str, tuple[str, ...]] = {
    "rules": (),
    "type": ("rules",),
    "practice": ("rules", "type"),
    "simulate": ("rules",),
}


def add_packages(names: Iterable[str]) -> None:
    """Add packages with kinds (settings.TASK_TYPE_PACKAGES); known ones are ignored."""
    PACKAGES.extend(name for name in names if name not in PACKAGES)


def folders() -> Iterator[tuple[str, Path]]:
    """Yield the (dotted name, path) of every kind's folder: a subpackage with `rules.py` or `type.py`."""
    for name in PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.iter_modules(package.__path__):
            if not module.ispkg:
                continue
            spec = importlib.util.find_spec(f"{name}.{module.name}")
            assert spec is not None and spec.submodule_search_locations
            path = Path(spec.submodule_search_locations[0])
            if any((path / f"{part}.py").exists() for part in ("rules", "type")):
                yield f"{name}.{module.name}", path


def kind_folder(kind: str) -> Path | None:
    """Return the folder of the kind of that name; None if there is none."""
    return next((path for name, path in folders() if name.rpartition(".")[2] == kind), None)


def instructions_file(language: str = "") -> str:
    """Return the name of the file with workers' instructions, in English or in another language ("de")."""
    return f"instructions.{language}.txt" if language else "instructions.txt"


def can_load(folder: Path, part: str) -> bool:
    """Whether a kind's folder has the module `part`, and those that it imports."""
    return all((folder / f"{module}.py").is_file() for module in (*BUILDS_UPON[part], part))


def load_kind_modules(part: str) -> None:
    """Import the module `part` of every kind's folder that has it, and the modules that it imports.

    Incomplete folders are skipped here: `annotation.checks` reports what is missing, which requires that
    Django starts.
    """
    for name, path in folders():
        if can_load(path, part):
            importlib.import_module(f"{name}.{part}")
