"""Objectives of training: hardest negatives and InfoNCE beside linear methods and the alignment of words.

    python -m studies.objectives DATA [--only PART] [--seeds 3] [--folds 5]

DATA is the folder of the real data; folds, bags of words and figures are those of `studies.linear_methods`:
1,000 photographs of Flickr8k with 512 numbers each, five folds (one tested, the next held out to choose rates
and ridges, 600 images trained on). R@1 and R@10 in per cent, pooled over folds and seeds, with an interval of
95 % from a bootstrap over images, and the difference of R@10 from normalised CCA on the same images.

- closed: ridge regression and normalised CCA, which have no seed.
- linear, layers: InfoNCE, and the hinge losses with the hardest and with all negatives; linear heads, and
  heads with a hidden layer of 512 numbers.
- words: the alignment of Karpathy and Fei-Fei 2015 with whole images as the only region, by eq. 8 and by
  eq. 7 with its multiple-instance term (DeFrag's objective, of words: there are no parses), with one seed.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import DIRECTIONS, Dataset, FitContext, UnitRows, WordNumbers
from models_core.estimators.cca import CCA, CCASettings
from models_core.estimators.embeddings import ranks_of_originals
from models_core.estimators.neural.alignment import Alignment
from models_core.estimators.neural.embedder import JointEmbedder
from models_core.estimators.neural.settings import (
    AlignmentSettings,
    ContrastiveSettings,
    EmbedderSettings,
    MarginSettings,
)
from models_core.estimators.ridge import RidgeRegression, RidgeSettings
from studies.linear_methods import FOLDS, LINK, World, bags_of, folds, interval, pairs, world

CUTS = (1, 10)
HIDDEN = 512
#: How often the training captions have a word for it to be known, as in the recipes.
LEAST_COUNT = 5
BASE = "nCCA"


@dataclass
class Hits:
    """Shares of hits of each test image, in the order of the folds: direction and cut -> seeds by images."""

    shares: dict[tuple[str, int], list[NDArray[np.float64]]]
    notes: list[str]


def bag_datasets(data: World, number: int) -> Iterator[tuple[Dataset, Dataset, Dataset]]:
    """Yield training, held-out and test pairs of the first folds, with bags."""
    for training, held_out, tested in folds(data)[:number]:
        bags = bags_of(data, training)
        validation = pairs(data, held_out, bags, number=2)
        yield pairs(data, training, bags), validation, pairs(data, tested, bags)


@cache
def tokens(folder: Path) -> dict[tuple[str, int], list[str]]:
    """Return the words of each caption as written, in lower case and without punctuation."""
    read = {}
    for line in (folder / "flickr8k" / "Flickr8k.token.txt").read_text(encoding="utf-8").splitlines():
        where, _, text = line.partition("\t")
        name, _, number = where.rpartition("#")
        read[name, int(number)] = [word for word in text.lower().split() if word.isalnum()]
    return read


def word_datasets(data: World, number: int, folder: Path) -> Iterator[tuple[Dataset, Dataset, Dataset]]:
    """Yield the same pairs with words in order, and each image as one region of length 1."""
    names = (folder / "features" / "flickr8k_1000_names.txt").read_text().split()
    texts = tokens(folder)
    for training, held_out, tested in folds(data)[:number]:
        counts = Counter(word for n in training for k in range(5) for word in texts[names[n], k])
        known = sorted(word for word, count in counts.items() if count >= LEAST_COUNT)
        number_of = {word: number for number, word in enumerate(known)}

        def dataset(
            images: list[int], captions: range, number_of: dict[str, int] = number_of, size: int = len(known)
        ) -> Dataset:
            chosen = [
                [number_of[word] for word in texts[names[n], k] if word in number_of]
                for n in images
                for k in captions
            ]
            flat = np.asarray([number for words in chosen for number in words], np.int64)
            words = WordNumbers.of_counts(flat, [len(words) for words in chosen])
            views: dict[str, Any] = {
                "images": UnitRows.of_counts(data.vectors[images], np.ones(len(images), np.intp)),
                "captions": WordNumbers(words.values, words.begin, words.end, size),
            }
            return Dataset(views, {LINK: np.repeat(np.arange(len(images)), len(captions))})

        yield dataset(training, range(5)), dataset(held_out, range(2, 3)), dataset(tested, range(5))


def learned(
    make: Callable[[], Any], sets: Iterator[tuple[Dataset, Dataset, Dataset]], seeds: int
) -> tuple[Hits, float]:
    """Return the hits of a method over all folds and seeds, and the seconds of a training."""
    hits = Hits({(direction, cut): [] for direction in DIRECTIONS for cut in CUTS}, [])
    by_fold: list[dict[tuple[str, int], list[NDArray[np.float64]]]] = []
    began, trainings = time.perf_counter(), 0
    for train, validation, test in sets:
        of_fold: dict[tuple[str, int], list[NDArray[np.float64]]] = {key: [] for key in hits.shares}
        for seed in range(seeds):
            model = make().fit(train, validation, FitContext(seed))
            trainings += 1
            for direction in DIRECTIONS:
                ranks = ranks_of_originals(model.score(test, direction=direction), test.image_of, direction)
                for cut in CUTS:
                    hit = (ranks <= cut).astype(float)
                    of_fold[direction, cut].append(
                        hit if direction == "annotation" else hit.reshape(-1, 5).mean(axis=1)
                    )
            chosen = getattr(model, "rate_", getattr(model, "ridge_", None))
            hits.notes.append(f"{chosen:g}")
        by_fold.append(of_fold)
    seconds = (time.perf_counter() - began) / trainings
    for key in hits.shares:
        hits.shares[key] = [np.mean(of_fold[key], axis=0) for of_fold in by_fold]
    return hits, seconds


def cell(values: NDArray[np.float64]) -> str:
    low, high = interval(values)
    return f"{100 * values.mean():.1f} [{low:.1f}, {high:.1f}]"


def row(name: str, hits: Hits, base: Hits, seconds: float) -> str:
    """Return a row of the table: four figures, two differences from the base, what was chosen, seconds."""
    cells = [cell(np.concatenate(hits.shares[key])) for key in hits.shares]
    for direction in DIRECTIONS:
        key = direction, 10
        cells.append(cell(np.concatenate(hits.shares[key]) - np.concatenate(base.shares[key])))
    chosen = ", ".join(f"{value} ({count})" for value, count in Counter(hits.notes).most_common())
    return f"| {name} | {' | '.join(cells)} | {chosen} | {seconds:.1f} |"


def heads(hidden: int = 0) -> dict[str, EmbedderSettings]:
    """Return the settings of the recipes, with linear heads or with a hidden layer."""
    losses = {
        "InfoNCE": ContrastiveSettings(hidden=hidden),
        "VSE++": MarginSettings(hidden=hidden),
        "VSE0": MarginSettings(hidden=hidden, negatives="all"),
    }
    return {f"{name}, {'two layers' if hidden else 'linear'}": held for name, held in losses.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Objectives of training on 1,000 photographs")
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", choices=("closed", "linear", "layers", "words"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folds", type=int, default=FOLDS, help="the first so many")
    options = parser.parse_args()
    data = world(options.data, tagged=False)
    base, seconds = learned(lambda: CCA(CCASettings()), bag_datasets(data, options.folds), 1)
    figures = [f"{way}: R@{cut}" for way in ("images", "captions") for cut in CUTS]
    titles = ["method", *figures, *(f"{way}: more than {BASE}" for way in ("images", "captions"))]
    print(f"| {' | '.join(titles)} | chosen (trainings) | s |")
    print("|---" * (len(titles) + 2) + "|")
    if options.only in (None, "closed"):
        ridge, of_ridge = learned(
            lambda: RidgeRegression(RidgeSettings()), bag_datasets(data, options.folds), 1
        )
        print(row("Ridge", ridge, base, of_ridge))
        print(row(BASE, base, base, seconds), flush=True)
    for part, hidden in (("linear", 0), ("layers", HIDDEN)):
        if options.only in (None, part):
            for name, settings in heads(hidden).items():
                sets = bag_datasets(data, options.folds)
                hits, of_one = learned(partial(JointEmbedder, settings), sets, options.seeds)
                print(row(name, hits, base, of_one), flush=True)
    if options.only in (None, "words"):
        for name, alignment in (
            ("eq. 8, words", AlignmentSettings(members=1)),
            ("eq. 7, words", AlignmentSettings(objective="fragments", members=1)),
        ):
            hits, of_one = learned(
                partial(Alignment, alignment), word_datasets(data, options.folds, options.data), 1
            )
            print(row(name, hits, base, of_one), flush=True)


if __name__ == "__main__":
    main()
