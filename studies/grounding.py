"""Grounding of phrases at the size of Flickr30k Entities: what training, localization and precision take.

    python -m studies.grounding [--only fisher training localizing precision] [--share 0.05]

- fisher: HGLMM Fisher vectors (30 components, 300 dimensions) of `--phrases` (423,000) phrases, not kept.
- training: region-phrase CCA of 137,133 pairs of `--region-numbers` (4,096) and `--phrase-numbers` (18,000)
  numbers by streamed sums, a `--share` of the pairs alone; the time of all pairs follows, since sums take as
  long for each. With `--solve` the maps are computed too, with one ridge.
- localizing: 14,500 phrases, 4,000 of them different, and the 100 regions of each of 1,000 images, embedded
  from their features in `--components` (512) and ranked.
- precision: detections of 7,000 phrases among all 100,000 regions with suppression, and their AP, a `--share`
  of the phrases alone; phrases are taken one after the other.

Peaks are those of the process, so run one part at a time to see its own.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import Dataset, RaggedRows, WordNumbers
from models_core.estimators.cca import canonical_maps
from models_core.estimators.covariances import PairedSums
from models_core.estimators.embeddings import LinearMap
from models_core.estimators.region_phrase import RegionPhraseCCA, RegionPhraseSettings
from models_core.features.text.fisher import FisherVectors
from models_core.features.text.mixtures import MixtureSettings, WordMixture
from models_core.features.text.phrases import PhraseRows
from phrasebox.metrics.localization import best_detections, box_average_precision
from phrasebox.scoring.tiles import Products

PAIRS, IMAGES, REGIONS, MENTIONS, PHRASES = 137_133, 1_000, 100, 14_500, 7_000
DIMENSIONS, WORDS = 300, 20_000
T = TypeVar("T")


def seconds(work: Callable[[], T]) -> tuple[str, float, T]:
    """Return the time of `work` by clock and CPU in words, the CPU time, and its result."""
    start, used = time.perf_counter(), time.process_time()
    result = work()
    took, used = time.perf_counter() - start, time.process_time() - used
    return f"{took:.1f} s, {used:.1f} s of CPU", used, result


def peak() -> str:
    return f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB"


@dataclass(frozen=True)
class _Drawn:
    """Random features, generated on access: a rotated block of random numbers."""

    numbers: int

    def rows(self, count: int, seed: int) -> NDArray[np.float32]:
        return np.random.default_rng(seed).standard_normal((count, self.numbers), dtype=np.float32)


def words_of(count: int, seed: int = 0) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Words of phrases of 1 to 4 words as Zipf has them, with where each phrase begins and ends."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 5, count)
    often = 1 / np.arange(1, WORDS + 1)
    words = rng.choice(WORDS, counts.sum(), p=often / often.sum())
    end = np.cumsum(counts)
    return words, end - counts, end


def mixture_of(vectors: NDArray[np.float32]) -> FisherVectors:
    return FisherVectors(WordMixture(MixtureSettings(passes=5)).fit(vectors))


def word_vectors() -> NDArray[np.float32]:
    """Around 200 centres, so that components share few words."""
    rng = np.random.default_rng(1)
    centres = 2 * rng.standard_normal((200, DIMENSIONS), dtype=np.float32)
    return centres[rng.integers(0, 200, WORDS)] + rng.standard_normal((WORDS, DIMENSIONS), dtype=np.float32)


def fisher(options: argparse.Namespace) -> None:
    vectors = word_vectors()
    mixture = mixture_of(vectors)
    words, begin, end = words_of(options.phrases)
    word_numbers = WordNumbers(words, begin, end, WORDS)
    next(mixture.blocks(word_numbers.take(range(10)), vectors))  # compiled
    took, _, numbers = seconds(lambda: sum(block.size for block in mixture.blocks(word_numbers, vectors)))
    print(f"fisher: {options.phrases:,} phrases of {numbers // options.phrases:,} numbers: {took}; {peak()}")


def training(options: argparse.Namespace) -> None:
    regions, phrases = _Drawn(options.region_numbers), _Drawn(options.phrase_numbers)
    pairs, step = max(2048, int(PAIRS * options.share)), 2048
    sums = PairedSums(regions.numbers, phrases.numbers)

    def add_up() -> None:
        for start in range(0, pairs, step):
            count = min(step, pairs - start)
            sums.add(regions.rows(count, start), phrases.rows(count, start + 1))

    took, total, _ = seconds(add_up)
    work = PAIRS * (regions.numbers**2 + phrases.numbers**2 + 2 * regions.numbers * phrases.numbers)
    speed = work * pairs / PAIRS / total / 1e9
    print(
        f"training: sums of {pairs:,} pairs of {regions.numbers:,} + {phrases.numbers:,}: {took}, so "
        f"{total * PAIRS / pairs:,.0f} s of CPU for {PAIRS:,} ({speed:.0f} Gflop/s); {peak()}"
    )
    if options.solve:
        covariances = sums.covariances()
        del sums
        took, _, _ = seconds(lambda: canonical_maps(covariances, options.components, 0.1))
        print(f"training: {options.components} components with one ridge: {took}; {peak()}")


def localizing(options: argparse.Namespace) -> None:
    rng = np.random.default_rng(0)
    vectors = word_vectors()
    mixture = mixture_of(vectors)
    different = 4_000
    words, begin, end = words_of(different)
    phrases = PhraseRows(
        rng.integers(0, different, MENTIONS), words, begin, end, vectors, mixture.size, fisher_rows(mixture)
    )
    values = _Drawn(options.region_numbers).rows(IMAGES * REGIONS, 2)
    regions = RaggedRows.of_counts(values, np.full(IMAGES, REGIONS))
    model = RegionPhraseCCA(RegionPhraseSettings())
    model.regions_, model.phrases_ = (
        LinearMap(np.zeros(size), rng.standard_normal((size, options.components)))
        for size in (options.region_numbers, mixture.size)
    )
    image_of = rng.integers(0, IMAGES, MENTIONS)
    views: dict[str, Any] = {"images": regions, "captions": phrases}
    data = Dataset(views, {("captions", "images"): image_of})
    next(mixture.blocks(WordNumbers(words, begin, end, WORDS).take(range(10)), vectors))  # compiled
    took, _, localized = seconds(lambda: model.localize(data))
    print(
        f"localizing: {len(localized):,} phrases x {REGIONS} regions of {options.region_numbers:,} numbers, "
        f"{options.components} components: {took}; {peak()}"
    )


def fisher_rows(
    fisher_vectors: FisherVectors,
) -> Callable[
    [NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]], NDArray[np.float32]
]:
    return lambda words, begin, end, vectors: np.concatenate(
        list(fisher_vectors.blocks(WordNumbers(words, begin, end, len(vectors)), vectors))
    )


def precision(options: argparse.Namespace) -> None:
    rng = np.random.default_rng(0)
    components = 64
    embedded = rng.standard_normal((IMAGES * REGIONS, components)).astype(np.float32)
    count = max(64, int(PHRASES * options.share))
    scores = Products(rng.standard_normal((count, components)).astype(np.float32), embedded)
    low = rng.integers(1, 300, (IMAGES * REGIONS, 2))
    boxes = np.concatenate([low, low + rng.integers(20, 200, low.shape)], axis=1).astype(np.float32)
    image = np.repeat(np.arange(IMAGES), REGIONS)
    everything = slice(0, IMAGES * REGIONS)

    def work() -> float:
        added = 0.0
        for start in range(0, count, 64):
            tile = scores.tile(slice(start, start + 64), everything)
            for values in tile:
                detections = best_detections(values, boxes, image, 100)
                gold = rng.integers(0, len(boxes), 2)
                added += box_average_precision(
                    boxes[detections], image[detections], values[detections], boxes[gold], image[gold]
                )
        return added

    took, total, _ = seconds(work)
    print(
        f"precision: {count:,} phrases among {IMAGES * REGIONS:,} regions: {took}, so "
        f"{total * PHRASES / count:.0f} s of CPU for {PHRASES:,}; {peak()}"
    )


PARTS: Mapping[str, Callable[[argparse.Namespace], None]] = {
    "fisher": fisher,
    "training": training,
    "localizing": localizing,
    "precision": precision,
}


def main() -> None:
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=tuple(PARTS), default=list(PARTS))
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--phrases", type=int, default=423_000)
    parser.add_argument("--region-numbers", type=int, default=4096)
    parser.add_argument("--phrase-numbers", type=int, default=18_000)
    parser.add_argument("--components", type=int, default=512)
    parser.add_argument("--solve", action="store_true")
    options = parser.parse_args()
    for name in options.only:
        PARTS[name](options)


if __name__ == "__main__":
    main()
