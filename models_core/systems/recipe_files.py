"""Recipes by name (the thirty of Table 11 and those of methods), or from a TOML file, which may extend a
named one.

extends = "TRI5SEM"          # optional: without it TRI5's kernels are the defaults
name = "mine"                # default: the file's name
[text]
diagonal = 5.0
[image]
kernel = "linear"
power = 1
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from models_core.estimators.base import METHODS
from models_core.systems.recipe import BadRecipe, Recipe, of_dict
from models_core.systems.table11 import TABLE_11


def named_recipes() -> Mapping[str, Recipe]:
    """Return the recipes by name, those of Table 11 first. Raises BadRecipe for a duplicate name, and for an
    invalid recipe."""
    return _named_recipes(tuple(map(id, METHODS.values())))


@lru_cache(maxsize=1)
def _named_recipes(methods: tuple[int, ...]) -> Mapping[str, Recipe]:
    """Return the recipes of these methods: cached until a method is added."""
    recipes = dict(TABLE_11)
    for method in METHODS.values():
        for name, fields in method.recipes.items():
            if name in recipes:
                raise BadRecipe(
                    f"recipe {name!r} of method {method.name} has the name of another; give it a new one"
                )
            recipes[name] = of_dict(name, {"method": method.name, **fields})
    return MappingProxyType(recipes)


#: Appended to the name of a recipe whose settings were changed.
_CHANGED = " (changed)"
_NAME = re.compile(r"[-+\w.]{1,100}")


def recipe_of(name: str) -> Recipe:
    """Return the recipe called `name`, or that of the TOML file at this path. Raises BadRecipe."""
    known = named_recipes()
    if name in known:
        return known[name]
    if Path(name).suffix == ".toml":
        return _read(Path(name))
    raise BadRecipe(f"unknown recipe {name!r}; known: {', '.join(known)}, or a file NAME.toml")


def changed_recipe(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """Return the recipe with other settings, "table.setting" -> value; its name says that it was changed.

    Raises BadRecipe for an unknown setting, and for an invalid value.
    """
    if not changes:
        return recipe
    values: dict[str, dict[str, Any]] = {}
    for key, value in changes.items():
        table, dot, setting = key.partition(".")
        if not dot or not setting:
            raise BadRecipe(
                f"recipe {recipe.name!r} has no {key!r}; expected a setting such as text.captions"
            )
        values.setdefault(table, {})[setting] = value
    changed = of_dict(f"{recipe.name}{_CHANGED}", values, recipe)
    return recipe if changed.digest == recipe.digest else replace(changed, printed="")


def _read(file: Path) -> Recipe:
    """Return the recipe of a TOML file; raises BadRecipe naming it."""
    try:
        with file.open("rb") as stream:
            document = tomllib.load(stream)
    except OSError as error:
        raise BadRecipe(f"recipe file {file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BadRecipe(f"recipe file {file} is not valid TOML: {error}") from error
    base, name = document.pop("extends", None), document.get("name", file.stem)
    known = named_recipes()
    if base is not None and base not in known:
        raise BadRecipe(f"{file}: extends {base!r}; known: {', '.join(known)}")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadRecipe(f"{file}: name is {name!r}; expected letters, digits, hyphens, dots or pluses")
    if name in known:
        raise BadRecipe(f"{file}: {name!r} is a recipe that there is already; give yours another name")
    return of_dict(name, document, known[base] if base is not None else None)
