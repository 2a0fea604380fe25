"""The methods that tag images, by name."""

from __future__ import annotations

from models_core.estimators.base import CAPTION_VIEW, IMAGE_VIEW, Method, register_method
from models_core.estimators.tagging.baselines import NeighbourVotes, RandomTags, TagFrequency
from models_core.estimators.tagging.bilinear import BilinearTagger
from models_core.estimators.tagging.machines import TagMachines
from models_core.estimators.tagging.settings import (
    BilinearSettings,
    FrequencySettings,
    NeighbourSettings,
    RandomSettings,
    TagMachineSettings,
)

_PAPER = "structured listwise tagging"
_DIRECTED = {"normalised": True}

register_method(
    Method(
        name="bilinear-tags",
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
)
register_method(
    Method(
        name="tag-neighbours",
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
)
register_method(
    Method(
        name="tag-machines",
        title="A linear support vector machine for each tag",
        settings=TagMachineSettings,
        make=TagMachines,
        load=TagMachines.from_state,
        takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "tags"},
        source=f"{_PAPER}, section 4.3",
        phases=(("learning machines", 1),),
        all_captions=True,
        recipes={"Tag-SVM": {"image": _DIRECTED, "printed": "SVM"}},
        predicts="tags",
    )
)
register_method(
    Method(
        name="tag-frequency",
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
)
register_method(
    Method(
        name="tag-random",
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
)
