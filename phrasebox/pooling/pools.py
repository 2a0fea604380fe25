"""The pool: the union of the best items of chosen runs, in both directions.

A pair is an image and a caption, whichever of them is the query; it is one number, `image * captions +
caption`, so that a pool is a sorted array and sets of pairs are compared without a loop. An image and its own
caption, the original pair, is relevant without a judgment and is never asked about.

Source: Hodosh et al. 2013, section 4.3.2: "all image-caption pairs among the top k results for each query",
two tasks, 30 systems; Sparck Jones and van Rijsbergen 1975 (pooling).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from phrasebox.errors import PhraseboxError

PairIds = NDArray[np.int64]

#: The two directions: images are queries, or captions are.
ANNOTATION, SEARCH = "annotation", "search"


class BadPool(PhraseboxError):
    """The runs cannot make a pool; the message is one line with the remedy."""


@dataclass(frozen=True)
class Space:
    """The images and captions that can be paired: `owner`, shape (captions,), is the image of each caption;
    `images` is the number of images.

    It has only the captions that take part: for a run that ranks one of five captions, it has only those.
    Without `originals`, no caption is known to describe its image.
    """

    images: int
    owner: PairIds
    originals: bool = True

    @property
    def captions(self) -> int:
        """The number of captions that take part."""
        return len(self.owner)

    def pairs(self, images: PairIds, captions: PairIds) -> PairIds:
        """Return the pairs of these images and captions, in their shape."""
        return np.asarray(images, np.int64) * self.captions + np.asarray(captions, np.int64)

    def parts(self, pairs: PairIds) -> tuple[PairIds, PairIds]:
        """Return the images and the captions of pairs."""
        images, captions = np.divmod(pairs, max(1, self.captions))
        return images, captions

    def original(self, pairs: PairIds) -> NDArray[np.bool_]:
        """Return whether each pair is of an image and a caption that was written for it."""
        images, captions = self.parts(pairs)
        return np.asarray((self.owner[captions] == images) & self.originals)


@dataclass(frozen=True)
class Shortlist:
    """The best items of one run, best first. A system may have two runs, one in each direction.

    `queries`, shape (queries,), are images in annotation and captions in search. `lists`, shape (queries,
    depth), are the items found, -1 after the end of a shorter list.
    """

    name: str
    direction: str
    queries: PairIds
    lists: PairIds
    system: str = ""

    @property
    def of(self) -> str:
        """The unit that is left out or counted together with this run: its system, or the run itself if it
        has none."""
        return self.system or self.name

    def pairs(self, space: Space, depth: int) -> PairIds:
        """Return its pairs down to `depth`, without duplicates, in ascending order."""
        lists = self.lists[:, :depth]
        asks = np.broadcast_to(self.queries[:, None], lists.shape)[lists >= 0]
        items = lists[lists >= 0]
        images, captions = (asks, items) if self.direction == ANNOTATION else (items, asks)
        return np.unique(space.pairs(images, captions))


@dataclass(frozen=True)
class PairPool:
    """Pairs that some run has among its best, sorted; `of_run` has the pairs of each run."""

    space: Space
    depth: int
    pairs: PairIds
    of_run: Mapping[str, PairIds]

    @property
    def to_judge(self) -> PairIds:
        """The pairs that are not originals."""
        return self.pairs[~self.space.original(self.pairs)]

    def without(self, runs: Sequence[str]) -> PairIds:
        """Return the pairs that runs other than `runs` contribute."""
        return self.pairs[self._times > self._counted(runs)]

    @cached_property
    def _times(self) -> PairIds:
        return self._counted(list(self.of_run))

    def _counted(self, runs: Sequence[str]) -> PairIds:
        """Return how many of `runs` contribute each pair, shape (pairs,)."""
        counts = np.zeros(len(self.pairs), dtype=np.int64)
        for name in runs:
            counts[np.searchsorted(self.pairs, self.of_run[name])] += 1
        return counts


def pool(shortlists: Sequence[Shortlist], space: Space, *, depth: int) -> PairPool:
    """Return the union of the top `depth` of all runs; raises BadPool if it cannot be made."""
    if depth < 1:
        raise BadPool(f"depth {depth}: expected 1 or more")
    if not shortlists:
        raise BadPool("no runs were given; name at least one to pool")
    of_run: dict[str, PairIds] = {}
    for shortlist in shortlists:
        if shortlist.name in of_run:
            raise BadPool(f"run {shortlist.name!r} is named twice; name each once")
        of_run[shortlist.name] = shortlist.pairs(space, depth)
    return PairPool(space, depth, np.unique(np.concatenate(list(of_run.values()))), of_run)


def among(pairs: PairIds, known: PairIds) -> NDArray[np.bool_]:
    """Return which of `pairs` are among `known`; both sorted, without duplicates."""
    at = np.searchsorted(known, pairs)
    return np.asarray(np.append(known, -1)[at] == pairs)
