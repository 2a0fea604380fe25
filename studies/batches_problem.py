"""Pools for measurements: generated systems, and the judged pairs of Flickr8k.

Generated: each caption has a place in a space of topics, each image is near its own captions, and is
described by the captions nearest to it. A system sees the topics through noise of its own: half of it is
shared by systems of one family, as systems of one kind err alike.

Real: the candidates of an image are the captions that Flickr8k's crowd judged for it, and what the crowd's
majority said is the truth. Systems rank them by the words they share with the image's other captions, each
system with its own words, weights and references. These are no image systems (nobody kept the rankings of the
paper's); that they differ in quality and err in kind is what matters here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phrasebox.formats.base import JUDGMENT_FORMATS
from phrasebox.metrics.overlap import content_words, count_matrix, words
from phrasebox.pooling.pools import ANNOTATION, SEARCH, PairIds, Shortlist, Space

Matrix = NDArray[np.float64]


def generated(
    systems: int = 30, images: int = 1000, depth: int = 10, *, seed: int = 0
) -> tuple[list[Shortlist], Space, PairIds]:
    """Two runs a system, the space (a caption an image), and the relevant pairs, sorted."""
    rng = np.random.default_rng(seed)
    topics = 24
    where = rng.standard_normal((images, topics))
    topics_of_captions = where + 0.5 * rng.standard_normal((images, topics))
    truth = _nearness(where, topics_of_captions)
    space = Space(images, np.arange(images))
    cut = np.partition(truth, -3, axis=1)[:, -3].mean()
    relevant = np.flatnonzero((truth >= cut).ravel() | np.eye(images, dtype=bool).ravel())
    families = rng.standard_normal((5, images, topics))
    lists = []
    for number in range(systems):
        noise = 0.5 + 2.0 * number / max(1, systems - 1)
        topics_of_images = rng.standard_normal((images, topics))
        seen = where + noise * np.sqrt(0.5) * (families[number % 5] + topics_of_images)
        lists += shortlists(f"s{number:02}", _nearness(seen, topics_of_captions), depth)
    return lists, space, relevant


def shortlists(name: str, scores: Matrix, depth: int) -> list[Shortlist]:
    """A system's two runs from its scores, shape (images, captions)."""
    return [
        Shortlist(f"{name}-{word}", direction, np.arange(len(side)), _best(side, depth), name)
        for word, direction, side in (("a", ANNOTATION, scores), ("s", SEARCH, scores.T))
    ]


def flickr8k(folder: Path, depth: int = 10) -> tuple[list[Shortlist], Space, PairIds]:
    """The same from the crowd's judgments in `folder`: only judged captions are ranked, by words."""
    pairs = list(JUDGMENT_FORMATS.get("flickr8k-crowd").read(folder))
    captions = dict(_captions(folder / "Flickr8k.token.txt"))
    queries = sorted({pair.query for pair in pairs} | {pair.document.partition("#")[0] for pair in pairs})
    numbers = {name: number for number, name in enumerate(queries)}
    space = Space(len(queries), np.arange(len(queries)))
    judged = np.full((len(queries), len(queries)), np.nan)
    for pair in pairs:
        judged[numbers[pair.query], numbers[pair.document.partition("#")[0]]] = pair.mean > 0.5
    lists: list[Shortlist] = []
    candidates = [captions[f"{name}#2"] for name in queries]
    for cut_name, cut in (("w", words), ("c", content_words)):
        texts = [cut(text) for text in candidates]
        for references in ("0", "1", "3", "4", "01", "34", "0134"):
            words_of_references = [
                [word for n in references for word in cut(captions[f"{name}#{n}"])] for name in queries
            ]
            for idf in (False, True):
                scores = np.where(np.isnan(judged), -np.inf, _cosine(words_of_references, texts, idf=idf))
                lists += shortlists(f"{cut_name}{references}{'i' if idf else ''}", scores, depth)
    relevant = np.flatnonzero((np.nan_to_num(judged) > 0).ravel() | np.eye(len(queries), dtype=bool).ravel())
    return lists, space, relevant


def _captions(file: Path) -> Iterator[tuple[str, str]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            name, _, text = line.rstrip("\n").partition("\t")
            yield name, text


def _cosine(references: list[list[str]], texts: list[list[str]], *, idf: bool) -> Matrix:
    vocabulary: dict[object, int] = {}
    left = count_matrix(references, vocabulary)
    right = count_matrix(texts, vocabulary)
    left.resize((left.shape[0], right.shape[1]))
    weight = np.ones(right.shape[1])
    if idf:
        weight = np.log(len(texts) / np.maximum(1, (right > 0).sum(axis=0)))
    sides = [side.astype(np.float64) @ sparse.diags_array(weight) for side in (left, right)]
    lengths = [np.sqrt(np.maximum((side**2).sum(axis=1), 1e-12)) for side in sides]
    return np.asarray((sides[0] @ sides[1].T).toarray() / lengths[0][:, None] / lengths[1][None, :])


def _nearness(images: Matrix, captions: Matrix) -> Matrix:
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (images, captions)]
    return np.asarray(unit[0] @ unit[1].T)


def _best(scores: Matrix, depth: int) -> PairIds:
    order = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    return np.where(np.isfinite(np.take_along_axis(scores, order, axis=1)), order, -1).astype(np.int64)
