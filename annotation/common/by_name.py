"""Functions by their dotted names, imported when they are called, and what apps declare so.

A process imports only what it uses: `manage.py import_corpus` no numerical library. An app declares its
parts of other apps' work as attributes of its AppConfig, such as `corpus_uses` of `evaluation.apps`.
"""

from collections.abc import Callable, Iterator
from typing import Any

from django.apps import apps
from django.utils.module_loading import import_string


def function_named(name: str) -> Callable[..., Any]:
    """Return a function that imports the function `name` ("package.module.function") and calls it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return import_string(name)(*args, **kwargs)

    call.__name__ = name.rpartition(".")[2]
    return call


def declared_by_apps(attribute: str) -> Iterator[Any]:
    """Yield the entries of an attribute of all AppConfigs, a tuple where an app has it."""
    for config in apps.get_app_configs():
        yield from getattr(config, attribute, ())
