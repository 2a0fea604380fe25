"""The files that a training reads besides the corpus."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sources:
    """What a training reads besides the corpus: files of the user's.

    `background` are texts, a sentence a line; `features` vectors of images, whose ids `ids` lists;
    `lemmas` the captions as their corpus lemmatises them, in Flickr8k's format.
    """

    background: tuple[str, ...] = ()
    wordnet: str = ""
    features: str = ""
    ids: str = ""
    lemmas: str = ""
