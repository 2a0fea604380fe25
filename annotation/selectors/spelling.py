"""Misspelt words of a sentence, and suggestions for them.

English, from the dictionary of pyspellchecker: a word is unknown if neither the dictionary nor the captions
of a corpus contain it. Suggestions are the known words with the fewest edits, at most two, the most frequent
first. The server loads the dictionary before it forks if a campaign asks for sentences; otherwise a process
loads and caches it on first use.

Source: Hodosh et al. 2013, section 2.3, for the care about spelling; Damerau 1964, for one edit.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from spellchecker import SpellChecker

from annotation.models import Campaign, Caption
from annotation.protocol.kinds import all_kinds

#: Maximum number of suggestions for a word, and of unknown words of a text that get any.
SUGGESTIONS, SUGGESTED_WORDS = 3, 6
#: Minimum frequency of other suggestions, relative to the likeliest.
LIKELY = 0.01
#: Maximum number of edits between a word and a suggestion.
MOST_EDITS = 2
#: Longer strings are no words.
LONGEST_WORD = 30
#: Number of captions of a corpus that are read, and how many of them must contain a word for it to be known.
CAPTIONS_READ, _OFTEN = 5_000, 3
#: Sizes of the caches of corpora's words, of words' suggestions, and of whether words are known: somebody who
#: types sends the same words repeatedly.
CACHED_CORPORA, CACHED_SUGGESTIONS, CACHED_WORDS = 8, 2048, 16_384

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
#: A sentence begins after these, and its first word is no name.
_BEGINS = re.compile(r"(?:^|[.!?][\"”']?\s)[^\w]*$")


class MisspeltWord(NamedTuple):
    """A word as it was written, and suggestions, likeliest first."""

    word: str
    suggestions: tuple[str, ...]


def misspelt_words(text: str, *, corpus: int | None = None) -> list[MisspeltWord]:
    """Return the words of `text` that look misspelt, as `unknown_words` does, with suggestions."""
    return [
        MisspeltWord(word, _suggestions(word) if index < SUGGESTED_WORDS else ())
        for index, word in enumerate(unknown_words(text, corpus=corpus))
    ]


def unknown_words(text: str, *, corpus: int | None = None) -> list[str]:
    """Return the words of `text` that look misspelt, without duplicates, in order.

    Names (a capital within a sentence), abbreviations in capitals and words with digits are ignored. `corpus`
    is the id of a corpus whose own words are known.
    """
    known = corpus_words(corpus) if corpus is not None else frozenset()
    return [word for word in dict.fromkeys(_words(text)) if not (_known(word) or _folded(word) in known)]


@lru_cache(maxsize=CACHED_CORPORA)
def corpus_words(corpus: int) -> frozenset[str]:
    """Return words that occur in several of the first captions of the corpus with this id: one query,
    once."""
    texts = Caption.objects.filter(image__corpus=corpus).order_by("image", "number")
    seen: Counter[str] = Counter()
    for text in texts.values_list("text", flat=True)[:CAPTIONS_READ]:
        seen.update({_folded(word) for word in _WORD.findall(text)})
    return frozenset(word for word, times in seen.items() if times >= _OFTEN)


@lru_cache(maxsize=1)
def _speller() -> SpellChecker:
    return SpellChecker(language="en")


def _words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word, (start, end) = match[0], match.span()
        beside = text[start - 1 : start] + text[end : end + 1]
        if len(word) == 1 or any(sign.isdigit() or sign == "_" for sign in beside):
            continue
        if word.isupper() or (word[0].isupper() and not _BEGINS.search(text[:start])):
            continue
        yield word


def _folded(word: str) -> str:
    return word.casefold().replace("’", "'")


@lru_cache(maxsize=CACHED_WORDS)
def _known(word: str) -> bool:
    folded = _folded(word)
    return bool(_speller().known({folded, folded.removesuffix("'s")}))


def is_needed() -> bool:
    """Whether a campaign that is not closed asks for sentences, after a test of spelling; one query."""
    written = [kind.tasks for kind in all_kinds() if kind.writes and kind.test_sentences is not None]
    return Campaign.objects.filter(tasks__in=written).exclude(state=Campaign.CLOSED).exists()


def load_dictionary() -> None:
    """Load the dictionary now (0.4 s of CPU time), so that no writer waits for it."""
    _by_length()


@lru_cache(maxsize=CACHED_SUGGESTIONS)
def _suggestions(word: str) -> tuple[str, ...]:
    folded = _folded(word)
    if len(folded) > LONGEST_WORD:
        return ()
    speller, mask = _speller(), _mask(folded)
    near = []
    for length in range(len(folded) - MOST_EDITS, len(folded) + MOST_EDITS + 1):
        for theirs, other_word in _by_length().get(length, ()):
            # An edit changes at most two letters, so most words can be skipped.
            if (theirs ^ mask).bit_count() <= 2 * MOST_EDITS:
                edits = _edits(folded, other_word)
                if edits <= MOST_EDITS:
                    near.append((edits, -speller[other_word], other_word))
    near.sort()
    likely = [
        other_word for edits, less, other_word in near if edits == near[0][0] and less <= LIKELY * near[0][1]
    ]
    likely = likely[:SUGGESTIONS]
    return tuple(other_word.capitalize() if word[0].isupper() else other_word for other_word in likely)


@lru_cache(maxsize=1)
def _by_length() -> dict[int, list[tuple[int, str]]]:
    """Return the dictionary's words by their lengths, each with its letters as bits."""
    by_length: dict[int, list[tuple[int, str]]] = {}
    for word in _speller().word_frequency.words():
        by_length.setdefault(len(word), []).append((_mask(word), word))
    return by_length


def _mask(word: str) -> int:
    mask = 0
    for letter in word:
        mask |= 1 << ord(letter) % 64
    return mask


def _edits(first: str, second: str) -> int:
    """Return the number of deletions, insertions, replacements and swaps of neighbours between `first` and
    `second`."""
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, 1):
        before, above, row = row, before, [i]
        for j, theirs in enumerate(second, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != theirs))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == theirs:
                least = min(least, above[j - 2] + 1)
            row.append(least)
    return row[-1]
