"""The trigram kernel with similarities, beside the obvious NumPy code and the machine's peak.

    python -m benchmarks.trigram [--images 6000] [--folder FLICKR8K]

Items have five captions. With a folder they are Flickr8k's training captions, lemmatised, and the
similarities are distributional ones of the same captions; else words are drawn by Zipf's law, captions
have the lengths of Flickr8k's, and similarities are made up. Every word of the vocabulary of some
2,000 has a similarity with every other in either case, so the work is that of TRI5SEM. The kernel is
the exact count, weighted by the root of idf, normalised and in double precision.

"obvious" is the same count for one pair of captions after another, with NumPy's cumulative sums; it is
run on a sample and multiplied up. A pair of caption places costs 9 operations at least, additions and
multiplications; the peak is what a product of two matrices reaches in double precision. The first call
compiles and is not counted. The slope is that of log time against log images, 2 in theory.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from annotation.management.base import table
from models_core.kernels.trigram_similar import SimilarTrigram
from models_core.text.distributional import distributional
from models_core.text.idf import Document
from models_core.text.lemmas import content
from models_core.text.similarity import WordKernel

#: Captions of Flickr8k by their number of content lemmas, per thousand, from 1 on.
LENGTHS = (0, 8, 57, 140, 197, 197, 161, 109, 65, 33, 16, 9, 4, 2, 1, 1)
#: Additions and multiplications to a pair of places, without repeated words.
OPERATIONS = 9


def made_up(images: int) -> list[Document]:
    dice = np.random.default_rng(0)
    chances = 1 / np.arange(1, 5001)
    shares = np.array(LENGTHS) / sum(LENGTHS)
    items: list[Document] = []
    for _ in range(images):
        lengths = dice.choice(len(LENGTHS), 5, p=shares) + 1
        items.append([[f"w{w}" for w in dice.choice(5000, n, p=chances / chances.sum())] for n in lengths])
    return items


def real(folder: Path, images: int) -> list[Document]:
    training = set((folder / "Flickr_8k.trainImages.txt").read_text().split())
    found: defaultdict[str, list[Sequence[str]]] = defaultdict(list)
    for line in (folder / "Flickr8k.lemma.token.txt").read_text().splitlines():
        key, _, text = line.partition("\t")
        if key.split("#")[0] in training:
            found[key.split("#")[0]].append(content(text))
    items: list[Document] = [found[key] for key in sorted(found)]
    return items[:images]


def similarities(items: list[Document], folder: Path | None) -> WordKernel:
    if folder:
        return distributional([words for item in items for words in item]).cut(0.01)
    near = np.random.default_rng(1).random((2000, 50))
    return WordKernel.of_vectors([f"w{n}" for n in range(2000)], near)


def obvious(items: list[Document], kernel: SimilarTrigram) -> float:
    """Seconds for one pair of captions, by cumulative sums; the mean over pairs of some items."""
    places = dict(kernel.similarity.places)
    sample = [words for item in items[:20] for words in item if words]
    numbers = [np.array([places.setdefault(w, len(places)) for w in words]) for words in sample]
    weight = np.array([kernel.match * kernel.weight(w) for w in places])
    known = len(kernel.similarity.words)
    begun, pairs = time.perf_counter(), 0
    for a in numbers:
        for b in numbers:
            both = (a[:, None] < known) & (b < known)
            near = kernel.similarity.matrix[np.minimum(a, known - 1)][:, np.minimum(b, known - 1)]
            alike = np.where(both, near, a[:, None] == b)
            w = alike * np.outer(weight[a], weight[b])
            two = w * _before(w)
            float(w.sum() + two.sum() + (w * _before(two)).sum())
            pairs += 1
    return (time.perf_counter() - begun) / pairs


def _before(values: np.ndarray) -> np.ndarray:
    """Sums over all places before, in both captions."""
    return np.pad(values.cumsum(0).cumsum(1), ((1, 0), (1, 0)))[:-1, :-1]


def peak() -> float:
    """Operations a second of a product of two matrices, the best of three."""
    matrix = np.random.default_rng(0).random((2048, 2048))
    best = np.inf
    for _ in range(3):
        begun = time.perf_counter()
        matrix @ matrix
        best = min(best, time.perf_counter() - begun)
    return 2 * 2048**3 / best


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=6000)
    parser.add_argument("--folder", type=Path, help="Flickr8k's text files, with the lemmatised captions")
    options = parser.parse_args()
    items = real(options.folder, options.images) if options.folder else made_up(options.images)
    kernel = SimilarTrigram(items, similarities(items, options.folder), weighting="sqrt-idf")
    kernel.gram(items[:80], items[:80])
    slow, best = obvious(items, kernel), peak()
    rows, times = [], []
    sizes = [len(items) // 4, len(items) // 2, len(items)]
    for size in sizes:
        part = items[:size]
        lengths = np.array([len(words) for item in part for words in item])
        pairs = len(lengths) * (len(lengths) + 1) / 2
        begun, busy = time.perf_counter(), time.process_time()
        kernel.gram(part, part)
        seconds, busy = time.perf_counter() - begun, time.process_time() - busy
        times.append(seconds)
        rate = OPERATIONS * lengths.sum() ** 2 / 2 / seconds
        rows.append([size, len(lengths), seconds, busy, seconds / pairs * 1e6, slow * pairs, rate / best])
    print(
        table(
            ["images", "captions", "s", "processor s", "us a pair", "obvious, s", "share of peak"],
            rows,
        )
    )
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    print(f"slope {slope:.2f}; a product of matrices makes {best / 1e9:.1f} GFLOP/s")


if __name__ == "__main__":
    main()
