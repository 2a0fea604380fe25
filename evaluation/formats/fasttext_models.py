"""Word vectors of a binary fastText model (`.bin`), read by gensim.

The vector of a word is the mean of its own and those of its subwords, as fastText writes it to `.vec`. Only
words in the model's vocabulary are read; fastText could compute vectors for others from subwords. The model
is loaded into memory, subwords included: a published one takes several GiB.

Source: Bojanowski et al. 2017, section 3.2.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.extras import load_extra
from phrasebox.text_files import FormatError, open_bytes

#: The first bytes of such a file.
_BEGINNING = b"\xba\x16\x4f\x2f"
#: Number of words per block.
_BLOCK_WORDS = 4096
#: The exceptions of gensim for files that are truncated or have impossible headers.
_DAMAGE = (
    AssertionError,
    EOFError,
    IndexError,
    KeyError,
    OverflowError,
    ValueError,
    struct.error,
)


def is_fasttext_model(path: Path) -> bool:
    """Whether the file begins like a binary fastText model."""
    with open_bytes(path) as file:
        return file.read(len(_BEGINNING)) == _BEGINNING


class FastTextModel:
    """An open model; its words are in the order of the model."""

    #: Words have no boxes.
    boxes: NDArray[Any] | None = None

    def __init__(self, path: Path) -> None:
        """Raises FormatError if the vectors are damaged, and for a model that classifies texts."""
        load_facebook_vectors = load_extra("gensim.models.fasttext").load_facebook_vectors  # takes a second

        try:
            model = load_facebook_vectors(str(path))
        except NotImplementedError as error:
            raise FormatError(
                "is a model of fastText that labels texts",
                file=path,
                expected="one that was trained without labels (skipgram or cbow)",
            ) from error
        except MemoryError as error:
            raise FormatError(
                "is damaged, or does not fit into memory", file=path, expected="its word vectors, a file .vec"
            ) from error
        except _DAMAGE as error:
            raise FormatError(
                "is a damaged model of fastText", file=path, expected="a complete file"
            ) from error
        self.ids: tuple[str, ...] = tuple(model.index_to_key)
        self._vectors = np.asarray(model.vectors, np.float32)
        self.shape = (len(self.ids), self._vectors.shape[1])

    def blocks(self, start: int = 0) -> Iterator[NDArray[Any]]:
        """Yield the vectors of the words from `start` on, some thousands at a time."""
        for first in range(start, len(self.ids), _BLOCK_WORDS):
            yield self._vectors[first : first + _BLOCK_WORDS]
