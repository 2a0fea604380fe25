"""Fisher vectors: time for fitting mixtures, and for the vectors of phrases.

    python -m studies.fisher [--only learning vectors] [--phrases 423000] [--words 20000]

- learning: k-means and `--passes` (10) passes of EM on `--words` vectors of 300 numbers at 30 components, for
  each family of mixtures; the mean log-likelihood of a word, of another tenth as many words, and what the
  pass that gained least gained.
- vectors: Fisher vectors under a hybrid mixture of phrases of 2.5 words on average (as many as Flickr30k
  Entities has of phrases in its training images), block by block, discarded; and the process's peak memory.

Word vectors are drawn around `--clusters` centres, half of their dimensions Gaussian and half Laplacian;
`--apart` is the distance of the centres, in standard deviations within a cluster: the smaller, the more
components share a word, and the longer it takes. Words of phrases follow Zipf's law.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable, Mapping, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import WordNumbers
from models_core.features.text.fisher import FisherVectors, wordless
from models_core.features.text.mixture_loops import LEAST_POSTERIOR
from models_core.features.text.mixture_steps import Family
from models_core.features.text.mixtures import MixtureSettings, WordMixture
from studies.measuring import seconds

DIMENSIONS = 300


def word_vectors(options: argparse.Namespace, count: int, seed: int = 0) -> NDArray[np.float32]:
    """Return `count` words, around centres that are always the same."""
    rng = np.random.default_rng(1)
    centres = options.apart * rng.standard_normal((options.clusters, DIMENSIONS), dtype=np.float32)
    rng = np.random.default_rng((2, seed))
    vectors = rng.standard_normal((count, DIMENSIONS), dtype=np.float32)
    half = DIMENSIONS // 2
    vectors[:, half:] = rng.laplace(scale=np.sqrt(0.5), size=vectors[:, half:].shape)
    vectors += centres[rng.integers(0, options.clusters, count)]
    return vectors


def phrases(options: argparse.Namespace) -> WordNumbers:
    """Return phrases of 0 to 5 words, 2.5 on average."""
    rng = np.random.default_rng(1)
    end = np.cumsum(rng.integers(0, 6, options.phrases))
    often = 1 / np.arange(1, options.words + 1)
    words = rng.choice(options.words, end[-1], p=often / often.sum())
    return WordNumbers(words, np.concatenate([[0], end[:-1]]), end, options.words)


def learned(options: argparse.Namespace, family: Family) -> WordMixture:
    settings = MixtureSettings(
        family=family, components=options.components, passes=options.passes, tolerance=0.0
    )
    return WordMixture(settings).fit(word_vectors(options, options.words))


def learning(options: argparse.Namespace) -> None:
    for family in get_args(Family):
        took, mixture = seconds(lambda family=family: learned(options, family))  # type: ignore[misc]
        curve, others = mixture.curve_, word_vectors(options, max(1, options.words // 10), seed=1)
        gain = np.diff(curve).min(initial=np.inf)
        print(
            f"{family}: {took:.1f} s with {len(curve)} passes over {options.words:,} words; log-likelihood "
            f"{curve[-1]:.3f}, of others {mixture.log_likelihoods(others).mean():.3f}, least gain of a pass "
            f"{gain:.2g}, {mixture.parameters_.laplacian.mean():.1%} Laplacian"
        )


def vectors(options: argparse.Namespace) -> None:
    mixture = learned(options, "hybrid")
    words = word_vectors(options, options.words)
    shared = (mixture.posteriors(words) > LEAST_POSTERIOR).sum(axis=1).mean()
    fisher, phrase_words = FisherVectors(mixture), phrases(options)
    next(fisher.blocks(phrase_words.take(range(10)), words))  # compiles
    took, numbers = seconds(lambda: sum(block.size for block in fisher.blocks(phrase_words, words)))
    rate, peak = numbers * 4 / took / 1e9, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{len(phrase_words):,} phrases of {len(phrase_words.values) / len(phrase_words):.2f} words, "
        f"{wordless(phrase_words.begin, phrase_words.end):,} without any: {took:.1f} s, "
        f"{rate:.2f} GB a second, {shared:.1f} components a word; at most {peak:,.0f} MiB"
    )


PARTS: Mapping[str, Callable[[argparse.Namespace], None]] = {"learning": learning, "vectors": vectors}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("--phrases", type=int, default=423_000)
    parser.add_argument("--components", type=int, default=30)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--apart", type=float, default=0.3)
    parser.add_argument("--passes", type=int, default=10)
    options = parser.parse_args(arguments)
    for part in options.only:
        print(part)
        PARTS[part](options)


if __name__ == "__main__":
    main()
