"""Discovers methods: every module of this package, and `method.py` of its subpackages, registers its own."""

import pkgutil
from importlib import import_module
from importlib.util import find_spec

PACKAGE = "models_core.estimators"


def load_methods(package: str = PACKAGE) -> None:
    """Import the modules of a package that register methods. Raises ImportError if there is no such
    package."""
    imported = import_module(package)
    for module in pkgutil.iter_modules(imported.__path__, f"{package}."):
        if not module.ispkg:
            import_module(module.name)
        elif find_spec(f"{module.name}.method"):
            import_module(f"{module.name}.method")
