"""Dependency edges of a sentence: each word with its relation and its head.

An edge is encoded as one token, its three parts separated by tabs, so that a sentence is a sequence of edges
in the same way as of words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

#: The head of the root. No word of a sentence is spelled like this.
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
        """Return the edge of a token. Raises ValueError for an invalid token."""
        relation, head, word = token.split("\t")
        return cls(relation, head, word)


def edges_of(forms: Sequence[str], heads: Iterable[int], relations: Iterable[str]) -> tuple[Edge, ...]:
    """Return the edges of a sentence, words in lower case; punctuation has none.

    `heads` are the numbers of the head words, counted from 1; 0 is the root's.
    """
    words = [form.lower() for form in forms]
    return tuple(
        Edge(relation, words[head - 1] if head else ROOT_WORD, word)
        for word, head, relation in zip(words, heads, relations, strict=True)
        if any(map(str.isalnum, word)) and (not head or any(map(str.isalnum, words[head - 1])))
    )
