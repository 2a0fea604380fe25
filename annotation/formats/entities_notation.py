"""The sentences of Flickr30k Entities: `[/EN#<chain>/<type>(/<type>)* words]` among plain words.

Words are separated by spaces. A word may not begin with `[` nor end with `]`: brackets at
a word's edge belong to the notation. Chain 0 is "not visual", each such mention alone.
Source: Plummer et al. 2015, the published annotation.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from annotation.protocol.terms import NOT_VISUAL, Chain, Mention

_OPENING = "[/EN#"
NOTATION = "[/EN#<chain>/<type> words]"

_CHAIN = re.compile(r"[0-9]{1,40}")
_TYPE = re.compile(r"[^\s/\[\]]+")


class BadNotation(ValueError):
    """A sentence that breaks the notation; `str()` names the error and the word."""


@dataclass(frozen=True, slots=True)
class Bracketed:
    """One mention in a sentence: its chain, its types, its words from `start` to `end`."""

    chain: str
    types: tuple[str, ...]
    start: int
    end: int


def parse_sentence(line: str) -> tuple[tuple[str, ...], tuple[Bracketed, ...]]:
    """Return the words of a sentence, without brackets, and its mentions.

    Raises BadNotation for a mention that is unclosed, nested, empty, without type or with a chain that is no
    number, and for a bracket without a mention.
    """
    words: list[str] = []
    mentions: list[Bracketed] = []
    opened: tuple[str, tuple[str, ...], int] | None = None
    for index, token in enumerate(line.split(), 1):
        if token.startswith(_OPENING):
            if opened is not None:
                raise BadNotation(f"{token!r} (word {index}) opens a mention inside one that is not closed")
            if token.endswith("]"):
                raise BadNotation(f"the mention {token!r} (word {index}) is empty")
            chain, types = _header(token, index)
            opened = (chain, types, len(words))
            continue
        closes = opened is not None and token.endswith("]")
        word = token[:-1] if closes else token
        if word.startswith("[") or word.endswith("]"):
            raise BadNotation(f"the bracket of {token!r} (word {index}) belongs to no mention")
        if word:
            words.append(word)
        if closes and opened is not None:
            chain, types, start = opened
            if start == len(words):
                raise BadNotation(f"the mention of chain {chain} before word {index} is empty")
            mentions.append(Bracketed(chain, types, start, len(words)))
            opened = None
    if opened is not None:
        raise BadNotation(f"the mention of chain {opened[0]} is not closed")
    return tuple(words), tuple(mentions)


def _header(token: str, index: int) -> tuple[str, tuple[str, ...]]:
    """Return chain and types of an opening token."""
    chain, *types = token.removeprefix(_OPENING).split("/")
    if not _CHAIN.fullmatch(chain):
        raise BadNotation(f"the chain id {chain!r} of {token!r} (word {index}) is not a number")
    if not types or not all(_TYPE.fullmatch(kind) for kind in types):
        raise BadNotation(f"{token!r} (word {index}) names no type")
    return chain, tuple(types)


def chains_of(sentences: Iterable[tuple[tuple[str, ...], tuple[Bracketed, ...]]]) -> tuple[Chain, ...]:
    """Return the chains of an image's sentences in the order of their first mention."""
    chains: list[tuple[str, list[Mention]]] = []
    by_id: dict[str, list[Mention]] = {}
    for caption, (words, mentions) in enumerate(sentences):
        for m in mentions:
            mention = Mention(caption, m.start, m.end, words[m.start : m.end], m.types)
            if m.chain in by_id:
                by_id[m.chain].append(mention)
                continue
            held = [mention]
            chains.append((m.chain, held))
            if m.chain != NOT_VISUAL:
                by_id[m.chain] = held
    return tuple(Chain(id, tuple(held)) for id, held in chains)


def print_sentence(words: tuple[str, ...], mentions: Iterable[tuple[str, Mention]]) -> str:
    """Return a sentence from its words and its (chain id, mention) pairs.

    Raises BadNotation if the notation cannot express it: overlapping mentions, a chain id that is no number,
    a bracket at a word's edge.
    """
    for index, word in enumerate(words, 1):
        if word.startswith("[") or word.endswith("]"):
            raise BadNotation(f"the bracket at the edge of {word!r} (word {index}) belongs to the notation")
    parts: list[str] = []
    done = 0
    for chain, mention in sorted(mentions, key=lambda pair: pair[1].span):
        if mention.start < done:
            raise BadNotation(f"the mention {mention.text!r} overlaps the one before it")
        if not _CHAIN.fullmatch(chain):
            raise BadNotation(f"the chain id {chain!r} is not a number")
        parts.extend(words[done : mention.start])
        parts.append(f"{_OPENING}{chain}/{'/'.join(mention.categories)}")
        parts.extend(words[mention.start : mention.end - 1])
        parts.append(f"{words[mention.end - 1]}]")
        done = mention.end
    parts.extend(words[done:])
    return " ".join(parts)
