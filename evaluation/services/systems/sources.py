"""The files that a training reads besides the corpus."""

from __future__ import annotations

from dataclasses import dataclass, replace

from evaluation.services.features.store import feature_set, is_label


@dataclass(frozen=True, slots=True)
class Sources:
    """What a training reads besides the corpus: files of the user's.

    `background` are texts, a sentence a line; `features` is a feature set of the corpus, or a file of vectors
    of images, whose ids `ids` lists; `lemmas` the captions as their corpus lemmatises them, in Flickr8k's
    format.
    """

    background: tuple[str, ...] = ()
    wordnet: str = ""
    features: str = ""
    ids: str = ""
    lemmas: str = ""

    def settled(self, corpus: str) -> Sources:
        """The same with the version of its feature set; raises UnknownName where there is none."""
        if not is_label(self.features):
            return self
        return replace(self, features=feature_set(corpus, self.features).label)
