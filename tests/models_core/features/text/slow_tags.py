"""The equations of ranked tags as printed, for comparison with the product."""

from __future__ import annotations

from fractions import Fraction

from models_core.features.text.lemmas import NOUN, Word


def read_slowly(captions: list[tuple[Word, ...]], alpha: Fraction) -> dict[str, Fraction]:
    """Equations 7 to 9 as printed, in fractions, a word at a time."""
    bare = [[word for word in caption if any(map(str.isalnum, word.lemma))] for caption in captions]
    nouns = {word.lemma for caption in bare for word in caption if word.part == NOUN}
    scores = {}
    for w in nouns:
        places = [
            1 - Fraction(index + 1, len(caption))
            for caption in bare
            for index, word in enumerate(caption)
            if word == Word(w, NOUN)
        ]
        total = sum(word.part == NOUN for caption in bare for word in caption)
        scores[w] = alpha * Fraction(len(places), total) + (1 - alpha) * max(places)
    return scores
