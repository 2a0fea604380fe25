"""Which words of a sentence look misspelt, and what they may have been meant to be.

English, from a dictionary that comes with pyspellchecker: a word is unknown where neither the dictionary nor
the captions of a corpus have it. Suggestions are the known words that are fewest edits away, two at most,
the most frequent first. The server loads the dictionary before it forks, where a campaign asks for sentences;
else a process does when it is asked for the first time, and keeps it.

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

#: Suggestions for a word, and unknown words of a text that get any.
SUGGESTIONS, SUGGESTED_WORDS = 3, 6
#: Of the likeliest suggestion's frequency, what others have at least.
LIKELY = 0.01
#: Edits between a word and what may have been meant.
MOST_EDITS = 2
#: Longer ones are no words.
LONGEST_WORD = 30
#: Captions of a corpus that are read, and how many of them have a word that counts as known.
CAPTIONS_READ, _OFTEN = 5_000, 3
#: Corpora whose words a process keeps, and words whose suggestions it does: somebody who types asks again and
#: again.
CORPORA_KEPT, SUGGESTIONS_KEPT = 8, 2048

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
#: After these a sentence begins, and its first word is no name.
_BEGINS = re.compile(r"(?:^|[.!?][\"”']?\s)[^\w]*$")


class MisspeltWord(NamedTuple):
    """A word as it was written, and what may have been meant, likeliest first."""

    word: str
    suggestions: tuple[str, ...]


def misspelt_words(text: str, *, corpus: int | None = None) -> list[MisspeltWord]:
    """The words of `text` that look misspelt, each once, in their order.

    Names (a capital within a sentence), abbreviations in capitals and what holds digits are left alone.
    `corpus` is the id of one whose own words count as known.
    """
    known = corpus_words(corpus) if corpus is not None else frozenset()
    odd = [word for word in dict.fromkeys(_words(text)) if not (_known(word) or _folded(word) in known)]
    return [
        MisspeltWord(word, _suggestions(word) if place < SUGGESTED_WORDS else ())
        for place, word in enumerate(odd)
    ]


@lru_cache(maxsize=CORPORA_KEPT)
def corpus_words(corpus: int) -> frozenset[str]:
    """Words that several captions have, of the first ones of the corpus with this id: one query, once."""
    texts = Caption.objects.filter(image__corpus=corpus).order_by("image", "number")
    seen: Counter[str] = Counter()
    for text in texts.values_list("text", flat=True)[:CAPTIONS_READ]:
        seen.update({_folded(word) for word in _WORD.findall(text)})
    return frozenset(word for word, times in seen.items() if times >= _OFTEN)


@lru_cache(maxsize=1)
def _speller() -> SpellChecker:
    return SpellChecker(language="en")


def _words(text: str) -> Iterator[str]:
    for found in _WORD.finditer(text):
        word, (start, end) = found[0], found.span()
        beside = text[start - 1 : start] + text[end : end + 1]
        if len(word) == 1 or any(sign.isdigit() or sign == "_" for sign in beside):
            continue
        if word.isupper() or (word[0].isupper() and not _BEGINS.search(text[:start])):
            continue
        yield word


def _folded(word: str) -> str:
    return word.casefold().replace("’", "'")


def _known(word: str) -> bool:
    folded = _folded(word)
    return bool(_speller().known({folded, folded.removesuffix("'s")}))


def is_needed() -> bool:
    """Whether a campaign that is not closed asks for sentences, after a test of spelling; one query."""
    written = [kind.tasks for kind in all_kinds() if kind.writes and kind.test_sentences is not None]
    return Campaign.objects.filter(tasks__in=written).exclude(state=Campaign.CLOSED).exists()


def load_dictionary() -> None:
    """Read the dictionary now (0.4 s of CPU time), so that nobody who writes waits for it."""
    _by_length()


@lru_cache(maxsize=SUGGESTIONS_KEPT)
def _suggestions(word: str) -> tuple[str, ...]:
    folded = _folded(word)
    if len(folded) > LONGEST_WORD:
        return ()
    speller, mask = _speller(), _mask(folded)
    near = []
    for length in range(len(folded) - MOST_EDITS, len(folded) + MOST_EDITS + 1):
        for theirs, one in _by_length().get(length, ()):
            # An edit changes two letters at most: most words need no closer look.
            if (theirs ^ mask).bit_count() <= 2 * MOST_EDITS:
                edits = _edits(folded, one)
                if edits <= MOST_EDITS:
                    near.append((edits, -speller[one], one))
    near.sort()
    likely = [one for edits, less, one in near if edits == near[0][0] and less <= LIKELY * near[0][1]]
    likely = likely[:SUGGESTIONS]
    return tuple(one.capitalize() if word[0].isupper() else one for one in likely)


@lru_cache(maxsize=1)
def _by_length() -> dict[int, list[tuple[int, str]]]:
    """The dictionary's words by their lengths, each with its letters as bits."""
    found: dict[int, list[tuple[int, str]]] = {}
    for word in _speller().word_frequency.words():
        found.setdefault(len(word), []).append((_mask(word), word))
    return found


def _mask(word: str) -> int:
    mask = 0
    for letter in word:
        mask |= 1 << ord(letter) % 64
    return mask


def _edits(one: str, other: str) -> int:
    """Letters left out, put in, replaced, or swapped with their neighbour, that make `one` into `other`."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, above, row = row, before, [i]
        for j, theirs in enumerate(other, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != theirs))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == theirs:
                least = min(least, above[j - 2] + 1)
            row.append(least)
    return row[-1]
