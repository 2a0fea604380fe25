"""Which queries were asked, by kind: "image" where images ask, "caption" where captions do.

Figures are over these, whatever was answered about them. A batch stores at launch what its runs were asked
to rank, and qrels what they are for. A kind that is not among them was not asked, or nobody knows of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from annotation.common.registry import UnknownName
from annotation.formats.base import FormatError
from annotation.formats.files.text import lines
from evaluation.comparison.subsets import OF_RUN, BadSubset, Subset, subset_named
from evaluation.models import Batch, QrelsSnapshot, Ranking, Run
from evaluation.selectors import CorpusNames, run_named

IMAGE, CAPTION = "image", "caption"
#: What asks in a direction.
ASKS = {Run.ANNOTATION: IMAGE, Run.SEARCH: CAPTION}
#: Ids of rows, ascending, by kind.
Queries = Mapping[str, NDArray[np.int64]]


def store_queries(owner: Batch | QrelsSnapshot, queries: Queries) -> None:
    """Store the queries of a new batch or new qrels."""
    for kind, ids in queries.items():
        owner.queries.create(asks=kind, ids=np.asarray(ids, "<i8").tobytes(), count=len(ids))


def stored_queries(owner: Batch | QrelsSnapshot) -> Queries:
    """The queries that are stored with a batch or with qrels."""
    rows = owner.queries.values_list("asks", "ids")
    return {kind: np.frombuffer(bytes(ids), dtype="<i8") for kind, ids in rows}


def as_queries(**ids: Iterable[int]) -> Queries:
    """Queries from ids in any order, by kind."""
    return {kind: np.array(sorted(set(own)), np.int64) for kind, own in ids.items()}


def ranked_queries(run: Run) -> NDArray[np.int64]:
    """The queries that a run ranks, by the ids of their rows."""
    column = "image_id" if run.direction == Run.ANNOTATION else "caption_id"
    rows = Ranking.objects.filter(run=run).values_list(column, flat=True)
    return np.fromiter(rows.iterator(10_000), np.int64)


def queries_named(names: CorpusNames, what: str, *, files: bool = True) -> Queries:
    """The queries that `what` means: those of the run `run:NAME`, those that a file names, one a line, or the
    images of a split with all their captions.

    Without `files`, as for what comes over the web, no file of this machine is meant. Raises as
    `subset_named`.
    """
    if what.startswith(OF_RUN):
        run = run_named(what.removeprefix(OF_RUN))
        if run.corpus.name != names.corpus:
            raise BadSubset(
                f"run {run.name!r} is of corpus {run.corpus.name!r}, not of {names.corpus!r}; name a run of "
                f"{names.corpus!r}"
            )
        return {ASKS[run.direction]: np.unique(ranked_queries(run))}
    if files and Path(what).is_file():
        return _listed(Path(what), names)
    subset = subset_named(names.corpus, what, files=False)
    if subset is None:
        raise UnknownName("no queries; name a file of them, a split, or run:NAME")
    return queries_of_images(subset.images, names)


def queries_of_images(
    images: Collection[int], names: CorpusNames, numbers: Collection[int] | None = None
) -> Queries:
    """Images and their own captions, of these numbers only where some are given."""
    captions = (
        caption
        for caption, owner in names.owner.items()
        if owner in images and (numbers is None or names.number[caption] in numbers)
    )
    return as_queries(image=images, caption=captions)


def queries_within(queries: Queries, subset: Subset | None, names: CorpusNames) -> Queries:
    """Those of the queries that are images of a subset, or their captions."""
    if subset is None:
        return queries
    owner = {IMAGE: lambda image: image, CAPTION: names.owner.__getitem__}
    return {
        kind: np.array([one for one in ids.tolist() if owner[kind](one) in subset.images], np.int64)
        for kind, ids in queries.items()
    }


def _listed(file: Path, names: CorpusNames) -> Queries:
    images: set[int] = set()
    captions: set[int] = set()
    for number, line in lines(file):
        name = line.strip()
        if name in names.image:
            images.add(names.image[name])
        elif name in names.caption:
            captions.add(names.caption[name])
        elif name:
            raise FormatError(
                f"names {name[:60]!r}, which corpus {names.corpus!r} lacks",
                file=file,
                line=number,
                expected="an image or a caption in each line",
            )
    found = {kind: ids for kind, ids in ((IMAGE, images), (CAPTION, captions)) if ids}
    if not found:
        raise BadSubset(f"{file.name}: it names no query; write an image or a caption in each line")
    return as_queries(**found)
