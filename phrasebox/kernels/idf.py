"""How well a word distinguishes captions: inverse document frequency over images.

    lambda_w = log(|D| / (|D(w)| + 1))

D are the training images, D(w) those in whose captions w appears at least once. A word in (nearly) every
image would get a weight of 0 or less; it is clipped to 0, since roots and products are computed.

Source: Hodosh et al. 2013, section 3.1; roots in section 3.4.1, sequences in eq. 16.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from math import log, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

#: One item: its captions, each as its lemmas in order.
Document = Sequence[Sequence[str]]


def caption_owners(documents: Sequence[Document]) -> NDArray[np.int64]:
    """Return the item of each caption, shape (captions,)."""
    return np.repeat(np.arange(len(documents)), [len(captions) for captions in documents])


#: The factor of a word's frequency: none, its idf, or the root of its idf.
Weighting = Literal["none", "idf", "sqrt-idf"]
WEIGHTINGS = ("none", "idf", "sqrt-idf")


class Idf:
    """The weights learned from training items; a word that none of them has gets log |D|."""

    def __init__(self, documents: Sequence[Document]) -> None:
        if not documents:
            raise ValueError("no training items: inverse document frequencies need at least one")
        self.documents = len(documents)
        #: The number of images with the word.
        self.images = Counter(w for captions in documents for w in {w for words in captions for w in words})

    def __call__(self, word: str) -> float:
        """Return lambda_w, at least 0."""
        return max(0.0, log(self.documents / (self.images[word] + 1)))


def weights(weighting: Weighting, documents: Sequence[Document]) -> Callable[[str], float]:
    """Return the function from a word to the weight of each occurrence, learned from `documents`.

    Raises ValueError for an unknown weighting, listing the known ones.
    """
    if weighting not in WEIGHTINGS:
        raise ValueError(f"unknown weighting {weighting!r}; known: {', '.join(WEIGHTINGS)}")
    if weighting == "none":
        return lambda word: 1.0
    idf = Idf(documents)
    if weighting == "idf":
        return idf
    return lambda word: sqrt(idf(word))
