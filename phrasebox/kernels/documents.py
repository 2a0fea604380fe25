"""An item of text: its captions, each the lemmas in order."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: One item: its captions, each the lemmas in order.
Document = Sequence[Sequence[str]]


def caption_owners(documents: Sequence[Document]) -> NDArray[np.int64]:
    """The item of each caption, shape (captions,)."""
    return np.repeat(np.arange(len(documents)), [len(captions) for captions in documents])
