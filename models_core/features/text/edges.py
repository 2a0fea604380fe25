"""Dependency edges of a sentence: of each word its relation, the word that it depends on, and itself.

An edge is kept as one token, its three parts with tabs between them, so that a sentence is a sequence of
edges as it is of words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

#: What the word that depends on nothing depends on. No word of a sentence is written so.
ROOT_WORD = "<root>"


class Edge(NamedTuple):
    """`word` depends on `head` by `relation`."""

    relation: str
    head: str
    word: str

    @property
    def token(self) -> str:
        """The edge as one token."""
        return "\t".join(self)

    @classmethod
    def of_token(cls, token: str) -> Edge:
        """What `token` gave. Raises ValueError for what is no edge."""
        relation, head, word = token.split("\t")
        return cls(relation, head, word)


def edges_of(forms: Sequence[str], heads: Iterable[int], relations: Iterable[str]) -> tuple[Edge, ...]:
    """The edges of a sentence, words in lower case; punctuation has none.

    `heads` are the numbers of the words depended on, counted from 1; 0 is none.
    """
    words = [form.lower() for form in forms]
    return tuple(
        Edge(relation, words[head - 1] if head else ROOT_WORD, word)
        for word, head, relation in zip(words, heads, relations, strict=True)
        if any(map(str.isalnum, word)) and (not head or any(map(str.isalnum, words[head - 1])))
    )
