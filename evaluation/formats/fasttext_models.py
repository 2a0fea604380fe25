"""Word vectors of a binary model of fastText (`.bin`), read by gensim.

The vector of a word is the mean of its own and those of its parts, as fastText writes it to `.vec`. Only
words that the model knows are read; of others it could make vectors from their parts. The model is held in
memory, parts of words included: a published one takes several GiB.

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

#: How such a file begins.
_BEGINNING = b"\xba\x16\x4f\x2f"
#: Words whose vectors are given at a time.
_BLOCK_WORDS = 4096
#: What gensim raises where a file is cut off, or says something impossible of itself.
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
    """Whether the file begins as a binary model of fastText."""
    with open_bytes(path) as file:
        return file.read(len(_BEGINNING)) == _BEGINNING


class FastTextModel:
    """A model that is open; its words are in the order of the model."""

    #: Words have none.
    boxes: NDArray[Any] | None = None

    def __init__(self, path: Path) -> None:
        """Raises FormatError where the vectors are damaged, and for a model that labels texts."""
        load_facebook_vectors = load_extra("gensim.models.fasttext").load_facebook_vectors  # a second

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
        """The vectors of the words from `start` on, some thousands at a time."""
        for first in range(start, len(self.ids), _BLOCK_WORDS):
            yield self._vectors[first : first + _BLOCK_WORDS]
