"""The protocols of the papers, by name: which captions are used, and which are a query's originals.

- "one caption" (Hodosh et al. 2013): one caption of each image is in the pool, the one numbered
  `number` in its order; their published judgments are about number 2. Where no image has more than one
  caption, it is that one.
- "first caption" (Gong et al. 2014): each image's first caption.
- "any of five" (Karpathy and Fei-Fei 2015; Plummer et al. 2015): all captions; an image has found
  its caption when any of its own is in the top k, a caption has one image.

COCO's 5,000 test images are taken whole ("5k") or in five folds of 1,000 images in file order, whose figures
are averaged, medians too ("1k"). `image_of[caption]` is the caption's image; an image's captions are numbered
from 0 in the order they come.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phrasebox.metrics.judgments import Judged, originals_of
from phrasebox.metrics.ranked import from_tiles
from phrasebox.metrics.scoring import Score, evaluate
from phrasebox.scoring.ranking import Ties
from phrasebox.scoring.tiles import Scores

_Indices = NDArray[np.intp]

#: The caption of each image for which Hodosh et al. 2013 published judgments.
JUDGED_CAPTION = 2


@dataclass(frozen=True, slots=True)
class Protocol:
    """`number` is the used caption of each image; None is all of them."""

    name: str
    title: str
    source: str
    number: int | None


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            "one caption", "one caption of each image", "Hodosh et al. 2013, section 4.1", JUDGED_CAPTION
        ),
        Protocol("first caption", "each image's first caption", "Gong et al. 2014, section 4", 0),
        Protocol(
            "any of five",
            "all captions, any of an image's own",
            "Karpathy and Fei-Fei 2015, section 4.1",
            None,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Selection:
    """The used images and captions, as indices, and each caption's position among these images. `number` is
    that of each image's caption, None where all are used."""

    images: _Indices
    captions: _Indices
    owner: _Indices
    number: int | None = None

    def annotation(self) -> Judged:
        """Return judgments for images as queries and captions as items: each image's originals."""
        return originals_of(self.owner, len(self.images))

    def search(self) -> Judged:
        """Return judgments for captions as queries and images as items: each caption's original."""
        return self.annotation().swapped()


def protocol_named(name: str) -> Protocol:
    """Return the protocol `name`, spelt with spaces, hyphens or underscores; raises ValueError listing what
    exists."""
    protocol = PROTOCOLS.get(" ".join(name.lower().replace("-", " ").replace("_", " ").split()))
    if protocol is None:
        raise ValueError(f"unknown protocol {name!r}; known: {', '.join(PROTOCOLS)}")
    return protocol


def select(
    protocol: str,
    image_of: ArrayLike,
    *,
    images: int | Sequence[str] | None = None,
    number: int | None = None,
) -> Selection:
    """What takes part under a protocol; `number` chooses another caption where one of each is taken.

    `images` is how many there are, or what they are called (default: as many as the captions name).
    Raises ValueError for an unknown protocol, and for an image that lacks the caption, naming it.

    >>> chosen = select("first caption", [0, 0, 1, 1])  # the images of four captions
    >>> chosen.captions.tolist(), chosen.owner.tolist()
    ([0, 2], [0, 1])
    """
    chosen_protocol = protocol_named(protocol)
    owner = np.asarray(image_of, dtype=np.intp)
    called = range(int(owner.max(initial=-1)) + 1) if images is None else images
    called = range(called) if isinstance(called, int) else called
    count, caption_number = len(called), chosen_protocol.number
    chosen = np.arange(len(owner))
    if caption_number is not None:
        numbers = _numbers(owner)
        if number is not None:
            caption_number = number
        elif not numbers.any():  # no image has a second caption
            caption_number = 0
        chosen = chosen[numbers == caption_number]
    elif number is not None:
        raise ValueError(
            f"protocol {chosen_protocol.name!r} uses all captions; leave out the number {number}"
        )
    without = np.flatnonzero(np.bincount(owner[chosen], minlength=count) == 0)
    if len(without):
        which = "" if caption_number is None else f" number {caption_number} (counted from 0)"
        raise ValueError(
            f"image {called[without[0]]} has no caption{which}; {len(without)} of {count} images lack one"
        )
    return Selection(np.arange(count), chosen, owner[chosen], caption_number)


def folds(selection: Selection, number: int = 5) -> Iterator[Selection]:
    """`number` selections of equally many images, in order, each with its own captions.

    >>> [one.images.tolist() for one in folds(select("any of five", [0, 0, 1, 1]), 2)]
    [[0], [1]]
    """
    if number < 1 or len(selection.images) % number:
        raise ValueError(f"{len(selection.images)} images cannot be cut into {number} equal folds")
    size = len(selection.images) // number
    for fold in range(number):
        inside = selection.owner // size == fold
        yield Selection(
            selection.images[fold * size : (fold + 1) * size],
            selection.captions[inside],
            selection.owner[inside] - fold * size,
        )


def both_directions(
    scores: Scores, selection: Selection, measures: Iterable[str], *, ties: Ties = "mean"
) -> dict[str, dict[str, Score]]:
    """{"annotation": figures, "search": figures} from scores of all images (rows) and captions (columns).

    >>> from phrasebox.scoring.tiles import Dense
    >>> scores = Dense(np.array([[0.9, 0.1], [0.8, 0.7]]))  # two images by their captions
    >>> result = both_directions(scores, select("any of five", [0, 1]), ["R@1"])
    >>> result["annotation"]["R@1"].value, result["search"]["R@1"].value
    (0.5, 1.0)
    """
    names = list(measures)
    part = scores.select(selection.images, selection.captions)
    rows, columns = from_tiles(part, selection.annotation(), selection.search(), ties=ties)
    return {"annotation": evaluate(rows, names), "search": evaluate(columns, names)}


def over_folds(
    scores: Scores, selection: Selection, measures: Iterable[str], *, number: int = 5, ties: Ties = "mean"
) -> dict[str, dict[str, float]]:
    """The same, each figure the mean of its values over the folds.

    >>> from phrasebox.scoring.tiles import Dense
    >>> scores = Dense(np.array([[0.9, 0.1], [0.8, 0.7]]))
    >>> over_folds(scores, select("any of five", [0, 1]), ["R@1"], number=2)["annotation"]  # each is alone
    {'R@1': 1.0}
    """
    names = list(measures)
    fold_scores = [both_directions(scores, fold, names, ties=ties) for fold in folds(selection, number)]
    return {
        direction: {
            name: float(np.mean([fold[direction][name].value for fold in fold_scores])) for name in figures
        }
        for direction, figures in fold_scores[0].items()
    }


def _numbers(owner: _Indices) -> _Indices:
    """Return the number of each caption among its image's, from 0."""
    order = np.argsort(owner, kind="stable")
    ordered = owner[order]
    numbers = np.empty(len(owner), dtype=np.intp)
    numbers[order] = np.arange(len(owner)) - np.searchsorted(ordered, ordered, side="left")
    return numbers
