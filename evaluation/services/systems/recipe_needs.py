"""What recipes are trained from besides captions, and what a corpus has of it."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from evaluation.services.features.parses import stored_parses
from evaluation.services.features.store import feature_sets
from evaluation.services.request_fields import layer_names
from evaluation.services.systems.sources import BACKGROUND_FILES, VECTOR_FILES
from evaluation.services.weak.collections import weak_collections
from models_core.estimators.base import CAPTION_VIEW, IMAGE_VIEW
from models_core.systems.recipe import Recipe

#: What recipes need, with its title.
NEEDS: Mapping[str, Any] = {
    "pictures": _("pictures"),
    "vectors": _("vectors of images"),
    "regions or vectors": _("regions or vectors of images"),
    "regions": _("regions"),
    "layer": _("a layer"),
    "captions": _("vectors of captions"),
    "words": _("word vectors"),
    "parses": _("parses of captions"),
    "background": _("a background text"),
    "weak": _("a weak collection"),
}


def needs_of(recipe: Recipe) -> list[str]:
    """Return what a recipe needs, as keys of NEEDS in their order."""
    needs = set(_needs(recipe))
    return [key for key in NEEDS if key in needs]


def _needs(recipe: Recipe) -> Iterator[str]:
    kind, captions = recipe.kind, recipe.kind.takes[CAPTION_VIEW]
    if kind.grounding != "none":
        yield from ("vectors", "regions", "layer", "words")
    elif kind.items == "regions":
        yield from ("regions", "layer")
    elif not recipe.image.of_vectors:
        yield "pictures"
    else:
        yield "regions or vectors" if kind.takes[IMAGE_VIEW] == "regions" else "vectors"
    if recipe.reads == "names":
        yield "captions"
    if recipe.reads == "edges":
        yield "parses"
    if kind.needs_words or captions == "phrases":
        yield "words"
    if recipe.text.of_background:
        yield "background"
    if kind.needs:
        yield "weak"


def present_in(corpus: Any) -> set[str]:
    """Return the keys of NEEDS that a corpus has, or that the server has for any."""
    kinds = {stored.kind for stored in feature_sets(corpus.name)}
    vectors = "image" in kinds or bool(VECTOR_FILES.names())
    there = {
        "pictures": corpus.images.exclude(picture="").exists(),
        "vectors": vectors,
        "regions or vectors": vectors or "region" in kinds,
        "regions": "region" in kinds,
        "layer": bool(layer_names(corpus)),
        "captions": "caption" in kinds,
        "words": "word" in kinds,
        "parses": stored_parses(corpus.name) is not None,
        "background": bool(BACKGROUND_FILES.names()),
        "weak": bool(weak_collections()),
    }
    return {key for key, has in there.items() if has}
