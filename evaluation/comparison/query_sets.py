"""Which queries were asked, by kind: "image" where images ask, "caption" where captions do.

Figures are over these, whatever was answered about them. A batch stores at launch what its runs were asked
to rank, and qrels what they are for. A kind that is not among them was not asked, or nobody knows of it.
"""

from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.comparison.subsets import OF_RUN, BadSubset, Subset, subset_named
from evaluation.models import Batch, QrelsSnapshot, Ranking, Run
from evaluation.selectors import CorpusNames, Queries, batch_of, names_of, run_named
from phrasebox.text_files import FormatError, lines

IMAGE, CAPTION = "image", "caption"
#: What asks in a direction.
ASKS = {Run.ANNOTATION: IMAGE, Run.SEARCH: CAPTION}


def store_queries(owner: Batch | QrelsSnapshot, queries: Queries) -> None:
    """Store the queries of a new batch or new qrels."""
    for kind, ids in queries.items():
        owner.queries.create(asks=kind, ids=np.asarray(ids, "<i8").tobytes(), count=len(ids))


def as_queries(**ids: Iterable[int]) -> Queries:
    """Queries from ids in any order, by kind."""
    return {kind: np.array(sorted(set(keys)), np.int64) for kind, keys in ids.items()}


def ranked_queries(run: Run) -> NDArray[np.int64]:
    """The queries that a run ranks, by the ids of their rows."""
    column = "image_id" if run.direction == Run.ANNOTATION else "caption_id"
    rows = Ranking.objects.filter(run=run).values_list(column, flat=True)
    return np.fromiter(rows.iterator(10_000), np.int64)


def queries_named(corpus: str, what: str, *, files: bool = True) -> Queries | None:
    """The queries that `what` means: those of the run `run:NAME`, those that a file names, one a line, or the
    images of a split or fold with all their captions; None for "".

    Without `files`, as for what comes over the web, no file of this machine is meant. Raises as
    `subset_named`.
    """
    if files and Path(what).is_file():
        return _listed(Path(what), names_of(corpus))
    subset = subset_named(corpus, what, files=False)
    if subset is None:
        return None
    if what.startswith(OF_RUN):
        run = run_named(what.removeprefix(OF_RUN))
        return {ASKS[run.direction]: np.unique(ranked_queries(run))}
    return queries_of_images(subset.images, names_of(corpus))


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
        kind: np.array([pk for pk in ids.tolist() if owner[kind](pk) in subset.images], np.int64)
        for kind, ids in queries.items()
    }


def _listed(file: Path, names: CorpusNames) -> Queries:
    images: set[int] = set()
    captions: set[int] = set()
    image_of, caption_of = names.images_in(file), names.captions_in(file)
    for number, line in lines(file):
        name = line.strip()
        image, caption = (image_of[name], caption_of[name]) if name else (None, None)
        if image is not None and caption is not None:
            raise FormatError(
                f"{name[:60]!r} is the name of the image {names.image_name[image]!r} and of the caption "
                f"{names.caption_name[caption]!r}",
                file=file,
                line=number,
                expected="file names of images, and captions as filename#number",
            )
        if image is not None:
            images.add(image)
        elif caption is not None:
            captions.add(caption)
        elif name:
            raise FormatError(
                f"names {name[:60]!r}, which corpus {names.corpus!r} lacks",
                file=file,
                line=number,
                expected="an image or a caption in each line",
            )
    by_kind = {kind: ids for kind, ids in ((IMAGE, images), (CAPTION, captions)) if ids}
    if not by_kind:
        raise BadSubset(f"{file.name}: it names no query; write an image or a caption in each line")
    return as_queries(**by_kind)


def unknown_queries(snapshot: QrelsSnapshot, kind: str) -> str:
    """Why it is not known which queries of a kind were asked, and what helps; "" where it is."""
    if snapshot.queries.filter(asks=kind).exists():
        return ""
    judgments = snapshot.judgments
    batch = batch_of(judgments) if judgments is not None else None
    if batch is None:
        reason, again = "Nobody says which queries were asked", "Freeze them again, and name the queries."
    elif batch.queries.filter(asks=kind).exists():
        reason = f"Batch {batch.name!r} stores which queries were asked, and these qrels do not"
        again = "Freeze them again."
    else:
        return f"Batch {batch.name!r} pooled no run with {kind}s as queries: which were asked is not known."
    return f"{reason}: only the judged ones count. {again}"


def unjudged_pairs(snapshot: QrelsSnapshot) -> str:
    """How much of its batch was not judged when the qrels were frozen; "" where all was."""
    in_batch, judged = snapshot.pairs_selected, snapshot.pairs_judged
    if in_batch is None or judged is None or judged >= in_batch or snapshot.judgments is None:
        return ""
    return (
        f"{100 * judged // in_batch} % of the pairs that {snapshot.judgments.source} asks about "
        f"({judged:,} of "
        f"{in_batch:,}) had enough answers when these qrels were frozen; the others count as not relevant."
    )


def query_remarks(snapshot: QrelsSnapshot) -> list[str]:
    """What a version of qrels lacks: queries of a kind that it is for, and answers of its batch."""
    kinds = [snapshot.asks] if snapshot.asks else [IMAGE, CAPTION]
    remarks = [*(unknown_queries(snapshot, kind) for kind in kinds), unjudged_pairs(snapshot)]
    return list(dict.fromkeys(filter(None, remarks)))
