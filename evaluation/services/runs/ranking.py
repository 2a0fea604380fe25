"""What a stored system makes of a corpus's images and captions: runs in the database and TREC files."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from annotation.selectors.corpora import corpus_named, split_names
from evaluation.comparison.provenance import identities_of, provenance_of, provenance_of_system
from evaluation.comparison.subsets import FOLD, OF_RUN, subset_named
from evaluation.models import Run, System
from evaluation.selectors import names_of
from evaluation.services.common import ImportRefused, check_name
from evaluation.services.runs.directions import RUN_DIRECTIONS
from evaluation.services.runs.files import (
    RUN_DEPTH,
    RunFacts,
    best_ranked,
    store_run,
    write_file,
)
from evaluation.services.systems import registry
from evaluation.services.systems.origins import ORIGINS, RankRequest
from evaluation.services.systems.origins.recipe import REMEMBERED_FILES
from evaluation.services.systems.registry import MADE_HERE
from evaluation.services.systems.sources import Sources
from models_core.phase_cache import PhaseProgress, no_progress

ONE_CAPTION = "one caption"
#: What a run of no split is said to come from.
ALL = "all images"


@dataclass(frozen=True, slots=True)
class _Ranked:
    """One direction of a ranking: the run's name, how many asked and were ranked, the file or "".

    `stored`: it stands in the database; `unchanged`: it stood there already. `remarks` say what is to be
    known of the embeddings ranked by (see `ScoreMatrix.remarks`), `provenance` what the system has seen of
    the images (see `comparison.provenance.Provenance`).
    """

    run: str
    direction: str
    queries: int
    items: int
    file: str
    stored: bool
    unchanged: bool
    provenance: dict[str, Any]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsRequest:
    """The two runs that a stored system is to make of the images of `split`.

    Without a `split` all images that can be used: those with captions and what the system needs of them,
    which is a picture, or a row of the feature file, or that the system was brought with their vectors or
    scores. The runs are called `run` (default: the system's name) with the direction behind, kept in the
    database, and with `out` written there as new TREC files. `corpus` is the one it was trained on by
    default, and so are features and lemmas of that one.
    """

    system: str
    split: str = ""
    corpus: str = ""
    run: str = ""
    protocol: str = ONE_CAPTION
    depth: int = RUN_DEPTH
    out: Path | None = None
    database: bool = True
    sources: Sources | None = None
    seed: int = 0


def rank_system(request: RunsRequest, *, progress: PhaseProgress = no_progress) -> list[_Ranked]:
    """Rank images and captions by a stored system, in both directions.

    Where both runs stand already, made by the system as it is and asked for with the same words, nothing is
    computed, unless a file decides: a list of images, features or lemmas may have been edited since. Raises
    UnknownName, ImportRefused, FormatError, Busy, ValueError.
    """
    system, split, protocol = request.system, request.split, request.protocol
    depth, out, seed = request.depth, request.out, request.seed
    row = registry.system_row(system)
    origin = ORIGINS.get(row.origin)
    if origin.matrices is None:
        raise ImportRefused(f"system {system!r} has only runs and cannot rank here; import another run")
    corpus = request.corpus or row.corpus.name
    name = request.run or system
    check_name(f"{name}-annotation", "run")
    called = f"{system} ({row.recipe or origin.key})"
    made = RunFacts(
        name="",
        direction="",
        system=called,
        format=MADE_HERE,
        source=f"system {system}, {split or ALL}{_sources_in_words(request.sources)}",
        source_digest=row.digest,
        depth=depth,
        made_by_id=row.pk,
        split=split,
        protocol=protocol,
        seed=seed,
        system_digest=row.digest,
    )
    if out is None and request.database and request.sources is None:
        standing = _standing(name, corpus, made)
        if standing and not _by_file(row, corpus, split):
            return standing
    wish = RankRequest(row, corpus, split, protocol, request.sources, seed, progress)
    reports, seen = [], None
    for direction, matrix in origin.matrices(wish):
        sides = len(matrix.images), len(matrix.captions)
        asks, ranked = sides if direction == Run.ANNOTATION else sides[::-1]
        own, file, unchanged = f"{name}-{direction}", "", False
        if seen is None:  # both directions are of the same images
            image = names_of(corpus).image
            images = identities_of(corpus_named(corpus), {image[one] for one in matrix.images})
            seen = provenance_of_system(row, images, matrix.notes).as_dict()
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            file = str(out / f"{own}.trec")
            write_file(Path(file), name, best_ranked(matrix, direction, depth))
        if request.database:
            depth_kept = _cut(depth, ranked)
            its = replace(made, name=own, direction=direction, depth=depth_kept, remarks=matrix.notes)
            unchanged = store_run(its, best_ranked(matrix, direction, depth), corpus).unchanged
        reports.append(
            _Ranked(own, direction, asks, ranked, file, request.database, unchanged, seen, matrix.remarks)
        )
        progress(f"ranking, {direction}", 1, 1)
    return reports


def _sources_in_words(sources: Sources | None) -> str:
    """What is read in the place of what the system remembers, in words."""
    given = {} if sources is None else {key: own for key, own in asdict(sources).items() if own}
    if not given:
        return ""
    names = {key: own if isinstance(own, tuple) else (own,) for key, own in given.items()}
    return ", with " + ", ".join(
        f"{key} {' '.join(Path(name).name for name in own)}" for key, own in names.items()
    )


def _by_file(system: System, corpus: str, split: str) -> bool:
    """Whether what is ranked depends on a file, or on the newest of some sets, which the same words name
    whatever it holds."""
    remembered = any(system.settings.get(key) for key in REMEMBERED_FILES)
    listed = split and not FOLD.fullmatch(split) and split not in split_names(corpus_named(corpus))
    return remembered or bool(listed)


def _standing(name: str, corpus: str, made: RunFacts) -> list[_Ranked]:
    """Both runs as they stand, where they were made by the same system and asked for alike; else none."""
    found = Run.objects.filter(
        name__in=[f"{name}-{direction}" for direction in RUN_DIRECTIONS],
        corpus__name=corpus,
        published=True,
        made_by=made.made_by_id,
        split=made.split,
        protocol=made.protocol,
        seed=made.seed,
        system_digest=made.system_digest,
        # Other features may have been given; an empty split once meant images that belong to none.
        source=made.source,
    )
    runs = {run.direction: run for run in found}
    if len(runs) != len(RUN_DIRECTIONS):
        return []
    # What is ranked in one direction asks in the other.
    items = dict(
        zip(RUN_DIRECTIONS, (runs[direction].query_count for direction in RUN_DIRECTIONS[::-1]), strict=True)
    )
    if any(run.depth != _cut(made.depth, items[direction]) for direction, run in runs.items()):
        return []
    images = subset_named(corpus, f"{OF_RUN}{runs[Run.ANNOTATION].name}")
    assert images is not None
    seen = provenance_of({name: runs[Run.ANNOTATION]}, corpus_named(corpus), images.images)[name]
    return [
        _Ranked(run.name, direction, run.query_count, items[direction], "", True, True, seen)
        for direction, run in ((direction, runs[direction]) for direction in RUN_DIRECTIONS)
    ]


def _cut(depth: int, items: int) -> int:
    """The depth that a run of rankings of so many items has: 0 where all were kept."""
    return depth if depth < items else 0
