"""Rules that mend phrases of many images: all "golf club" to another category, or into one phrase."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from annotation.protocol.mentions import mentions_at
from annotation.protocol.rulings import Phrases
from annotation.protocol.terms import Mention, Span

#: What a rule does: give phrases that end with its words other categories; remove these phrases; put its
#: words into one phrase, with the phrases that they are part of; make exactly its words a phrase.
CATEGORISE: Final = "categorise"
REMOVE: Final = "remove"
JOIN: Final = "join"
CUT: Final = "cut"


@dataclass(frozen=True, slots=True)
class PhraseRule:
    """A rule on the phrases with these `words`, whatever their case.

    With `whole`, CATEGORISE and REMOVE take only phrases of exactly these words. `categories` are those of
    CATEGORISE; JOIN and CUT give them to the new phrase, or without any those of its words.
    """

    act: str
    words: tuple[str, ...]
    categories: tuple[str, ...] = ()
    whole: bool = False

    @property
    def reads_captions(self) -> bool:
        """Whether it depends on more words than those of phrases."""
        return self.act in (JOIN, CUT)

    def mends(self, captions: Sequence[Sequence[str]], mentions: Sequence[Mention]) -> Phrases | None:
        """Return what the rule changes in an image with these captions (their words) and mentions; None if
        nothing."""
        words = tuple(word.casefold() for word in self.words)
        if self.reads_captions:
            return self._respanned(words, captions, mentions)
        chosen = [mention for mention in mentions if self._names(words, mention)]
        if self.act == REMOVE:
            return Phrases(tuple(mention.id for mention in chosen)) if chosen else None
        changed = [m for m in chosen if m.categories != self.categories]
        return (
            Phrases((), tuple(replace(m, categories=self.categories) for m in changed)) if changed else None
        )

    def _names(self, words: Sequence[str], mention: Mention) -> bool:
        tokens = tuple(token.casefold() for token in mention.tokens)
        return tokens == words if self.whole else tokens[-len(words) :] == words

    def _respanned(
        self, words: Sequence[str], captions: Sequence[Sequence[str]], mentions: Sequence[Mention]
    ) -> Phrases | None:
        removed: dict[str, None] = {}
        spans: dict[Span, None] = {}
        for caption, start, end in _places(words, captions):
            touched = [m for m in mentions if m.caption == caption and m.start < end and start < m.end]
            if self.act == JOIN:
                start = min([start, *(mention.start for mention in touched)])
                end = max([end, *(mention.end for mention in touched)])
            if [m.span for m in touched] != [(caption, start, end)]:
                removed.update((mention.id, None) for mention in touched)
                spans[caption, start, end] = None
        if not spans:
            return None
        added = mentions_at(captions, spans)
        if self.categories:
            added = tuple(replace(mention, categories=self.categories) for mention in added)
        return Phrases(tuple(removed), added)


def _places(words: Sequence[str], captions: Sequence[Sequence[str]]) -> Iterator[Span]:
    """Yield where the words stand in captions, without overlaps."""
    for number, caption in enumerate(captions):
        folded = [word.casefold() for word in caption]
        start = 0
        while start + len(words) <= len(folded):
            if tuple(folded[start : start + len(words)]) == tuple(words):
                yield number, start, start + len(words)
                start += len(words)
            else:
                start += 1


def proposed_span(words: Sequence[str], span: Span, comment: str) -> Span | None:
    """Return the phrase that a worker's comment on a wrong phrase probably proposes; None if it says none.

    It is the longest run of the caption's words that the comment has too, and that shares a word with the
    phrase at `span`; the earliest of equally long ones. None if it is the phrase itself.
    """
    caption, start, end = span
    text = " ".join(_word(word) for word in comment.split())
    runs = [
        (first, last)
        for first in range(len(words))
        for last in range(first + 1, len(words) + 1)
        if first < end and start < last
    ]
    named = [run for run in runs if f" {' '.join(map(_word, words[slice(*run)]))} " in f" {text} "]
    if not named:
        return None
    first, last = max(named, key=lambda run: (run[1] - run[0], -run[0]))
    return None if (first, last) == (start, end) else (caption, first, last)


def _word(word: str) -> str:
    return word.casefold().strip("\"'“”‘’.,;:!?()[]")
