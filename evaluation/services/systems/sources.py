"""The files and feature sets that a training reads besides the corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import FieldError, Help, Invalid, OperationContext, ServerFile, invalid
from evaluation.services.features.store import FeatureKind, feature_set, is_label
from evaluation.services.request_fields import LayerField
from models_core.estimators.base import CAPTION_VIEW, IMAGE_VIEW
from models_core.systems.recipe import Recipe
from phrasebox.formats.arrays import SUFFIXES

#: Field of the sources -> the kind of feature set that it names.
SET_KINDS: Mapping[str, FeatureKind] = {
    "features": "image",
    "regions": "region",
    "words": "word",
    "text": "caption",
}


#: Files on the server that a training reads directly; others have to become a feature set first.
VECTOR_FILES = ServerFile("features", SUFFIXES)
_ID_FILES = ServerFile("features", (".txt",))
_LEMMA_FILES = ServerFile("lemmas", (".txt",))
BACKGROUND_FILES = ServerFile("background", (".txt",))
_WORDNET = ServerFile("wordnet", ())
_Label = Annotated[str, Field(max_length=200)]
#: Request fields about features of a corpus's images and captions.
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
CaptionFeaturesField = Annotated[_Label, Help(_("Vectors of captions"), _("A feature set"))]
WordsField = Annotated[_Label, Help(_("Word vectors"), _("A feature set that the training begins with"))]
MentionsField = Annotated[LayerField, Help(_("Layer"), _("Its mentions are what is said of regions"))]
BackgroundField = Annotated[
    tuple[Annotated[str, BACKGROUND_FILES], ...],
    Help(_("Background texts"), _("One sentence on each line, in place of the BNC")),
]
WordNetField = Annotated[
    Annotated[str, _WORDNET] | None,
    Help(_("WordNet"), _("The folder of WordNet 3.0's noun files; else Debian's")),
]
DeviceField = Annotated[
    str, Field(max_length=20), Help(_("Device"), _("cpu, cuda, or one of several such as cuda:0"))
]


@dataclass(frozen=True, slots=True)
class Sources:
    """What a training reads besides the corpus: the user's files and sets.

    `background` are texts, one sentence per line; `features` is a feature set of the corpus, or a file of
    vectors of images, whose ids are in `ids`; `lemmas` the captions with their corpus's lemmas, in Flickr8k's
    format. `regions`, `words` and `text` (vectors of captions) are feature sets of the corpus; `layer` is a
    layer of it, whose mentions are the texts of regions.
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
        """Return the same with explicit versions of its feature sets; raises UnknownName for a missing set,
        and ValueError for one of the wrong kind."""
        sets = {field: feature_set(corpus, name) for field, name in self.sets.items()}
        for field, stored in sets.items():
            if stored.kind != SET_KINDS[field]:
                raise ValueError(
                    f"feature set {stored.label!r} is of {stored.kind}s; give one of {SET_KINDS[field]}s"
                )
        labels = {field: stored.label for field, stored in sets.items()}
        return replace(
            self,
            features=labels.get("features", self.features),
            regions=labels.get("regions", ""),
            words=labels.get("words", ""),
            text=labels.get("text", ""),
        )


def training_sources(request: Any, context: OperationContext) -> Sources:
    """Return the files and sets that a training request names; raises as `item_sources`."""
    by_path = context.by_path
    return Sources(
        background=tuple(
            str(BACKGROUND_FILES.path(name, by_path=by_path).resolve()) for name in request.background
        ),
        wordnet=_whole_path(_WORDNET, request.wordnet, context),
        words=request.words,
        layer=request.layer,
        **item_sources(request, context),
    )


def wordnet_folder(name: str, context: OperationContext) -> Path:
    """Return the folder of WordNet's noun files that a request names."""
    return _WORDNET.path(name, by_path=context.by_path)


def item_sources(request: Any, context: OperationContext) -> dict[str, Any]:
    """Return a request's data about images and captions as fields of Sources: files by their absolute paths,
    since a system remembers them. Raises Invalid for image vectors that are no file on the server."""
    features = request.features
    of_file = bool(features) and (not is_label(features) or (context.by_path and Path(features).exists()))
    if of_file and not context.by_path and features not in (known := VECTOR_FILES.names()):
        known_names = ", ".join(known)
        raise invalid(
            "features",
            "unknown_of" if known else "unknown",
            kind=_("file"),
            value=features[:100],
            known=known_names,
        )
    return {
        "features": _whole_path(VECTOR_FILES, features, context) if of_file else features,
        "ids": _whole_path(_ID_FILES, request.feature_ids, context),
        "lemmas": _whole_path(_LEMMA_FILES, request.lemmas, context),
        "regions": request.regions,
        "text": request.text,
    }


def _whole_path(files: ServerFile, name: str | None, context: OperationContext) -> str:
    return "" if name is None else str(files.path(name, by_path=context.by_path).resolve())


def check_sets(recipe: Recipe, sources: Sources) -> None:
    """Raise Invalid for feature sets and layers that the recipe lacks, or does not use, before anything is
    read."""
    about = {"recipe": recipe.name}
    needed, used = _needed_and_used(recipe)
    named_fields = {
        name for name in ("features", "regions", "words", "layer", "text") if getattr(sources, name)
    }
    errors = [FieldError(name, "recipe_needs", about) for name in sorted(needed - named_fields)]
    if recipe.image.of_vectors and not (needed | named_fields) & {"features", "regions"}:
        by_regions = recipe.kind.takes[IMAGE_VIEW] == "regions"
        errors.append(FieldError("regions" if by_regions else "features", "recipe_needs", about))
    errors += [
        FieldError(name, "recipe_ignores", about) for name in sorted(named_fields - used - {"features"})
    ]
    if recipe.kind.grounding == "none" and {"features", "regions"} <= named_fields & used:
        errors.append(FieldError("features", "not_with", {"other": "regions"}))
    if errors:
        raise Invalid(*errors)


def given_sources(recipe: Recipe, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the named files and sets that a recipe uses: others may be for other recipes."""
    needed, used = _needed_and_used(recipe)
    used |= {"features", "feature_ids"} if recipe.image.of_vectors else set()
    used |= {"background"} if recipe.text.of_background else set()
    used |= {"weak"} if recipe.kind.needs else set()
    used -= set() if recipe.image.of_vectors else {"features"}
    if recipe.kind.grounding == "none" and "regions" in used and named.get("regions"):
        used -= {"features", "feature_ids"} - needed
    return {name: value for name, value in named.items() if name in used | {"lemmas", "wordnet"}}


def _needed_and_used(recipe: Recipe) -> tuple[set[str], set[str]]:
    """Return the fields of Sources that a recipe needs, and those that it uses."""
    kind, images, captions = recipe.kind, recipe.kind.takes[IMAGE_VIEW], recipe.kind.takes[CAPTION_VIEW]
    needed = {"words"} if captions == "phrases" or kind.needs_words else set[str]()
    if kind.grounding != "none":
        needed |= {"features", "regions", "layer"}
        return needed, {*needed, "words", "text"}
    if kind.items == "regions":
        needed |= {"regions", "layer"}
    if captions == "given":
        needed |= {"features", "text"}
    used = {*needed, "features", *(["regions"] if images == "regions" else [])}
    return needed, used | ({"words"} if captions in ("words", "edges", "tags") else set[str]())
