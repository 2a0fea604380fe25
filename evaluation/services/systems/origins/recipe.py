"""Systems trained here by a recipe: they rank by kernels of new items with the training items."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext_lazy as _

from evaluation.models import Run
from evaluation.services.common import InputError, phase_cache
from evaluation.services.features.store import is_label
from evaluation.services.systems.described_alike import check_described_alike
from evaluation.services.systems.examples import caption_vectors_of, examples_from
from evaluation.services.systems.folders import system_folder
from evaluation.services.systems.origins.base import (
    ORIGINS,
    Matrices,
    Origin,
    RankRequest,
    captions_taking_part,
)
from evaluation.services.systems.parts import parts_of
from evaluation.services.systems.read_captions import as_read
from evaluation.services.systems.sources import Sources
from evaluation.services.systems.training_images import check_not_learned_from
from models_core.estimators.base import DIRECTIONS
from models_core.systems.dataset import prepare
from models_core.systems.trained_system import SYSTEM_KIND, TrainedSystem, check_predicts
from phrasebox.formats.scores import ScoreMatrix
from phrasebox.kernels.idf import Document
from phrasebox.scoring import ranking
from phrasebox.scoring.tiles import Dense, Scores

#: Sources of a training that its rankings read again, to look up images and captions.
REMEMBERED_FILES = ("features", "ids", "lemmas", "regions", "text")


def _matrices(wish: RankRequest) -> Matrices:
    """Yield scores made from ranks, since a system's scores are not comparable between queries."""
    name, corpus = wish.system.name, wish.corpus
    stored, sources = TrainedSystem.load(system_folder(name)), wish.sources
    check_predicts(stored.recipe, "rankings")
    if sources is None:
        # Another corpus has other images and captions.
        known = stored.metadata if corpus == stored.metadata["corpus"] else _sets_of_names(stored)
        remembered: dict[str, Any] = {key: known.get(key, "") for key in REMEMBERED_FILES}
        sources = Sources(**remembered)
    if stored.recipe.image.of_vectors and not (sources.features or sources.regions):
        raise InputError(
            f"system {name!r} was trained on a feature file; give a feature file for the images of corpus "
            f"{corpus!r}"
        )
    if stored.recipe.reads == "names":
        if not sources.text:
            raise InputError(
                f"system {name!r} compares given vectors; give a feature set of the captions of corpus "
                f"{corpus!r} too"
            )
        sources = sources.settled(corpus)
        stored = stored.reading(caption_vectors_of(corpus, sources.text))
    grounded = stored.recipe.kind.grounding == "ranking"
    if grounded:
        remembered = {key: str(stored.metadata.get(key, "")) for key in (*REMEMBERED_FILES, "layer")}
        explicit_labels = {key: getattr(sources, key) for key in remembered if getattr(sources, key)}
        sources = Sources(
            **{**(remembered if corpus == stored.metadata["corpus"] else {}), **explicit_labels}
        )
    elif stored.recipe.kind.grounding == "training":
        sources = replace(sources, regions="")
    notes = check_described_alike(name, stored.metadata, corpus, sources)
    seen = examples_from(corpus, replace(sources, regions="") if grounded else sources)
    dataset = as_read(seen, stored.recipe, sources, wish.progress)
    places = dataset.to_rank(wish.split, seed=wish.seed)
    check_not_learned_from(stored, name, dataset, places, wish.split)
    images = [dataset.examples[index] for index in places]
    material = prepare(
        images,
        cache=phase_cache(wish.progress),
        codebooks=stored.codebooks,
        vectors=dataset.described(places),
        reads=stored.recipe.reads,
    )
    chosen, captions = captions_taking_part(wish.protocol, images, dataset.names)
    documents: list[Document] = [[caption] for texts in material.documents() for caption in texts]
    data = stored.describe(material.features, [documents[index] for index in chosen])
    if grounded:
        regions, phrases, caption_of = parts_of(corpus, sources, images, captions)
        data = stored.with_parts(data, regions, phrases, caption_of)
    for direction in DIRECTIONS:
        wish.progress(f"ranking, {direction}", 0, 1)
        scores = stored.score(data, direction=direction)
        if not stored.recipe.kind.comparable:
            scores = _below(scores)
        of_images = scores if direction == Run.ANNOTATION else scores.turned()
        names = tuple(material.names)
        yield direction, ScoreMatrix(system_folder(name), names, captions, of_images, notes=notes)


def _sets_of_names(stored: TrainedSystem) -> Mapping[str, str]:
    """Return the names of the sets from which a system of given vectors was made: another corpus has sets of
    the same space under the same names. Empty for other systems."""
    if stored.recipe.reads != "names":
        return {}
    named = {key: str(stored.metadata.get(key, "")) for key in ("features", "text")}
    return {key: label.partition(":")[0] for key, label in named.items() if is_label(label)}


def _below(scores: Scores) -> Dense:
    """Score each item by the number of its query's items ranked below it: the system's own values are not
    comparable between queries."""
    queries, items = scores.shape
    return Dense(items - ranking.positions(scores.tile(slice(0, queries), slice(0, items))))


ORIGINS.register(
    "recipe",
    Origin(
        "recipe",
        _("Trained by a recipe"),
        _("Trained here on images and captions of a corpus. It can rank new images and captions."),
        stored=SYSTEM_KIND,
        matrices=_matrices,
    ),
)
