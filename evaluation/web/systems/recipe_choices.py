"""Recipes as choices of a form: grouped by paper, those that can be trained now first, the others with what
they lack."""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.services.systems.recipe_needs import NEEDS, needs_of, present_in
from evaluation.services.systems.training_requests import RECIPE_FILES
from models_core.systems.recipe import BadRecipe, Recipe
from models_core.systems.recipe_files import named_recipes, recipe_of

#: Titles of methods that German has words for; those of others are names.
_TITLES = {"nearest neighbours": gettext_lazy("nearest neighbours")}


def recipe_choices(corpora: Sequence[Any], chosen: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return groups of choices for a chosen corpus, else the first: the user's own recipes, and the named
    ones under the paper of their method.

    A group with a recipe that the corpus has everything for comes before the others, and in a group these
    recipes do. Of the others the first thing said is what they lack, since lists cut the end.
    """
    named = named_recipes()
    corpus = next((corpus for corpus in corpora if corpus.name == chosen), next(iter(corpora), None))
    there = set[str]() if corpus is None else present_in(corpus)
    groups: dict[str, list[tuple[bool, str, str]]] = {}
    for file in RECIPE_FILES.names():
        if file not in named:
            own = recipe_named(file)
            line = (False, file, _("cannot be read")) if own is None else _choice(file, own, there)
            groups.setdefault(_("Your recipes"), []).append(line)
    for recipe in named.values():
        groups.setdefault(recipe.kind.paper, []).append(_choice(recipe.name, recipe, there))
    in_order = sorted(groups.items(), key=lambda group: not any(ready for ready, *_rest in group[1]))
    return [
        (title, [(name, f"{name} – {words}") for ready, name, words in sorted(lines, key=lambda x: not x[0])])
        for title, lines in in_order
    ]


def recipe_named(name: str) -> Recipe | None:
    """Return a recipe that pages list; None if it cannot be read, or does not exist."""
    if name not in named_recipes() and name not in RECIPE_FILES.names():
        return None
    try:
        return recipe_of(name if name in named_recipes() else str(RECIPE_FILES.path(name, by_path=False)))
    except BadRecipe:
        return None


def _choice(name: str, recipe: Recipe, there: set[str]) -> tuple[bool, str, str]:
    """Return whether a recipe can be trained now, its name, and its description."""
    missing = [need for need in needs_of(recipe) if need not in there]
    lacks = _("lacks %(needs)s") % {"needs": ", ".join(str(NEEDS[need]) for need in missing)}
    return not missing, name, "; ".join([*([lacks] if missing else ()), _in_words(recipe)])


def _in_words(recipe: Recipe) -> str:
    """Describe a recipe in one line."""
    text = recipe.text
    parts = [
        str(_TITLES.get(recipe.kind.title, recipe.kind.title)),
        *([recipe.printed] if recipe.kind.recipes and recipe.printed else ()),
        _text_in_words(text),
        *text.parts,
    ]
    if text.similarities:
        parts.append(_("similar words by %(measures)s") % {"measures": ", ".join(text.similarities)})
    parts.append(_("image: %(kernel)s") % {"kernel": recipe.image.kernel})
    return "; ".join(parts)


def _text_in_words(text: Any) -> str:
    """Return how captions are described, and how many of each image."""
    named = {"kernel": text.kernel, "captions": text.captions}
    if not text.captions:
        return _("text: %(kernel)s of all captions") % named
    if text.captions > 1:
        return _("text: %(kernel)s of %(captions)d captions") % named
    return _("text: %(kernel)s of one caption") % named
