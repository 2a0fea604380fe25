"""What a stored system makes of a corpus's images and captions: runs in the database and TREC files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluation.formats.scores import ScoreMatrix
from evaluation.metrics.protocols import select
from evaluation.models import Run
from evaluation.selectors import Names
from evaluation.services.runs import DEPTH, Made, best_of, store_run, write_file
from evaluation.services.systems import Sources, examples_from, folder_of, kept, system_named
from evaluation.services.writing import ImportRefused, check_name
from models_core import ranking, storage
from models_core.recipes.kept import Progress, no_progress
from models_core.recipes.material import CountedWords, Example, Material, Vectors, prepare
from models_core.retrieval.selection import DIRECTIONS
from models_core.text.idf import Document
from models_core.tiles import Dense

#: What runs that our systems made have for their format.
FORMAT = "system"
ONE_CAPTION = "one caption"


@dataclass(frozen=True, slots=True)
class Ranked:
    """One direction of a ranking: the run's name, how many asked and were ranked, the file or "".

    `stored`: it stands in the database; `unchanged`: it stood there already.
    """

    run: str
    direction: str
    queries: int
    items: int
    file: str
    stored: bool
    unchanged: bool


def rank(
    *,
    system: str,
    split: str,
    corpus: str = "",
    run: str = "",
    protocol: str = ONE_CAPTION,
    depth: int = DEPTH,
    out: Path | None = None,
    database: bool = True,
    sources: Sources | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> list[Ranked]:
    """Rank images and captions of `split` by a stored system, in both directions.

    The runs are called `run` (default: the system's name) with the direction behind, kept in the
    database, and with `out` written there as new TREC files. `corpus` is the one it was trained on by
    default, and so are features and lemmas of that one. Scores are numbers of places, since others do
    not compare. Raises UnknownName, ImportRefused, FormatError, Busy, ValueError.
    """
    stored = system_named(system)
    corpus = corpus or str(stored.facts["corpus"])
    if sources is None:
        # Another corpus has other images and captions.
        known = stored.facts if corpus == stored.facts["corpus"] else {}
        sources = Sources(**{key: known.get(key, "") for key in ("features", "ids", "lemmas")})
    if isinstance(stored.features, Vectors) and not sources.features:
        raise ImportRefused(
            f"system {system!r} is of a feature file; give one of the images of corpus {corpus!r}"
        )
    found = examples_from(corpus, sources)
    places = found.chosen(split, seed=seed)
    images = [found.examples[place] for place in places]
    name = run or system
    check_name(f"{name}-annotation", "run")
    material = prepare(
        images,
        kept=kept(progress),
        codebooks=stored.features.codebooks if isinstance(stored.features, CountedWords) else None,
        vectors=None if found.vectors is None else found.vectors[places],
    )
    documents, captions = _captions(material, images, found.names, protocol)
    kernels = stored.kernels(material.features, documents)
    reports = []
    for direction in DIRECTIONS:
        progress(f"ranking, {direction}", 0, 1)
        scores = stored.scores(*kernels, direction=direction)
        of_images = direction == Run.ANNOTATION
        asks, ranked = (material.names, captions) if of_images else (captions, material.names)
        below = len(ranked) - ranking.positions(scores if of_images else scores.T)
        matrix = ScoreMatrix(
            folder_of(system), material.names, tuple(captions), Dense(below if of_images else below.T)
        )
        own, file, standing = f"{name}-{direction}", "", False
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            file = str(out / f"{own}.trec")
            write_file(Path(file), name, best_of(matrix, direction, depth))
        if database:
            made = Made(
                name=own,
                direction=direction,
                system=f"{system} ({stored.recipe.name})",
                format=FORMAT,
                source=f"system {system}, {split}",
                source_digest=str(storage.read_manifest(folder_of(system))["sha256"]),
                depth=depth if depth < len(ranked) else 0,
            )
            standing = store_run(made, best_of(matrix, direction, depth), found.corpus).unchanged
        reports.append(Ranked(own, direction, len(asks), len(ranked), file, database, standing))
        progress(f"ranking, {direction}", 1, 1)
    return reports


def _captions(
    material: Material, images: Sequence[Example], names: Names, protocol: str
) -> tuple[list[Document], list[str]]:
    """The captions that take part, each an item of its own, and their names."""
    own: dict[int, list[str]] = {}
    for caption, image in names.owner.items():
        own.setdefault(image, []).append(names.caption_name[caption])
    called = [own[names.image[example.name]] for example in images]
    owner = np.repeat(np.arange(len(images)), [len(captions) for captions in called])
    chosen = select(protocol, owner, images=[example.name for example in images]).captions
    each: list[Document] = [[caption] for captions in material.documents() for caption in captions]
    every = [name for captions in called for name in captions]
    return [each[place] for place in chosen], [every[place] for place in chosen]
