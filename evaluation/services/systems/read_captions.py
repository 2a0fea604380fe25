"""Captions in the forms that some recipes need besides their text: parsed, tagged, or by name."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version

from annotation.selectors.corpora import corpus_named
from evaluation.services.common import phase_cache
from evaluation.services.features.store import feature_set
from evaluation.services.systems.examples import Examples, with_caption_names, with_edges
from evaluation.services.systems.sources import Sources
from evaluation.services.tags.reading import TagReader
from models_core.features.text.tags import TagPosition, TagUnit
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
#: Increase this when the cached form of captions changes.
_FORM = 1
_TOGETHER = 50  # images between two progress reports


def as_read(dataset: Examples, recipe: Recipe, sources: Sources, progress: PhaseProgress) -> Examples:
    """Add to the examples what `recipe` reads of captions besides their text. Raises as its reader does."""
    reader = _READERS.get(recipe.reads)
    return dataset if reader is None else reader(dataset, recipe, sources, progress)


def with_tags(dataset: Examples, unit: TagUnit, progress: PhaseProgress) -> Examples:
    """Add the tags of each caption, which are cached; captions marked as unrelated to their image have
    none."""
    texts = [list(item.captions) for item in dataset.examples]
    unrelated = _unrelated(dataset)

    def read() -> PhaseArrays:
        reader, tags = TagReader(unit), []
        for index, texts_of_image in enumerate(texts):
            if index % _TOGETHER == 0:
                progress(_PHASE, index, len(texts))
            tags_of_captions = [
                [] if out else [item.token for item in reader.tags(tokenise(text))]
                for text, out in zip(texts_of_image, unrelated[index], strict=True)
            ]
            tags.append(tags_of_captions)
        return {"tags": to_json_array(tags)}

    settings = {
        "captions": digest_of_parts([texts, unrelated]),
        "unit": unit,
        "form": _FORM,
        "HanTa": version("HanTa"),
    }
    tags_of_images = from_json_array(phase_cache(progress).arrays(_PHASE, settings, read)["tags"])
    examples = tuple(
        replace(item, tags=tuple(tuple(map(TagPosition.of_token, caption)) for caption in texts_of_image))
        for item, texts_of_image in zip(dataset.examples, tags_of_images, strict=True)
    )
    return replace(dataset, examples=examples)


def _unrelated(dataset: Examples) -> list[list[bool]]:
    """Return, for each caption of each example, whether it is marked as unrelated to its image."""
    names = dataset.names
    out = set(
        corpus_named(dataset.corpus)
        .images.filter(captions__unrelated=True)
        .values_list("captions__pk", flat=True)
    )
    of_image: dict[int, list[int]] = {}
    for pk in sorted(names.owner, key=lambda pk: (names.owner[pk], names.number[pk])):
        of_image.setdefault(names.owner[pk], []).append(pk)
    return [[pk in out for pk in of_image[names.image[example.name]]] for example in dataset.examples]


def _with_names(dataset: Examples, sources: Sources) -> Examples:
    return with_caption_names(dataset, frozenset(feature_set(dataset.corpus, sources.text).ids()))


_READERS: Mapping[CaptionForm, Callable[[Examples, Recipe, Sources, PhaseProgress], Examples]] = {
    "edges": lambda examples, recipe, sources, progress: with_edges(examples),
    "names": lambda examples, recipe, sources, progress: _with_names(examples, sources),
    "tags": lambda examples, recipe, sources, progress: with_tags(examples, recipe.text.unit, progress),
}
