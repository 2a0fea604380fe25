"""The methods that tag images, by name."""

from typing import Any

from models_core.estimators.base import (
    CAPTION_NUMBERS,
    CAPTION_VIEW,
    HELD_OUT,
    IMAGE_NUMBERS,
    IMAGE_VIEW,
    TRAINING_IMAGES,
    WORDS,
    Amounts,
    add_method,
    several_values,
)
from models_core.estimators.tagging.baselines import NeighbourVotes, RandomTags, TagFrequency
from models_core.estimators.tagging.bilinear import BilinearTagger
from models_core.estimators.tagging.settings import (
    BilinearSettings,
    FrequencySettings,
    NeighbourSettings,
    RandomSettings,
    TagSVMSettings,
)
from models_core.estimators.tagging.svm import TagSVM


def bilinear_memory(settings: BilinearSettings, amounts: Amounts) -> float:
    """Return the bytes of images in double precision, the map, its moments and its best version, and the
    centres of tags."""
    numbers = amounts[IMAGE_NUMBERS]
    centres = 12.0 * numbers * amounts[WORDS]
    return 8.0 * numbers * (amounts[TRAINING_IMAGES] + 8 * amounts[CAPTION_NUMBERS]) + centres


def neighbours_memory(settings: NeighbourSettings, amounts: Amounts) -> float:
    """Return the bytes of images twice in double precision, tags in double precision and as bytes, and the
    distances of a block of images."""
    images = amounts[TRAINING_IMAGES]
    held_out = 8.0 * amounts[HELD_OUT] * (amounts[IMAGE_NUMBERS] + 2 * amounts[WORDS])
    return 8.0 * images * (2 * amounts[IMAGE_NUMBERS] + 1.25 * amounts[WORDS] + 2 * 512) + held_out


def svm_memory(settings: TagSVMSettings, amounts: Amounts) -> float:
    """Return the bytes of images and their curvature, signs and gradients of a block of tags, and classifiers
    for each cost."""
    images, numbers, tags = amounts[TRAINING_IMAGES], amounts[IMAGE_NUMBERS] + 1, amounts[WORDS]
    together = min(512, tags)
    block = 4 * images * together + 5 * numbers * together
    costs = len(settings.costs) + settings.grid_steps
    return (
        8.0 * (3 * images * numbers + 4 * numbers**2 + block + images * tags) + 4.0 * costs * numbers * tags
    )


def counts_memory(settings: Any, amounts: Amounts) -> float:
    """Return the bytes of images in double precision, and of the tags of each image."""
    return 8.0 * amounts[TRAINING_IMAGES] * (amounts[IMAGE_NUMBERS] + amounts[WORDS])


def images_memory(settings: Any, amounts: Amounts) -> float:
    """Return the bytes of images in double precision, while they are checked."""
    return 8.0 * amounts[TRAINING_IMAGES] * amounts[IMAGE_NUMBERS]


_PAPER = "structured listwise tagging"
_DIRECTED = {"normalised": True}

add_method(
    name="bilinear-tags",
    chooses=lambda settings: settings.choose_epoch or several_values(settings),
    lengths=(1e-2, 1e4),
    memory=bilinear_memory,
    title="Bilinear map of images and tags",
    settings=BilinearSettings,
    make=BilinearTagger,
    load=BilinearTagger.from_state,
    takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "tags"},
    source=f"{_PAPER}, section 3.1",
    needs_words=True,
    phases=(("learning tags", 1),),
    all_captions=True,
    recipes={
        "SJE-I": {
            "settings": {"loss": "sje-1"},
            "image": _DIRECTED,
            "printed": "SJE, Delta I",
        },
        "SJE-II": {
            "settings": {"loss": "sje-2"},
            "image": _DIRECTED,
            "printed": "SJE, Delta II",
        },
        "ListSJE": {
            "settings": {"loss": "listwise"},
            "image": _DIRECTED,
            "printed": "ListSJE",
        },
    },
    predicts="tags",
)
add_method(
    name="tag-neighbours",
    memory=neighbours_memory,
    title="Votes of similar images for their tags",
    settings=NeighbourSettings,
    make=NeighbourVotes,
    load=NeighbourVotes.from_state,
    takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "tags"},
    source=f"{_PAPER}, section 4.3",
    phases=(("trying neighbours", 1),),
    all_captions=True,
    recipes={"Tag-neighbours": {"image": _DIRECTED, "printed": "as TagProp, without learned weights"}},
    predicts="tags",
)
add_method(
    name="tag-svm",
    lengths=(1e-2, 1e8),
    memory=svm_memory,
    title="A linear support vector machine for each tag",
    settings=TagSVMSettings,
    make=TagSVM,
    load=TagSVM.from_state,
    takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "tags"},
    source=f"{_PAPER}, section 4.3",
    phases=(("training classifiers", 1),),
    all_captions=True,
    recipes={"Tag-SVM": {"image": _DIRECTED, "printed": "SVM"}},
    predicts="tags",
)
add_method(
    name="tag-frequency",
    memory=counts_memory,
    title="The most frequent tags for every image",
    settings=FrequencySettings,
    make=TagFrequency,
    load=TagFrequency.from_state,
    takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "tags"},
    source=f"{_PAPER}, section 4.3",
    selects=False,
    phases=(("counting tags", 1),),
    all_captions=True,
    recipes={"Tag-frequency": {}},
    predicts="tags",
)
add_method(
    name="tag-random",
    memory=images_memory,
    title="Tags in a random order",
    settings=RandomSettings,
    make=RandomTags,
    load=RandomTags.from_state,
    takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "tags"},
    source=f"{_PAPER}, Figure 3 (random ranker)",
    selects=False,
    phases=(("remembering the seed", 1),),
    all_captions=True,
    recipes={"Tag-random": {}},
    predicts="tags",
)
