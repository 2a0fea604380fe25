"""Captions of examples as recipes read them that read more than their text: parsed, tagged, or by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version

from annotation.selectors.corpora import corpus_named
from evaluation.services.common import phase_cache
from evaluation.services.features.store import feature_set
from evaluation.services.systems.examples import Examples, with_caption_names, with_edges
from evaluation.services.systems.sources import Sources
from evaluation.services.tags.reading import TagReader
from models_core.features.text.tags import TagPlace, TagUnit
from models_core.phase_cache import (
    PhaseArrays,
    PhaseProgress,
    digest_of_parts,
    from_json_array,
    to_json_array,
)
from models_core.systems.recipe import Recipe
from models_core.systems.side_settings import CaptionForm
from phrasebox.text.tokens import tokenise

_PHASE = "reading tags"
#: Raised where what is kept of captions read before is no longer the same.
_FORM = 1
_TOGETHER = 50  # images between two words of progress


def as_read(found: Examples, recipe: Recipe, sources: Sources, progress: PhaseProgress) -> Examples:
    """The examples with what `recipe` reads of captions besides their text. Raises as its reader does."""
    reader = _READERS.get(recipe.reads)
    return found if reader is None else reader(found, recipe, sources, progress)


def with_tags(found: Examples, unit: TagUnit, progress: PhaseProgress) -> Examples:
    """The same with the tags of each caption, kept once they are read; captions whose authors say that they
    do not describe their image have none."""
    texts = [list(one.captions) for one in found.examples]
    unrelated = _unrelated(found)

    def read() -> PhaseArrays:
        reader, tags = TagReader(unit), []
        for place, own in enumerate(texts):
            if place % _TOGETHER == 0:
                progress(_PHASE, place, len(texts))
            said = [
                [] if out else [one.token for one in reader.tags(tokenise(text))]
                for text, out in zip(own, unrelated[place], strict=True)
            ]
            tags.append(said)
        return {"tags": to_json_array(tags)}

    facts = {
        "captions": digest_of_parts([texts, unrelated]),
        "unit": unit,
        "form": _FORM,
        "HanTa": version("HanTa"),
    }
    kept = from_json_array(phase_cache(progress).arrays(_PHASE, facts, read)["tags"])
    examples = tuple(
        replace(one, tags=tuple(tuple(map(TagPlace.of_token, caption)) for caption in own))
        for one, own in zip(found.examples, kept, strict=True)
    )
    return replace(found, examples=examples)


def _unrelated(found: Examples) -> list[list[bool]]:
    """Of each caption of each example whether its authors say that it does not describe its image."""
    names = found.names
    out = set(
        corpus_named(found.corpus)
        .images.filter(captions__unrelated=True)
        .values_list("captions__pk", flat=True)
    )
    of_image: dict[int, list[int]] = {}
    for pk in sorted(names.owner, key=lambda pk: (names.owner[pk], names.number[pk])):
        of_image.setdefault(names.owner[pk], []).append(pk)
    return [[pk in out for pk in of_image[names.image[one.name]]] for one in found.examples]


def _with_names(found: Examples, sources: Sources) -> Examples:
    return with_caption_names(found, frozenset(feature_set(found.corpus, sources.text).ids()))


_READERS: Mapping[CaptionForm, Callable[[Examples, Recipe, Sources, PhaseProgress], Examples]] = {
    "edges": lambda found, recipe, sources, progress: with_edges(found),
    "names": lambda found, recipe, sources, progress: _with_names(found, sources),
    "tags": lambda found, recipe, sources, progress: with_tags(found, recipe.text.unit, progress),
}
