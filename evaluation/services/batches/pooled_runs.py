"""Stored runs as `phrasebox.pooling` takes them: images and captions numbered, lists cut to a depth.

The space has the images that a run asks about or ranks, or whose captions it does, and of their captions
those whose numbers occur in the runs. So a run that ranks one of five captions is not compared with the
others.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.campaigns.counted import caption_name
from annotation.protocol.paging import Pair
from annotation.selectors.corpora import corpus_named
from evaluation.comparison.query_sets import ASKS
from evaluation.models import Run
from evaluation.selectors import CANDIDATES, captions_of_images, image_keys, images_of_captions, rankings_of
from evaluation.services.phases import ProgressCallback, silent
from phrasebox.pooling.pools import ANNOTATION, SEARCH, BadPool, PairIds, Shortlist, Space
from phrasebox.pooling.unlikely import bleu_pre

#: The largest number of items of a ranking that are read: no image has more relevant ones to look for.
WIDEST = 100


@dataclass(frozen=True)
class PooledRuns:
    """Runs of one corpus: their shortlists, and the rows that their numbers stand for.

    `image` and `caption`, ascending, are the row ids for the numbers of `space`. Captions that are
    `candidates` are to be judged: none is known to describe its image. Captions are in the space if their
    number within their image is one of `caption_numbers`.
    """

    corpus: str
    candidates: bool
    space: Space
    image: PairIds
    caption: PairIds
    shortlists: tuple[Shortlist, ...]
    caption_numbers: tuple[int, ...] = ()

    @property
    def queries(self) -> dict[str, PairIds]:
        """The queries of the runs: row ids, ascending, by kind ("image", "caption")."""
        queries = {}
        for direction, ids in ((ANNOTATION, self.image), (SEARCH, self.caption)):
            if query_rows := [run.queries for run in self.shortlists if run.direction == direction]:
                queries[ASKS[direction]] = ids[np.unique(np.concatenate(query_rows))]
        return queries

    def numbers(self, images: PairIds, captions: PairIds) -> tuple[PairIds, NDArray[np.bool_]]:
        """Convert row ids to pairs of this space; return these pairs, and a mask of the inputs that are in
        it."""
        ours = np.isin(images, self.image) & np.isin(captions, self.caption)
        return self.space.pairs(
            np.searchsorted(self.image, images[ours]), np.searchsorted(self.caption, captions[ours])
        ), ours

    def ids(self, pairs: PairIds) -> tuple[PairIds, PairIds]:
        """Return the row ids of the images and captions of pairs."""
        images, captions = self.space.parts(pairs)
        return self.image[images], self.caption[captions]

    def likely(self, pairs: PairIds, threshold: float) -> NDArray[np.bool_]:
        """Return a mask of the pairs that the filter keeps: BLEU_pre is at least `threshold`."""
        texts: dict[int, str] = {}
        texts_of_image: dict[int, list[str]] = {}
        for image, caption, text in captions_of_images(self.corpus, self.image.tolist(), "captions__text"):
            texts[caption] = text
            texts_of_image.setdefault(image, []).append(text)
        return np.asarray(
            bleu_pre(
                [texts[caption] for caption in self.caption.tolist()],
                [texts_of_image.get(image, []) for image in self.image.tolist()],
                self.space,
                pairs,
            )
            >= threshold
        )

    def called(self, pairs: PairIds) -> list[Pair]:
        """Return the pairs under the names that campaigns use: the image's key, and its caption's as
        KEY#NUMBER."""
        owners = self.image[np.unique(self.space.owner[self.space.parts(pairs)[1]])].tolist()
        name: dict[int, str] = {}
        count_of_image: Counter[int] = Counter()
        for image, caption, key in captions_of_images(self.corpus, owners, "key"):
            name[caption] = caption_name(key, count_of_image[image])
            count_of_image[image] += 1
        images, captions = self.ids(pairs)
        keys = image_keys(self.corpus, np.unique(images).tolist())
        return [
            Pair(keys[image], name[caption])
            for image, caption in zip(images.tolist(), captions.tolist(), strict=True)
        ]

    def by_image(self, pairs: PairIds) -> dict[str, list[str]]:
        """Return the same grouped by image: its key, and the captions that are paired with it."""
        captions_of_image: dict[str, list[str]] = {}
        for image, caption in self.called(pairs):
            captions_of_image.setdefault(image, []).append(caption)
        return captions_of_image


def pooled(
    corpus: str, runs: Sequence[Run], *, width: int = WIDEST, report_progress: ProgressCallback = silent
) -> PooledRuns:
    """Return the best `width` items of `runs`; raises BadPool for no runs, runs of another corpus, or
    truncated runs."""
    if not runs:
        raise BadPool("no runs were given; name at least one to pool")
    lists: list[tuple[Run, list[int], list[PairIds]]] = []
    for number, run in enumerate(runs):
        report_progress("reading runs", number / len(runs))
        if run.corpus.name != corpus:
            raise BadPool(f"run {run.name!r} is of corpus {run.corpus.name!r}, not {corpus!r}; leave it out")
        queries, items = [], []
        for query, ranked, _ in rankings_of(run):
            queries.append(query)
            items.append(ranked[:width])
        if not queries:
            raise BadPool(f"run {run.name!r} contains no rankings; leave it out")
        lists.append((run, queries, items))
    image, caption, owner, numbers = _taking_part(corpus, lists)
    candidates = corpus_named(corpus).format == CANDIDATES
    space = Space(len(image), owner, originals=not candidates)
    shortlists = tuple(_shortlist(run, queries, items, image, caption) for run, queries, items in lists)
    return PooledRuns(corpus, candidates, space, image, caption, shortlists, numbers)


def _taking_part(
    corpus: str, lists: Sequence[tuple[Run, list[int], list[PairIds]]]
) -> tuple[PairIds, PairIds, PairIds, tuple[int, ...]]:
    """Return the ids of images and of captions, both ascending, the number of each caption's image, and the
    numbers of the captions of an image that are in the space."""
    images: set[int] = set()
    captions: set[int] = set()
    for run, queries, items in lists:
        ranked = np.unique(np.concatenate(items)).tolist()
        asks, answers = (images, captions) if run.direction == ANNOTATION else (captions, images)
        asks.update(queries)
        answers.update(ranked)
    rows = list(captions_of_images(corpus, images, "captions__number"))
    others = images_of_captions(corpus, captions.difference(caption for _, caption, _ in rows)) - images
    rows += captions_of_images(corpus, others, "captions__number")
    numbers = {number for _, caption, number in rows if caption in captions}
    chosen = sorted((caption, image) for image, caption, number in rows if number in numbers)
    image = np.array(sorted(images | others), np.int64)
    caption, owner = np.array(chosen, np.int64).reshape(-1, 2).T
    return image, caption, np.searchsorted(image, owner), tuple(sorted(numbers))


def _shortlist(
    run: Run, queries: list[int], items: list[PairIds], image: PairIds, caption: PairIds
) -> Shortlist:
    asks, ranked = (image, caption) if run.direction == ANNOTATION else (caption, image)
    filled = np.full((len(items), max(map(len, items))), -1, dtype=np.int64)
    for line, query_items in enumerate(items):
        filled[line, : len(query_items)] = np.searchsorted(ranked, query_items)
    return Shortlist(run.name, run.direction, np.searchsorted(asks, queries), filled, run.system)
