"""The trigram kernel with similarities, compared with straightforward NumPy code and the machine's peak.

    python -m studies.trigram [--images 6000] [--folder FLICKR8K [--background FILE...]]

Items have five captions. With a folder they are Flickr8k's training captions, lemmatised, and the kernel is
TRI5SEM's: similarities by alignment and by distribution, in the captions and in a background text (see
`cross_validate`); with no such text, TRI5-sqrt-idf-A-ic's. Without a folder words are drawn by Zipf's law,
captions have the lengths of Flickr8k's, and each of 2,000 words has a made-up similarity with every other.
The kernel is the exact count of eq. 20 and 21, weighted by the root of idf, normalised and in double
precision; generating items and similarities is not timed.

"obvious" is the count for one pair of captions after another, with NumPy's cumulative sums, without using
repeated words; it is run on a sample and extrapolated. A pair of caption positions costs at least 9
operations, additions and multiplications; the peak is the rate of a matrix product in double precision. The
first call compiles and is not counted. The slope is that of log time against log images, 2 in theory.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from annotation.common.plain_text import text_table
from annotation.formats.flickr8k import Flickr8k
from models_core.features.text.background import read_sentences
from models_core.features.text.lemmas import Lemmatiser
from models_core.phase_cache import PhaseCache
from models_core.systems.kernels import Resources, similarity_of
from models_core.systems.table11 import TABLE_11
from phrasebox.kernels.idf import Document
from phrasebox.kernels.similarity import WordKernel
from phrasebox.kernels.trigram_similar import SimilarTrigram
from studies.hodosh.evidence import LEMMAS
from studies.hodosh.figure3 import tagged
from studies.measuring import peak, slope

#: Captions of Flickr8k by their number of content lemmas, per thousand, from 1 on.
LENGTHS = (0, 8, 57, 140, 197, 197, 161, 109, 65, 33, 16, 9, 4, 2, 1, 1)
#: Additions and multiplications per pair of positions, without repeated words.
OPERATIONS = 9


def made_up(images: int) -> list[Document]:
    rng = np.random.default_rng(0)
    chances = 1 / np.arange(1, 5001)
    shares = np.array(LENGTHS) / sum(LENGTHS)
    items: list[Document] = []
    for _ in range(images):
        lengths = rng.choice(len(LENGTHS), 5, p=shares) + 1
        items.append([[f"w{w}" for w in rng.choice(5000, n, p=chances / chances.sum())] for n in lengths])
    return items


def made_up_similarities() -> WordKernel:
    near = np.random.default_rng(1).random((2000, 50))
    return WordKernel.of_vectors([f"w{n}" for n in range(2000)], near)


def real(folder: Path, images: int, background: Sequence[Path]) -> tuple[list[Document], WordKernel, str]:
    """Return Flickr8k's training items, their similarities, and the recipe of these."""
    written = {record.id: record for record in Flickr8k().read(folder) if record.split == "train"}
    lemmas = {record.id: record for record in Flickr8k().read(folder / LEMMAS) if record.id in written}
    pairs = [(written[key], lemmas[key]) for key in sorted(written)[:images]]
    words = [tuple(captions) for captions in tagged(pairs, Lemmatiser())]
    recipe = TABLE_11["TRI5SEM" if background else "TRI5-sqrt-idf-A-ic"]
    sentences = [line for file in background for line in file.read_text("utf-8").splitlines()]
    aids = (
        Resources(read_sentences(sentences, cache=PhaseCache()), "background") if background else Resources()
    )
    similarity = similarity_of(recipe, words, aids, PhaseCache())
    assert similarity is not None
    items: list[Document] = [
        [[word.lemma for word in caption] for caption in image_captions] for image_captions in words
    ]
    return items, similarity, recipe.name


def obvious(items: list[Document], kernel: SimilarTrigram) -> float:
    """Return seconds for one pair of captions, by cumulative sums; the mean over pairs of some items."""
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
    """Return sums over all earlier positions, in both captions."""
    return np.pad(values.cumsum(0).cumsum(1), ((1, 0), (1, 0)))[:-1, :-1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=6000)
    parser.add_argument("--folder", type=Path, help="Flickr8k's text files, with the lemmatised captions")
    parser.add_argument("--background", type=Path, nargs="+", default=[], help="Texts, a sentence a line")
    options = parser.parse_args()
    if options.folder:
        items, similarity, name = real(options.folder, options.images, options.background)
    else:
        items, similarity, name = made_up(options.images), made_up_similarities(), "made-up similarities"
    alike = (np.count_nonzero(similarity.matrix) - len(similarity.words)) / len(similarity.words)
    print(f"{name}: {len(similarity.words)} words, similar to {alike:.0f} others each in the mean\n")
    kernel = SimilarTrigram(items, similarity, weighting="sqrt-idf")
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
        text_table(
            ["images", "captions", "s", "processor s", "us a pair", "obvious, s", "share of peak"],
            rows,
        )
    )
    print(f"slope {slope(sizes, times):.2f}; a product of matrices makes {best / 1e9:.1f} GFLOP/s")


if __name__ == "__main__":
    main()
