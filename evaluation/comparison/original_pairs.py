"""The original pairs of a corpus as qrels: an image's own captions are relevant, and nothing else is.

They are the qrels of figures that name none. Nothing is stored: the pairs follow from the captions, and the
queries are those that the runs rank, or in a subset its images and captions.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.comparison.query_sets import ASKS, ranked_queries
from evaluation.comparison.subsets import Subset, images_called
from evaluation.models import QrelsSnapshot, Run
from evaluation.selectors import (
    CANDIDATES,
    Queries,
    captions_of_images,
    images_of_captions,
)
from phrasebox.errors import PhraseboxError
from phrasebox.metrics.protocols import select
from phrasebox.relevance.qrels import QrelsSettings

#: The name of these qrels in figures.
ORIGINAL_PAIRS = "original pairs"

_Pairs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class OriginalPairs:
    """The original pairs of a corpus, with the same attributes as a snapshot of qrels.

    `queries` are row ids by kind; under a `protocol` only the captions that it includes are items. `split` is
    what all runs were made of, "" where they differ.
    """

    corpus: Any
    queries: Queries
    protocol: str = ""
    split: str = ""
    name: str = ORIGINAL_PAIRS
    version: None = None
    versioned: str = ""
    pk: int = 0
    asks: str = ""
    rule: str = QrelsSettings().rule.name
    originals: bool = True
    subset: str = ""
    source: str = ""
    judgments: None = None
    judgments_id: None = None
    row_count: int = 0

    def __str__(self) -> str:
        return self.name

    @property
    def corpus_id(self) -> int:
        """The id of the corpus."""
        pk: int = self.corpus.pk
        return pk

    @property
    def pool(self) -> str:
        """The protocol in words, as of qrels that nobody judged."""
        return f"{self.name}, {self.protocol}" if self.protocol else self.name

    @property
    def digest(self) -> str:
        """SHA-256 of what the pairs follow from; the queries are those of the runs."""
        return hashlib.sha256(f"{self.pool}\n{self.corpus.digest}".encode()).hexdigest()

    def pairs(self, direction: str) -> _Pairs:
        """Return the originals of the queries of a direction, shape (pairs, 2): image, caption."""
        queries = self.queries.get(ASKS[direction], np.array([], np.int64))
        if direction == Run.ANNOTATION:
            return _captions_of(self.corpus.name, queries.tolist(), self.protocol)
        images = images_of_captions(self.corpus.name, queries.tolist())
        pairs = _captions_of(self.corpus.name, images)
        return pairs[np.isin(pairs[:, 1], queries)]


#: What figures are computed under: frozen qrels, or the original pairs.
AnyQrels = QrelsSnapshot | OriginalPairs


def has_original_pairs(corpus: Any) -> bool:
    """Whether the captions of a corpus are known to describe their images."""
    return bool(corpus.format != CANDIDATES)


def original_pairs(runs: Sequence[Run], subset: Subset | None = None) -> OriginalPairs:
    """Return the original pairs for runs of one corpus.

    Queries are those that any of the runs ranks; in a subset its images that have captions, and of its
    captions those with the numbers that the runs rank. Raises PhraseboxError for a corpus of candidates,
    whose captions are not known to describe their images.
    """
    corpus = runs[0].corpus
    if not has_original_pairs(corpus):
        raise PhraseboxError(
            f"corpus {corpus.name!r} has captions that are to be judged, and no original pairs; name qrels"
        )
    queries: dict[str, NDArray[np.int64]] = {}
    for direction in dict.fromkeys(run.direction for run in runs):
        of_runs = [ranked_queries(run) for run in runs if run.direction == direction]
        ranked = np.unique(np.concatenate(of_runs))
        queries[ASKS[direction]] = ranked if subset is None else _within(ranked, direction, corpus, subset)
    protocol, split = (_common(getattr(run, name) for run in runs) for name in ("protocol", "split"))
    called = "" if subset is not None or not split else images_called(corpus, split)
    return OriginalPairs(corpus, queries, protocol, called)


def _common(values: Iterable[str]) -> str:
    """Return the value that all have in common, else ""."""
    different = set(values)
    return different.pop() if len(different) == 1 else ""


def _within(ranked: NDArray[np.int64], direction: str, corpus: Any, subset: Subset) -> NDArray[np.int64]:
    if direction == Run.ANNOTATION:
        return np.unique(_captions_of(corpus.name, subset.images)[:, 0])
    owners = images_of_captions(corpus.name, ranked.tolist())
    rows = list(captions_of_images(corpus.name, owners | subset.images, "captions__number"))
    of_runs = set(ranked.tolist())
    numbers = {number for _image, caption, number in rows if caption in of_runs}
    captions = [caption for image, caption, number in rows if image in subset.images and number in numbers]
    return np.array(sorted(captions), np.int64)


def _captions_of(corpus: str, images: Collection[int], protocol: str = "") -> _Pairs:
    """Return images with their captions, those that a protocol includes; all where it includes none of an
    image."""
    pairs = np.array(list(captions_of_images(corpus, images)), np.int64).reshape(-1, 2)
    if not protocol or not len(pairs):
        return pairs
    try:
        chosen = select(protocol, np.unique(pairs[:, 0], return_inverse=True)[1])
    except ValueError:
        return pairs
    return pairs[chosen.captions]
