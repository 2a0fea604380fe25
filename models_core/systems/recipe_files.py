"""Recipes by name or from a TOML file, which may extend a named one.

extends = "TRI5SEM"          # or nothing: then TRI5's kernels are what is not said
name = "mine"                # default: the file's name
[text]
diagonal = 5.0
[image]
kernel = "linear"
power = 1
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from models_core.systems.recipe import BadRecipe, Recipe, of_dict
from models_core.systems.table11 import TABLE_11

_NAME = re.compile(r"[-+\w.]{1,100}")


def recipe_of(name: str) -> Recipe:
    """The recipe of Table 11 called `name`, or that of the TOML file at this path. Raises BadRecipe."""
    if name in TABLE_11:
        return TABLE_11[name]
    if Path(name).suffix == ".toml":
        return _read(Path(name))
    raise BadRecipe(f"unknown recipe {name!r}; known: {', '.join(TABLE_11)}, or a file NAME.toml")


def _read(file: Path) -> Recipe:
    """The recipe of a TOML file; raises BadRecipe naming it."""
    try:
        with file.open("rb") as stream:
            given = tomllib.load(stream)
    except OSError as error:
        raise BadRecipe(f"recipe file {file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BadRecipe(f"recipe file {file} is not valid TOML: {error}") from error
    base, name = given.pop("extends", None), given.get("name", file.stem)
    if base is not None and base not in TABLE_11:
        raise BadRecipe(f"{file}: extends {base!r}; known: {', '.join(TABLE_11)}")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadRecipe(f"{file}: name is {name!r}; expected letters, digits, hyphens, dots or pluses")
    if name in TABLE_11:
        raise BadRecipe(f"{file}: {name!r} is a recipe of Table 11; give yours another name")
    return of_dict(name, given, TABLE_11[base] if base is not None else None)
