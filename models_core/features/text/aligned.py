"""Similarity of words by alignment: words are similar if captions of the same image use them for the same
thing.

    w_A(i) = P_n(w_i | w) P_n(w) + P_v(w_i | w) P_v(w)                                   (eq. 25)

Nouns and verbs of captions of the same image are aligned separately by IBM models 1 and 2; P_n(w) is the
share of w's occurrences tagged as a noun, P_v(w) as a verb. The similarity of two words is the cosine of
their vectors.

Source: Hodosh et al. 2013, section 3.5.4.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models_core.features.text.alignment import TRAINING_STEPS, Translations, caption_pairs, train_alignment
from models_core.features.text.lemmas import NOUN, VERB, Word
from phrasebox.kernels.similarity import WordKernel

#: Captions of each image as words with their parts of speech.
Tagged = Sequence[Sequence[Sequence[Word]]]


@dataclass(frozen=True)
class Classes:
    """The noun and the verb vocabulary, with the share of each word's occurrences that have this tag."""

    nouns: dict[str, float]
    verbs: dict[str, float]

    @property
    def both(self) -> tuple[str, ...]:
        """Words that can be nouns or verbs."""
        return tuple(word for word in self.nouns if word in self.verbs)


def word_classes(images: Tagged) -> Classes:
    """Return the classes. Nouns: 5 times or more and at least half of the time. Verbs: 25 times or more and
    at least a quarter.

    The thresholds differ because taggers often tag verbs of captions as nouns, and verbs have more meanings.
    """
    words = [word for captions in images for caption in captions for word in caption]
    total = Counter(word.lemma for word in words)
    tagged = Counter(words)

    def retained(part: str, least: int, share: float) -> dict[str, float]:
        counts = {lemma: tagged[Word(lemma, part)] for lemma in sorted(total)}
        return {w: n / total[w] for w, n in counts.items() if n >= least and n >= share * total[w]}

    return Classes(nouns=retained(NOUN, 5, 0.5), verbs=retained(VERB, 25, 0.25))


def aligned(images: Tagged, *, first: int = TRAINING_STEPS, second: int = TRAINING_STEPS) -> WordKernel:
    """Return kappa_A: eq. 25 and the cosine of eq. 18, over the noun and verb vocabularies.

    Raises ValueError if no two captions of one image both have nouns, or both have verbs.
    """
    classes = word_classes(images)
    words = sorted({*classes.nouns, *classes.verbs})
    places = {word: index for index, word in enumerate(words)}
    vectors = np.zeros((len(words), len(words)))
    count = 0
    for part, shares in ((NOUN, classes.nouns), (VERB, classes.verbs)):
        pairs = caption_pairs(
            [[w.lemma for w in caption if w.part == part and w.lemma in shares] for caption in captions]
            for captions in images
        )
        if not pairs:
            continue
        count += len(pairs)
        learned: Translations = train_alignment(pairs, first=first, second=second)
        columns = [places[word] for word in learned.words]
        weight = np.array([shares[word] for word in learned.words])
        vectors[np.ix_(columns, columns)] += weight[:, None] * learned.matrix
    if not count:
        raise ValueError(
            f"no two captions of one image have a frequent noun or verb each, in {len(images)} images; "
            "alignment needs several captions for each image"
        )
    return WordKernel.of_vectors(words, vectors)
