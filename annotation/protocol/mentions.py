"""Mentions of captions: noun phrase chunks without non-visual ones, with categories.

Source: Plummer et al. 2015, section 2.1: "With the exception of personal pronouns (he, she, they) and a small
list of frequent non-visual terms (background, air), we assume that any noun-phrase (NP) chunk is a potential
entity mention." Conventions: docs/mentions.md.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from annotation.protocol.categories import categories_of
from annotation.protocol.chunker.chunking import Chunker, NounPhraseChunker
from annotation.protocol.chunker.wordlists import sections
from annotation.protocol.terms import ImageRecord, Mention, Span
from models_core.features.text import wordnet

Categoriser = Callable[[Sequence[str]], tuple[str, ...]]

_ARTICLES = ("a", "an", "the")


def find_mentions(
    captions: Sequence[Sequence[str]],
    *,
    chunker: Chunker | None = None,
    categorise: Categoriser | None = None,
) -> tuple[Mention, ...]:
    """Return the mentions of one image's captions, in caption order.

    `captions` has each caption's words. The default `chunker` is the built-in one (loaded once per process);
    the default `categorise` uses the built-in dictionaries and WordNet's noun files, if Debian's package is
    installed.
    """
    chunker = chunker or _default_chunker()
    categorise = categorise or _default_categoriser()
    return tuple(
        Mention(number, start, end, words, categorise(words))
        for number, caption in enumerate(captions)
        for start, end in chunker.chunk(caption)
        if is_mention(words := tuple(caption[start:end]))
    )


def mentions_at(
    captions: Sequence[Sequence[str]], spans: Iterable[Span], *, categorise: Categoriser | None = None
) -> tuple[Mention, ...]:
    """Return the mentions at spans that a person marked, in caption order, with the categories of their
    words.

    `captions` and `categorise` are as in `find_mentions`. Every marked span is a mention, even if it is in
    the list of non-visual terms. Raises IndexError for a caption that does not exist.
    """
    categorise = categorise or _default_categoriser()
    return tuple(
        Mention(number, start, end, words, categorise(words))
        for number, start, end in sorted(spans)
        for words in [tuple(captions[number][start:end])]
    )


def mentions_of(record: ImageRecord) -> tuple[Mention, ...]:
    """Return the mentions of an image: its layer's, else those that a person marked, else those that the
    chunker finds in its captions."""
    if record.layer is not None:
        return record.layer.mentions
    captions = [caption.words for caption in record.captions]
    return find_mentions(captions) if record.marked is None else mentions_at(captions, record.marked)


def is_mention(words: Sequence[str]) -> bool:
    """Whether a noun phrase may be a mention: no pronoun, no non-visual term, not only signs.

    A term counts alone or with its article: "the background" is no mention, "a black top" is one.
    """
    lowered = [word.lower() for word in words]
    if lowered[0] in _ARTICLES and len(lowered) > 1:
        lowered = lowered[1:]
    lists = sections("not_mentions.txt")
    if len(lowered) == 1 and lowered[0] in lists["pronouns"] or "-".join(lowered) in lists["not visual"]:
        return False
    return any(character.isalnum() for word in lowered for character in word)


@cache
def _default_chunker() -> Chunker:
    return NounPhraseChunker()


@cache
def _default_categoriser() -> Categoriser:
    installed = wordnet.installed()
    return lambda words: categories_of(words, installed)
