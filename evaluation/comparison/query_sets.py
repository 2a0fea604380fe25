"""The set of queries, by kind: "image" where images are the queries, "caption" where captions are.

Figures are computed over these, whatever was answered about them. A batch stores the queries of its runs when
it is launched, and qrels store their own. A missing kind was not asked, or is unknown.
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
#: The kind of queries of each direction.
ASKS = {Run.ANNOTATION: IMAGE, Run.SEARCH: CAPTION}


def store_queries(owner: Batch | QrelsSnapshot, queries: Queries) -> None:
    """Store the queries of a new batch or new qrels."""
    for kind, ids in queries.items():
        owner.queries.create(asks=kind, ids=np.asarray(ids, "<i8").tobytes(), count=len(ids))


def as_queries(**ids: Iterable[int]) -> Queries:
    """Build queries from unsorted ids, by kind."""
    return {kind: np.array(sorted(set(keys)), np.int64) for kind, keys in ids.items()}


def ranked_queries(run: Run) -> NDArray[np.int64]:
    """Return the row ids of the queries that a run ranks for."""
    column = "image_id" if run.direction == Run.ANNOTATION else "caption_id"
    rows = Ranking.objects.filter(run=run).values_list(column, flat=True)
    return np.fromiter(rows.iterator(10_000), np.int64)


def queries_named(corpus: str, what: str, *, files: bool = True) -> Queries | None:
    """Return the queries named by `what`: those of the run `run:NAME`, those listed in a file, one per line,
    or the images of a split or fold with all their captions; None for "".

    Without `files`, as for web requests, no file of this machine can be named. Raises as `subset_named`.
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
    """Return images and their own captions; only captions with these `numbers` if given."""
    captions = (
        caption
        for caption, owner in names.owner.items()
        if owner in images and (numbers is None or names.number[caption] in numbers)
    )
    return as_queries(image=images, caption=captions)


def queries_within(queries: Queries, subset: Subset | None, names: CorpusNames) -> Queries:
    """Return the queries that are images of a subset, or their captions."""
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
    """Return why the queries of a kind are unknown, with the remedy; "" if they are known."""
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
    """Return how much of its batch was not judged when the qrels were frozen; "" if everything was."""
    in_batch, judged = snapshot.pairs_selected, snapshot.pairs_judged
    if in_batch is None or judged is None or judged >= in_batch or snapshot.judgments is None:
        return ""
    return (
        f"{100 * judged // in_batch} % of the pairs that {snapshot.judgments.source} asks about "
        f"({judged:,} of "
        f"{in_batch:,}) had enough answers when these qrels were frozen; the others count as not relevant."
    )


def query_remarks(snapshot: QrelsSnapshot) -> list[str]:
    """Return remarks on what a version of qrels lacks: queries of its kinds, and answers of its batch."""
    kinds = [snapshot.asks] if snapshot.asks else [IMAGE, CAPTION]
    remarks = [*(unknown_queries(snapshot, kind) for kind in kinds), unjudged_pairs(snapshot)]
    return list(dict.fromkeys(filter(None, remarks)))
