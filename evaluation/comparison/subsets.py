"""Subsets of a corpus's images: a split, a fold, those listed in a file, or those that a run ranked.

Ranking, scoring, comparing, reporting and freezing use the same names for them. Folds are dealt with a seed
among the images that can be ranked: those with captions, and with a picture if the corpus has pictures. A
system of feature files or uploaded vectors ranks other images, and deals its folds among those: the images of
its run are `run:NAME`.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from annotation.common.readers import stream
from annotation.selectors.corpora import corpus_named, split_names
from evaluation.models import Ranking, Run
from evaluation.selectors import CorpusNames, names_of
from models_core.folds import make_folds
from phrasebox.errors import PhraseboxError
from phrasebox.registry import UnknownName
from phrasebox.text_files import FormatError, lines

#: A fold and the number of folds.
FOLD = re.compile(r"(\d{1,4})/(\d{1,4})")
#: The prefix of a run's name, for the images of the run.
OF_RUN = "run:"
#: How a subset from a file is called: this and the file's name.
IN_FILE = "images in "
#: How many errors of each kind in a file of names are listed; the rest is counted.
_NAMED = 3
#: The number of letters of a file's name in the name of a subset.
_MOST_NAMED = 100


class BadSubset(PhraseboxError):
    """An invalid choice of images; one line with valid ones."""


@dataclass(frozen=True, slots=True)
class Subset:
    """Images by row id; `called` is the subset's name in figures and qrels."""

    called: str
    images: frozenset[int]


def subset_named(corpus: str, what: str, *, seed: int = 0, files: bool = True) -> Subset | None:
    """Return the images of the published corpus `corpus` that `what` names; None for "", which means all.

    Without `files`, as for web requests, no file of this machine can be named. Raises UnknownName for an
    unknown corpus, split or run, FormatError for a file with images that the corpus lacks, or duplicates, and
    BadSubset for an impossible fold and for no image at all.
    """
    if not what:
        return None
    row = corpus_named(corpus)
    fold = FOLD.fullmatch(what)
    if what.startswith(OF_RUN):
        name = what.removeprefix(OF_RUN)
        run = Run.objects.filter(name=name, corpus=row, published=True).first()
        if run is None:
            raise UnknownName(f"corpus {corpus!r} has no run {name!r}")
        called, images = subset_called(what), _ranked_by(run)
    elif fold:
        called = subset_called(what, seed=seed)
        images = _fold(row, int(fold[1]), int(fold[2]), seed)
    elif what in split_names(row):
        called = images_called(row, what)
        images = list(row.images.filter(split=what).values_list("pk", flat=True))
    elif files and Path(what).is_file():
        return subset_from_file(corpus, Path(what))
    else:
        known = ", ".join(repr(split) for split in split_names(row)) or "none"
        file = "a file of image names, " if files else ""
        raise UnknownName(
            f"unknown split {what!r} of corpus {corpus!r}; known: {known}, {file}a fold such as 1/5, or "
            f"{OF_RUN}NAME for the images of a run"
        )
    image_ids = frozenset(images)
    if not image_ids:
        raise BadSubset(f"{called} of corpus {corpus!r} contains no image; choose other images")
    return Subset(called, image_ids)


def subset_from_file(corpus: str, file: Path) -> Subset:
    """Return the images of the published corpus `corpus` listed in a file; raises UnknownName, else as
    `listed_image_ids`."""
    images = frozenset(listed_image_ids(file, names_of(corpus)))
    if not images:
        raise BadSubset(
            f"{IN_FILE}{file.name[:_MOST_NAMED]} of corpus {corpus!r}: it names no image; write one "
            "name on each line"
        )
    return Subset(subset_called(str(file)), images)


def images_called(corpus: Any, what: str) -> str:
    """Return the name of the images of a split of a corpus, else as `subset_called`."""
    return f"split {what}" if what in split_names(corpus) else subset_called(what)


def subset_called(what: str, *, seed: int = 0) -> str:
    """Return the name of the images of a fold, of a run, or of a file of names."""
    if FOLD.fullmatch(what):
        return f"fold {what}" + (f" (seed {seed})" if seed else "")
    if what.startswith(OF_RUN):
        return f"images of run {what.removeprefix(OF_RUN)}"
    return f"{IN_FILE}{Path(what).name[:_MOST_NAMED]}"


def listed_image_ids(file: Path, names: CorpusNames) -> list[int]:
    """Return the images listed in a file, one per line, as row ids in the file's order.

    Raises FormatError for names that the corpus lacks and for duplicates (their number, and the first), and
    for a name of two images.
    """
    images = names.images_in(file)
    counts: Counter[int] = Counter()
    unknown: list[str] = []
    for _, line in stream(lines, file):
        name = line.strip()
        pk = images[name] if name else None
        if pk is not None:
            counts[pk] += 1
        elif name:
            unknown.append(name)
    twice = [names.image_name[pk] for pk, count in counts.items() if count > 1]
    for bad_names, what in ((unknown, f"that corpus {names.corpus!r} lacks"), (twice, "more than once")):
        if bad_names:
            raise FormatError(
                f"names {_counted(bad_names)} {what}",
                file=file,
                expected="an image's name in each line, each once",
            )
    return list(counts)


def part_of_fold(which: int, number: int, images: int, *, seed: int = 0) -> list[int]:
    """Return the positions of the images of fold `which` (from 1) of `number`, dealt among `images`; raises
    BadSubset."""
    if not 1 <= which <= number:
        raise BadSubset(f"fold {which}/{number}: unknown fold; expected 1/{number} to {number}/{number}")
    try:
        return [int(index) for index in make_folds(images, number, seed=seed)[which - 1]]
    except ValueError as error:
        raise BadSubset(f"fold {which}/{number}: {error}") from error


def _fold(corpus: Any, which: int, number: int, seed: int) -> list[int]:
    images = corpus.images.filter(captions__isnull=False).distinct().order_by("position")
    pictured = images.exclude(picture="")
    usable = list((pictured if pictured.exists() else images).values_list("pk", flat=True))
    return [usable[index] for index in part_of_fold(which, number, len(usable), seed=seed)]


def _ranked_by(run: Run) -> Sequence[int]:
    """Return the images that a run ranked for, or those of the captions that it ranked for."""
    rows = Ranking.objects.filter(run=run)
    column = "image" if run.direction == Run.ANNOTATION else "caption__image"
    return np.unique(np.fromiter(rows.values_list(column, flat=True).iterator(10_000), np.int64)).tolist()


def _counted(names: Sequence[str]) -> str:
    """Return the number of images, with the first names: "4 images ('a', 'b', 'c', ...)"."""
    first = ", ".join(repr(name[:60]) for name in names[:_NAMED])
    more = ", ..." if len(names) > _NAMED else ""
    return f"{len(names)} {'image' if len(names) == 1 else 'images'} ({first}{more})"
