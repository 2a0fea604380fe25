"""The kernels' equations written out, one pair at a time; and small items for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import prod

import numpy as np
from hypothesis import strategies as st

WORDS = ("dog", "run", "ball", "red", "boy")

captions = st.lists(st.sampled_from(WORDS), max_size=7)
items = st.lists(captions, min_size=1, max_size=3)
#: Two items or more.
collections = st.lists(items, min_size=2, max_size=5)


@cache
def matches(words: tuple[str, ...], gap: float = 1.0) -> Mapping[tuple[str, ...], float]:
    """Eq. 12: sequence -> its distinct substrings (i, j), each counting gap^(j - i + 1 - k)."""
    result: dict[tuple[str, ...], set[tuple[int, int]]] = {}
    for i, first in enumerate(words):
        result.setdefault((first,), set()).add((i, i))
        for j in range(i + 1, len(words)):
            result.setdefault((first, words[j]), set()).add((i, j))
            for middle in range(i + 1, j):
                result.setdefault((first, words[middle], words[j]), set()).add((i, j))
    return {w: sum(gap ** (j - i + 1 - len(w)) for i, j in spans) for w, spans in result.items()}


def trigram(
    s: Sequence[str],
    t: Sequence[str],
    alike: Callable[[str, str], float],
    weight: Callable[[str], float],
    gap: float = 1.0,
) -> float:
    """Eq. 21, with `weight` the square root of a word's lambda on both sides."""
    total = 0.0
    for w, m in matches(tuple(s), gap).items():
        for v, n in matches(tuple(t), gap).items():
            if len(w) == len(v):
                weights = prod(weight(x) * weight(y) for x, y in zip(w, v, strict=True))
                total += m * n * 0.25 ** len(w) * weights * prod(map(alike, w, v))
    return total


def gram(
    first: Sequence, second: Sequence, pair: Callable[[Sequence[str], Sequence[str]], float]
) -> np.ndarray:
    """Sum responses over pairs of captions, divided by the geometric mean of both items' self-responses."""

    @cache
    def alike(s: tuple[str, ...], t: tuple[str, ...]) -> float:
        return pair(s, t)

    def response(x: Sequence, y: Sequence) -> float:
        return sum(alike(tuple(s), tuple(t)) for s in x for t in y)

    values = np.array([[response(x, y) for y in second] for x in first])
    norms = np.outer([response(x, x) for x in first], [response(y, y) for y in second])
    return np.divide(values, np.sqrt(norms), out=np.zeros_like(values), where=norms > 0)


def same(first: str, second: str) -> float:
    return float(first == second)


def least_eigenvalue(matrix: np.ndarray) -> float:
    return float(np.linalg.eigvalsh(matrix).min())
