"""Fisher vectors: how long mixtures take to learn, and the vectors of phrases.

    python -m benchmarks.fisher [--only learning vectors] [--phrases 423000] [--words 20000]

- learning: k-means and `--passes` (10) passes of EM on `--words` vectors of 300 numbers at 30 components, for
  each family of mixtures; the mean log-likelihood of a word, of another tenth as many words, and what the
  pass that gained least gained.
- vectors: Fisher vectors under a hybrid mixture of phrases of 2.5 words on average (as many as Flickr30k
  Entities has of phrases in its training images), block by block, not kept; and the process's memory at most.

Word vectors are drawn around `--clusters` centres, half of their dimensions Gaussian and half Laplacian;
`--apart` is how far the centres lie apart, in standard deviations within a cluster: the less, the more
components share a word, and the longer it takes. Words of phrases are drawn as Zipf has them.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable, Mapping, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import seconds
from models_core.estimators.base import WordNumbers
from models_core.features.text.fisher import FisherVectors, wordless
from models_core.features.text.mixture_steps import LEAST_POSTERIOR, Family
from models_core.features.text.mixtures import MixtureSettings, WordMixture

DIMENSIONS = 300


def word_vectors(asked: argparse.Namespace, count: int, seed: int = 0) -> NDArray[np.float32]:
    """`count` words, around centres that are always the same."""
    dice = np.random.default_rng(1)
    centres = asked.apart * dice.standard_normal((asked.clusters, DIMENSIONS), dtype=np.float32)
    dice = np.random.default_rng((2, seed))
    found = dice.standard_normal((count, DIMENSIONS), dtype=np.float32)
    half = DIMENSIONS // 2
    found[:, half:] = dice.laplace(scale=np.sqrt(0.5), size=found[:, half:].shape)
    found += centres[dice.integers(0, asked.clusters, count)]
    return found


def phrases(asked: argparse.Namespace) -> WordNumbers:
    """From 0 to 5 words each, 2.5 on average."""
    dice = np.random.default_rng(1)
    end = np.cumsum(dice.integers(0, 6, asked.phrases))
    often = 1 / np.arange(1, asked.words + 1)
    words = dice.choice(asked.words, end[-1], p=often / often.sum())
    return WordNumbers(words, np.concatenate([[0], end[:-1]]), end, asked.words)


def learned(asked: argparse.Namespace, family: Family) -> WordMixture:
    settings = MixtureSettings(family=family, components=asked.components, passes=asked.passes, tolerance=0.0)
    return WordMixture(settings).fit(word_vectors(asked, asked.words))


def learning(asked: argparse.Namespace) -> None:
    for family in get_args(Family):
        took, mixture = seconds(lambda family=family: learned(asked, family))  # type: ignore[misc]
        curve, others = mixture.curve_, word_vectors(asked, max(1, asked.words // 10), seed=1)
        gain = np.diff(curve).min(initial=np.inf)
        print(
            f"{family}: {took:.1f} s with {len(curve)} passes over {asked.words:,} words; log-likelihood "
            f"{curve[-1]:.3f}, of others {mixture.log_likelihoods(others).mean():.3f}, least gain of a pass "
            f"{gain:.2g}, {mixture.parameters_.laplacian.mean():.1%} Laplacian"
        )


def vectors(asked: argparse.Namespace) -> None:
    mixture = learned(asked, "hybrid")
    words = word_vectors(asked, asked.words)
    shared = (mixture.posteriors(words) > LEAST_POSTERIOR).sum(axis=1).mean()
    fisher, given = FisherVectors(mixture), phrases(asked)
    next(fisher.blocks(given.take(range(10)), words))  # compiled
    took, numbers = seconds(lambda: sum(block.size for block in fisher.blocks(given, words)))
    rate, peak = numbers * 4 / took / 1e9, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{len(given):,} phrases of {len(given.values) / len(given):.2f} words, "
        f"{wordless(given.begin, given.end):,} without any: {took:.1f} s, {rate:.2f} GB a second, "
        f"{shared:.1f} components a word; at most {peak:,.0f} MiB"
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
    asked = parser.parse_args(arguments)
    for part in asked.only:
        print(part)
        PARTS[part](asked)


if __name__ == "__main__":
    main()
