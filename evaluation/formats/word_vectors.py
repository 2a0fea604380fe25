"""Word vectors in the formats of word2vec, GloVe and fastText, read in blocks of words.

- Text (`.txt`, `.vec`): a line for each word, which ends in the numbers of its vector; word2vec and fastText
  begin with a line of two counts, GloVe does not. A word may contain spaces.
- Binary (`.bin`), of word2vec: a line of two counts, then for each word its bytes, a space, and its numbers
  as float32, little-endian. A fastText model has the same suffix (`formats.fasttext_models`).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from phrasebox.text_files import FormatError, open_bytes, short_repr

WORD_VECTOR_SUFFIXES = (".txt", ".vec", ".bin")
#: Number of words read at a time.
_BLOCK_WORDS = 4096
#: Longer words mean that the file is of another kind.
_LONGEST_WORD = 1000


class WordVectors:
    """An open file; its words are scanned once, and their vectors read on request."""

    #: Words have no boxes.
    boxes: NDArray[Any] | None = None

    def __init__(self, path: Path) -> None:
        """Raises FormatError for a file of another kind, with the line or word that does not fit."""
        self.path = path
        self._binary = path.suffix.lower() == ".bin"
        with open_bytes(path) as file:
            self._words, self._width, self._begin = self._head(file)
            self.ids = tuple(word for word, _ in self._entries(file, numbers=False))
        if self._words not in (None, len(self.ids)):
            raise FormatError(
                f"says that it has {self._words} words, and has {len(self.ids)}",
                file=path,
                expected="a complete file",
            )
        self.shape = (len(self.ids), self._width)

    def blocks(self, start: int = 0) -> Iterator[NDArray[Any]]:
        """Yield the vectors of the words from `start` on, some thousands at a time."""
        with open_bytes(self.path) as file:
            held = np.empty((_BLOCK_WORDS, self._width), np.float32)
            row = 0
            for number, (_, vector) in enumerate(self._entries(file)):
                if number < start:
                    continue
                held[row] = vector
                row += 1
                if row == _BLOCK_WORDS:
                    yield held.copy()
                    row = 0
            if row:
                yield held[:row].copy()

    def _head(self, file: IO[bytes]) -> tuple[int | None, int, int]:
        """Return the declared number of words, the length of a vector, and the position where the words
        begin."""
        first = file.readline(2**20)
        parts = first.split()
        if len(parts) == 2 and all(part.isdigit() for part in parts):
            words, width = map(int, parts)
            if not words or not width:
                raise FormatError(
                    "has no words, or vectors of no number", file=self.path, line=1, expected="1 or more"
                )
            return words, width, file.tell()
        if self._binary or len(parts) < 3:
            raise FormatError(
                f"begins with {short_repr(first[:40].decode(errors='replace'))}",
                file=self.path,
                line=1,
                expected="two counts, or a word and its numbers",
            )
        return None, len(parts) - 1, 0

    def _entries(self, file: IO[bytes], *, numbers: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield each word, with its vector if `numbers`."""
        file.seek(self._begin)
        yield from (self._packed(file) if self._binary else self._lines(file, numbers))

    def _lines(self, file: IO[bytes], numbers: bool) -> Iterator[tuple[str, Any]]:
        for line, text in enumerate(file, start=2 if self._begin else 1):
            parts = text.rstrip().rsplit(b" ", self._width)
            if len(parts) != self._width + 1:
                raise FormatError(
                    f"has {len(text.split()) - 1} numbers",
                    file=self.path,
                    line=line,
                    expected=f"a word and {self._width} numbers",
                )
            vector = None
            if numbers:
                try:
                    vector = np.array(parts[1:], dtype=np.float32)
                except ValueError as error:
                    raise FormatError(
                        f"has other than numbers after {short_repr(parts[0].decode(errors='replace'))}",
                        file=self.path,
                        line=line,
                        expected=f"a word and {self._width} numbers",
                    ) from error
            yield parts[0].decode("utf-8", errors="replace"), vector

    def _packed(self, file: IO[bytes]) -> Iterator[tuple[str, Any]]:
        size = 4 * self._width
        for number in range(self._words or 0):
            word = bytearray()
            while (letter := file.read(1)) not in (b" ", b""):
                # Some writers end each vector with a line break.
                if letter != b"\n" or word:
                    word += letter
                if len(word) > _LONGEST_WORD:
                    break
            data = file.read(size)
            if len(data) < size or len(word) > _LONGEST_WORD:
                raise FormatError(
                    f"is damaged at word {number} of {self._words}",
                    file=self.path,
                    expected="a complete file of word2vec",
                )
            yield word.decode("utf-8", errors="replace"), np.frombuffer(data, "<f4")
