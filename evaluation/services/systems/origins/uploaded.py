"""Systems that were uploaded: embeddings of images and captions in one space, or their scores."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from django.utils.translation import gettext_lazy as _

from evaluation.models import Run
from evaluation.services.common import InputError
from evaluation.services.systems.examples import examples_of
from evaluation.services.systems.folders import system_folder
from evaluation.services.systems.origins.base import (
    ORIGINS,
    Matrices,
    Origin,
    RankRequest,
    captions_taking_part,
)
from models_core import storage
from models_core.storage import Stored
from phrasebox.formats.embeddings import Embeddings, scores_of
from phrasebox.formats.scores import ScoreMatrix
from phrasebox.scoring.tiles import Dense

STORED_EMBEDDINGS, STORED_SCORES = "embeddings", "scores"


def _of_embeddings(file: Path, stored: Stored) -> ScoreMatrix:
    images, captions = (
        Embeddings(file, tuple(stored.settings[f"{side}_ids"]), stored.arrays[side])
        for side in ("images", "captions")
    )
    return scores_of(images, captions, cosine=bool(stored.settings["cosine"]))


def _of_scores(file: Path, stored: Stored) -> ScoreMatrix:
    return ScoreMatrix(
        file,
        tuple(stored.settings["images_ids"]),
        tuple(stored.settings["captions_ids"]),
        Dense(stored.arrays["scores"]),
        precomputed=True,
    )


def _matrices(wish: RankRequest, *, kind: str, whole: Callable[[Path, Stored], ScoreMatrix]) -> Matrices:
    """Yield the stored scores for the requested split; raises FormatError if some are missing.

    Without a split, all stored images are ranked.
    """
    name = wish.system.corpus.name
    if wish.corpus != name:
        raise InputError(
            f"system {wish.system.name!r} has {kind} of corpus {name!r} only; upload those of {wish.corpus!r}"
        )
    dataset = examples_of(wish.corpus, pictures=False)
    images = [dataset.examples[index] for index in dataset.to_rank(wish.split, seed=wish.seed)]
    folder = system_folder(wish.system.name)
    matrix = whole(folder, storage.load_model(folder, kind))
    if not wish.split:
        covered = set(matrix.images)
        images = [image for image in images if image.name in covered]
        if not images:
            raise InputError(
                f"system {wish.system.name!r} covers no image that has a caption; upload another"
            )
    _chosen, captions = captions_taking_part(wish.protocol, images, dataset.names)
    matrix = matrix.ordered([image.name for image in images], captions)
    for direction in (Run.ANNOTATION, Run.SEARCH):
        wish.progress(f"ranking, {direction}", 0, 1)
        yield direction, matrix


ORIGINS.register(
    STORED_EMBEDDINGS,
    Origin(
        STORED_EMBEDDINGS,
        _("Embeddings"),
        _(
            "Vectors of images and captions in one space, computed elsewhere. They rank the images and "
            "captions that they cover."
        ),
        stored=STORED_EMBEDDINGS,
        matrices=partial(_matrices, kind=STORED_EMBEDDINGS, whole=_of_embeddings),
    ),
)
ORIGINS.register(
    STORED_SCORES,
    Origin(
        STORED_SCORES,
        _("Scores"),
        _(
            "A score for each image with each caption, computed elsewhere. They rank the images and "
            "captions that they cover."
        ),
        stored=STORED_SCORES,
        matrices=partial(_matrices, kind=STORED_SCORES, whole=_of_scores),
    ),
)
