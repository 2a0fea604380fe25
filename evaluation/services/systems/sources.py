"""The files that a training reads besides the corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, OperationContext, ServerFile, invalid
from evaluation.formats.arrays import SUFFIXES
from evaluation.services.features.store import FeatureKind, feature_set, is_label
from models_core.estimators.base import CAPTION_VIEW, IMAGE_VIEW
from models_core.systems.recipe import BadRecipe, Recipe

#: Field of the sources -> the kind of set that it names.
SET_KINDS: Mapping[str, FeatureKind] = {
    "features": "image",
    "regions": "region",
    "words": "word",
    "text": "caption",
}


_VECTOR_FILES = ServerFile("features", SUFFIXES)
_ID_FILES = ServerFile("features", (".txt",))
_LEMMA_FILES = ServerFile("lemmas", (".txt",))
_Label = Annotated[str, Field(max_length=200)]
#: Fields of requests about what is known of a corpus's images and captions.
FeaturesField = Annotated[
    str,
    Field(max_length=1000),
    Help(_("Vectors of images"), _("A feature set, or a file of vectors, in place of visual words")),
]
FeatureIdsField = Annotated[
    Annotated[str, _ID_FILES] | None,
    Help(_("Ids of the vectors"), _("Names of the images of a file of vectors, one on each line")),
]
LemmasField = Annotated[
    Annotated[str, _LEMMA_FILES] | None,
    Help(_("Lemmatised captions"), _("A file such as Flickr8k.lemma.token.txt")),
]
RegionsField = Annotated[_Label, Help(_("Regions of images"), _("A feature set"))]
TextField = Annotated[_Label, Help(_("Vectors of captions"), _("A feature set"))]


@dataclass(frozen=True, slots=True)
class Sources:
    """What a training reads besides the corpus: files of the user's.

    `background` are texts, a sentence a line; `features` is a feature set of the corpus, or a file of vectors
    of images, whose ids `ids` lists; `lemmas` the captions as their corpus lemmatises them, in Flickr8k's
    format. `regions`, `words` and `text` (vectors of captions) are feature sets of the corpus; `layer` is a
    layer of it, whose mentions are what is said of regions.
    """

    background: tuple[str, ...] = ()
    wordnet: str = ""
    features: str = ""
    ids: str = ""
    lemmas: str = ""
    regions: str = ""
    words: str = ""
    layer: str = ""
    text: str = ""

    @property
    def sets(self) -> dict[str, str]:
        """Its feature sets, by the field that names them."""
        named = {field: getattr(self, field) for field in SET_KINDS}
        return {
            field: name for field, name in named.items() if name and (field != "features" or is_label(name))
        }

    def settled(self, corpus: str) -> Sources:
        """The same with the versions of its feature sets; raises UnknownName where there is none, and
        ValueError for one of another kind than it is to be."""
        found = {field: feature_set(corpus, name) for field, name in self.sets.items()}
        for field, own in found.items():
            if own.kind != SET_KINDS[field]:
                raise ValueError(
                    f"feature set {own.label!r} is of {own.kind}s; give one of {SET_KINDS[field]}s"
                )
        labels = {field: own.label for field, own in found.items()}
        return replace(
            self,
            features=labels.get("features", self.features),
            regions=labels.get("regions", ""),
            words=labels.get("words", ""),
            text=labels.get("text", ""),
        )


def item_sources(request: Any, context: OperationContext) -> dict[str, Any]:
    """What a request says of images and captions, as fields of Sources: files by their whole paths, since a
    system remembers them. Raises Invalid for vectors of images that are no file of the server's."""
    features = request.features
    of_file = bool(features) and (not is_label(features) or (context.by_path and Path(features).exists()))
    if of_file and not context.by_path and features not in (known := _VECTOR_FILES.names()):
        known_names = ", ".join(known)
        raise invalid(
            "features",
            "unknown_of" if known else "unknown",
            kind=_("file"),
            value=features[:100],
            known=known_names,
        )
    return {
        "features": _whole_path(_VECTOR_FILES, features, context) if of_file else features,
        "ids": _whole_path(_ID_FILES, request.feature_ids, context),
        "lemmas": _whole_path(_LEMMA_FILES, request.lemmas, context),
        "regions": request.regions,
        "text": request.text,
    }


def _whole_path(files: ServerFile, name: str | None, context: OperationContext) -> str:
    return "" if name is None else str(files.path(name, by_path=context.by_path).resolve())


def check_sets(recipe: Recipe, sources: Sources) -> None:
    """Raise BadRecipe for regions or word vectors that the recipe would not look at, or that it lacks.

    It says so before anything is read.
    """
    takes = recipe.kind.takes
    if takes[IMAGE_VIEW] == "regions" and not (sources.regions or sources.features):
        raise BadRecipe(
            f"recipe {recipe.name!r} is for regions of images, or for whole images as vectors; give "
            "--regions or --features"
        )
    of_phrases = takes[CAPTION_VIEW] == "phrases"
    if of_phrases and not sources.words:
        raise BadRecipe(
            f"recipe {recipe.name!r} describes phrases by word vectors; give --words SET "
            "(train_word_vectors makes one)"
        )
    of_regions = recipe.kind.items == "regions"
    grounded = recipe.kind.grounding != "none"
    if grounded and not (sources.features and sources.regions and sources.layer):
        raise BadRecipe(
            f"recipe {recipe.name!r} learns from whole images, and from regions with phrases; give "
            "--features of the images, --regions SET (extract_regions --method gold makes one of the same "
            "numbers), and --layer with mentions and boxes"
        )
    if grounded:
        return
    if of_regions and not (sources.regions and sources.layer):
        raise BadRecipe(
            f"recipe {recipe.name!r} learns what is said of regions; give --regions SET, and --layer with "
            "mentions of theirs (extract_regions --method gold makes regions of a layer's boxes, "
            "decode_alignments a layer of regions)"
        )
    if sources.layer and not of_regions:
        raise BadRecipe(f"recipe {recipe.name!r} does not look at layers; give none")
    if sources.regions and takes[IMAGE_VIEW] != "regions" and not of_regions:
        raise BadRecipe(f"recipe {recipe.name!r} does not look at regions; give none")
    of_names = takes[CAPTION_VIEW] == "given"
    if of_names and not (sources.features and sources.text):
        raise BadRecipe(
            f"recipe {recipe.name!r} compares given vectors of images and of captions; give --features SET "
            "and --text SET (import_features --kind caption makes one)"
        )
    if sources.text and not of_names:
        raise BadRecipe(f"recipe {recipe.name!r} does not look at vectors of captions; give none")
    if recipe.kind.needs_words and not sources.words:
        raise BadRecipe(
            f"recipe {recipe.name!r} compares images with word vectors; give --words SET "
            "(train_word_vectors makes one of the corpus's captions)"
        )
    if sources.words and not of_phrases and takes[CAPTION_VIEW] not in ("words", "edges", "tags"):
        raise BadRecipe(f"recipe {recipe.name!r} does not begin with word vectors; give none")
