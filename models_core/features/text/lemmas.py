"""Captions as lemmas with their parts of speech, for similarities and text kernels.

Lemmas are in lower case; punctuation and stop words have none. If a corpus is lemmatised (as Flickr8k is),
its lemmas are used, and `joined` matches them with the words as written. Everything else is tagged and
lemmatised offline by HanTa (Wartena, "The Hanover Tagger", 2019).

Source: Hodosh et al. 2013, sections 3.5.4 and 4.1.1. They tag with OpenNLP before they lemmatise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from models_core.features.text.hanta import english_tagger
from phrasebox.text.stopwords import STOP_WORDS
from phrasebox.text.tokens import tokenise

NOUN, VERB, OTHER_PART = "noun", "verb", ""

_REMEMBERED = 2**16  # size of the cache of words and their lemmas
_LONGEST_WORD = 40  # HanTa's analysis of a word grows with the square of its length
_ARTICLES = frozenset(("a", "an", "the"))


@dataclass(frozen=True, slots=True)
class Word:
    """A lemma of a caption and its part of speech: NOUN, VERB or OTHER."""

    lemma: str
    part: str


def carries_content(lemma: str) -> bool:
    """Whether a lemma in lower case is neither punctuation nor a stop word."""
    return lemma not in STOP_WORDS and any(map(str.isalnum, lemma))


def content(lemmatised: str) -> tuple[str, ...]:
    """Return the content lemmas of a lemmatised caption, words separated by white space, in order."""
    return tuple(lemma for lemma in lemmatised.lower().split() if carries_content(lemma))


class Lemmatiser:
    """HanTa's English model; about 2,500 captions per second.

    The lemma of a word depends only on its part of speech: each pair of the two is looked up once.
    """

    def __init__(self) -> None:
        self._hanta = english_tagger()
        self._lemma = lru_cache(_REMEMBERED)(self._analysed)

    def content(self, caption: str) -> tuple[str, ...]:
        """Return the content lemmas of a raw caption, in order."""
        return tuple(word.lemma for word in self.words(caption))

    def words(self, caption: str, lemmatised: str | None = None) -> tuple[Word, ...]:
        """Return the content words of a caption with their parts of speech, in order.

        With `lemmatised`, the caption as lemmatised by its corpus, lemmas are taken from there, and a word
        that ends in -ing or -ed as written, but not as a lemma, is a verb whatever the tagger says.
        """
        tokens = tokenise(caption)
        tagged = self._tagged(tokens)
        if lemmatised is None:
            pairs = [Word(lemma.lower(), part) for lemma, part in tagged]
        else:
            lemmas = lemmatised.lower().split()
            pairs = [
                Word(lemma, OTHER_PART if index is None else _part(tokens[index], lemma, tagged[index][1]))
                for lemma, index in zip(lemmas, joined(tokens, lemmas), strict=True)
            ]
        return tuple(word for word in pairs if carries_content(word.lemma))

    def every_token(self, tokens: Sequence[str]) -> tuple[Word, ...]:
        """Return a lemma in lower case and its part of speech for each of `tokens`, including stop words and
        punctuation.

        `tokens` are a caption's, as returned by `tokenise`.
        """
        return tuple(Word(lemma.lower(), part) for lemma, part in self._tagged(tokens))

    def _tagged(self, tokens: Sequence[str]) -> list[tuple[str, str]]:
        """Return lemma and part of speech of each token."""
        if not tokens:
            return []
        # A capital distinguishes names from nouns, except at the start of a sentence.
        spelled = [token if index else token.lower() for index, token in enumerate(tokens)]
        seen = [t if len(t) <= _LONGEST_WORD else "?" for t in spelled]
        tags = self._hanta.tag_sent(seen, taglevel=0)
        parts = {"N": NOUN, "V": VERB}
        return [
            (self._lemma(word, tag) if len(token) <= _LONGEST_WORD else token, parts.get(tag[:1], OTHER_PART))
            for token, word, tag in zip(tokens, seen, tags, strict=True)
        ]

    def _analysed(self, word: str, tag: str) -> str:
        """Return the lemma of a word with this tag, in HanTa's spelling."""
        lemma: str = self._hanta.analyze(word, tag, taglevel=1)[0]
        return lemma


def joined(tokens: Sequence[str], lemmas: Sequence[str]) -> list[int | None]:
    """Return the index in `tokens` of each of `lemmas`, in order; None for a lemma without a token.

    If both have the same length, they correspond one to one. Otherwise the lemmatiser dropped or split words,
    and the pairs are those that share the most initial letters, in order (a longest common subsequence with
    weights).
    """
    if len(tokens) == len(lemmas):
        return list(range(len(tokens)))
    best = [[0.0] * (len(lemmas) + 1) for _ in range(len(tokens) + 1)]
    alike = [[_likeness(token.lower(), lemma.lower()) for lemma in lemmas] for token in tokens]
    for i, row in enumerate(alike):
        for j, value in enumerate(row):
            best[i + 1][j + 1] = max(best[i][j] + value, best[i][j + 1], best[i + 1][j])
    indices: list[int | None] = [None] * len(lemmas)
    i, j = len(tokens), len(lemmas)
    while i and j:
        if best[i][j] == best[i - 1][j]:
            i -= 1
        elif best[i][j] == best[i][j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            indices[j] = i
    return indices


def _likeness(token: str, lemma: str) -> float:
    """Return 1 for the same word, otherwise the share of common initial letters; articles are alike."""
    if token == lemma:
        return 1.0
    if lemma in _ARTICLES and token in _ARTICLES:
        return 0.5
    common = 0
    for a, b in zip(token, lemma, strict=False):
        if a != b:
            break
        common += 1
    return common / max(len(token), len(lemma)) if common > 1 else 0.0


def _part(token: str, lemma: str, tagged: str) -> str:
    """Return the part of speech. Taggers often take "a dog running" for a noun; the corpus's lemma "run"
    corrects this."""
    surface = token.lower()
    return VERB if surface.endswith(("ing", "ed")) and surface != lemma else tagged
