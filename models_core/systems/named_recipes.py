"""Every recipe that has a name: the thirty of Table 11, and those that the methods bring along."""

from collections.abc import Mapping

from models_core.estimators.base import METHODS
from models_core.systems.recipe import BadRecipe, Recipe, of_dict
from models_core.systems.table11 import TABLE_11


def named_recipes() -> Mapping[str, Recipe]:
    """By name, those of Table 11 first. Raises BadRecipe where two have one name, or one is no recipe."""
    recipes = dict(TABLE_11)
    for method in METHODS.values():
        for name, fields in method.recipes.items():
            if name in recipes:
                raise BadRecipe(
                    f"recipe {name!r} of method {method.name} has the name of another; give it a new one"
                )
            recipes[name] = of_dict(name, {"method": method.name, **fields})
    return recipes
