"""The methods of Gong et al. 2014 on 1,000 photographs of Flickr8k: results with intervals.

    python -m studies.linear_methods DATA [--only clean|wsabie|weak] [--seeds 5]

DATA is the folder of the real data: lemmatised captions, and features of 512 numbers. Captions are bags of
the 3,000 most frequent words of the training captions, without stop words. Figures are R@10 in per cent: of
images, any of their five captions among those of all test images; of captions, their image.

- clean: ridge regression, CCA and normalised CCA over five folds (one tested, the next held out to choose
  ridge and power, 600 images trained on), pooled, with an interval of 95 % from a bootstrap over images; and
  R@10 of CCA and normalised CCA (t = 1) at each ridge.
- wsabie: both variants on the first fold: the grid as printed, tried for 20 epochs each, then 300 epochs;
  mean held-out recall over the last epochs.
- weak: 250 clean images, 350 weak ones, 150 held out, 250 tested, with a new draw for each seed. Weak
  texts are made of captions of weak images: tags (nouns of one, a third replaced at random), title (the first
  half of another) and description (a caption of the most similar other weak image). Means over the seeds with
  a t-interval of 95 %, and the difference from normalised CCA of the clean pairs alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from models_core.estimators.base import DIRECTIONS, Dataset, FitContext
from models_core.estimators.cca import CCA, CCASettings
from models_core.estimators.embeddings import ranks_of_originals
from models_core.estimators.ridge import RidgeRegression, RidgeSettings
from models_core.estimators.transfer.stacked import Stacked
from models_core.estimators.transfer.text_feature import TextFeature
from models_core.estimators.transfer.weak_pairs import (
    Joint,
    JointSettings,
    StackedSettings,
    TextFeatureSettings,
    WeakOnly,
    WeakSettings,
)
from models_core.estimators.wsabie.method import Wsabie, WsabieSettings
from models_core.features.bags import TfIdfBags
from models_core.features.text.lemmas import Lemmatiser

LINK = ("captions", "images")
FOLDS, CUT = 5, 10
CLEAN, WEAK, HELD_OUT, TESTED = 250, 350, 150, 250
#: Enough Fourier features for this number of clean images.
FOURIER = 300


@dataclass(frozen=True)
class World:
    """Vectors of the images, words of their captions, and the nouns among them."""

    vectors: NDArray[np.float32]
    words: list[list[list[str]]]
    nouns: list[list[list[str]]]


def world(data: Path, *, tagged: bool = True) -> World:
    """Read the data; unless `tagged`, no caption has a noun."""
    names = (data / "features" / "flickr8k_1000_names.txt").read_text().split()
    stop = set((data / "flickr8k" / "stopwords_127.txt").read_text().split())
    read = {}
    for kind in ("lemma.token", "token"):
        for line in (data / "flickr8k" / f"Flickr8k.{kind}.txt").read_text(encoding="utf-8").splitlines():
            where, _, text = line.partition("\t")
            name, _, number = where.rpartition("#")
            read[kind, name, int(number)] = text
    tagger = Lemmatiser()
    words: list[list[list[str]]] = []
    nouns: list[list[list[str]]] = []
    for name in names:
        lemmas = [read["lemma.token", name, number] for number in range(5)]
        words.append([[w for w in text.lower().split() if w.isalpha() and w not in stop] for text in lemmas])
        parts = [
            tagger.words(read["token", name, k], text) if tagged else [] for k, text in enumerate(lemmas)
        ]
        nouns.append(
            [[word.lemma for word in caption_words if word.part.startswith("N")] for caption_words in parts]
        )
    vectors = np.load(data / "features" / "flickr8k_1000_squeezenet_fire9_512.npy")
    return World(vectors, words, nouns)


def bags_of(data: World, images: Sequence[int]) -> TfIdfBags:
    return TfIdfBags(3000).fit([text for n in images for text in data.words[n]])


def pairs(data: World, images: Sequence[int], bags: TfIdfBags, *, number: int | None = None) -> Dataset:
    """Return all captions of the images, or one each."""
    chosen = range(5) if number is None else (number,)
    texts = [data.words[n][k] for n in images for k in chosen]
    owners = np.repeat(np.arange(len(images)), len(chosen))
    return Dataset({"images": data.vectors[list(images)], "captions": bags.transform(texts)}, {LINK: owners})


def hits(model: Any, test: Dataset) -> dict[str, NDArray[np.bool_]]:
    """Return whether each image, and each caption, has a right item among its first ten."""
    hits_by_direction = {}
    for direction in DIRECTIONS:
        scores = model.score(test, direction=direction)
        hits_by_direction[str(direction)] = ranks_of_originals(scores, test.image_of, direction) <= CUT
    return hits_by_direction


def folds(data: World) -> list[tuple[list[int], list[int], list[int]]]:
    """Return training, held-out and test images of each fold."""
    parts = np.array_split(np.random.default_rng(0).permutation(len(data.words)), FOLDS)
    return [
        (
            [int(n) for k in range(FOLDS) if k not in (fold, (fold + 1) % FOLDS) for n in parts[k]],
            [int(n) for n in parts[(fold + 1) % FOLDS]],
            [int(n) for n in parts[fold]],
        )
        for fold in range(FOLDS)
    ]


def interval(by_image: NDArray[np.float64]) -> tuple[float, float]:
    """Return the interval of the mean of shares of hits, one per image, in per cent."""
    rng = np.random.default_rng(0)
    draws = rng.integers(len(by_image), size=(2000, len(by_image)))
    low, high = np.percentile(100 * by_image[draws].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def clean(data: World) -> None:
    makes: dict[str, Callable[[], Any]] = {
        "Ridge": lambda: RidgeRegression(RidgeSettings()),
        "CCA": lambda: CCA(CCASettings(normalised=False)),
        "nCCA": lambda: CCA(CCASettings()),
        "nCCA, t = 4": lambda: CCA(CCASettings(powers=(4.0,))),
    }
    for r in (0.1, 1.0, 10.0):
        makes[f"CCA, r = {r:g}"] = partial(CCA, CCASettings(normalised=False, ridges=(r,)))
        makes[f"nCCA, t = 1, r = {r:g}"] = partial(CCA, CCASettings(ridges=(r,), powers=(1.0,)))
    print("| method | R@10 of images | R@10 of captions | chosen (ridge, power) by fold |")
    print("|---|---|---|---|")
    for name, make in makes.items():
        of_images, of_captions, chosen = [], [], []
        for training, held_out, tested in folds(data):
            bags = bags_of(data, training)
            validation = pairs(data, held_out, bags, number=2)
            model = make().fit(pairs(data, training, bags), validation, FitContext())
            hit = hits(model, pairs(data, tested, bags))
            of_images.append(hit["annotation"].astype(float))
            of_captions.append(hit["search"].reshape(-1, 5).mean(axis=1))
            chosen.append(f"{model.ridge_:g}" + (f", {model.power_:g}" if hasattr(model, "power_") else ""))
        cells = []
        for side in (np.concatenate(of_images), np.concatenate(of_captions)):
            low, high = interval(side)
            cells.append(f"{100 * side.mean():.1f} [{low:.1f}, {high:.1f}]")
        print(f"| {name} | {cells[0]} | {cells[1]} | {'; '.join(chosen)} |", flush=True)


def wsabie(data: World) -> None:
    training, held_out, tested = folds(data)[0]
    bags = bags_of(data, training)
    train, test = pairs(data, training, bags), pairs(data, tested, bags)
    validation = pairs(data, held_out, bags, number=2)
    for settings in (
        WsabieSettings(update="sgd", rates=(0.01, 0.05, 0.1, 0.2, 0.5, 1.0), grid_steps=0),
        WsabieSettings(update="adagrad", grid_steps=0),
    ):
        model = Wsabie(settings).fit(train, validation, FitContext())
        hit = hits(model, test)
        late = model.curve_[model.curve_[:, 0] > settings.epochs - 60]
        print(
            f"{settings.update}: rate {model.rate_:g}, norm {model.norm_:g}; test R@10 of images "
            f"{100 * hit['annotation'].mean():.1f}, of captions {100 * hit['search'].mean():.1f}; "
            "held-out mean recall in per cent by epoch: "
            + ", ".join(f"{int(n)}: {100 * recall:.1f}" for n, _, recall in late),
            flush=True,
        )


def weak_texts(data: World, images: Sequence[int], rng: np.random.Generator) -> list[list[str]]:
    """Return tags, title and description of each image as one text."""
    vectors = data.vectors / np.linalg.norm(data.vectors, axis=1, keepdims=True)
    all_nouns = sorted({noun for n in images for caption in data.nouns[n] for noun in caption})
    texts = []
    for n in images:
        tags = [
            str(rng.choice(all_nouns)) if rng.random() < 1 / 3 else noun
            for noun in data.nouns[n][int(rng.integers(5))]
        ]
        caption_words = data.words[n][int(rng.integers(5))]
        near = vectors[list(images)] @ vectors[n]
        near[list(images).index(n)] = -1
        similar = data.words[images[int(near.argmax())]][int(rng.integers(5))]
        texts.append([*tags, *caption_words[: (len(caption_words) + 1) // 2], *similar])
    return texts


def weak(data: World, seeds: int) -> None:
    methods: dict[str, Callable[[], Any]] = {
        "nCCA, clean pairs alone": lambda: CCA(CCASettings()),
        "Weak-only": lambda: WeakOnly(WeakSettings()),
        "Joint, beta = 0.01": lambda: Joint(JointSettings(weight=0.01)),
        "Joint, beta = 1": lambda: Joint(JointSettings(weight=1.0)),
        "Text-feature, k = 50": lambda: TextFeature(TextFeatureSettings()),
        "Stacked, c1 = 128": lambda: Stacked(
            StackedSettings(mapping="linear", original=False, weak_components=128)
        ),
        "SAE-linear": lambda: Stacked(StackedSettings(mapping="linear")),
        "SAE": lambda: Stacked(StackedSettings(features=FOURIER)),
        "SAE, as printed": lambda: Stacked(StackedSettings(features=FOURIER, as_printed=True)),
    }
    figures: dict[str, list[float]] = {name: [] for name in methods}
    sweep = (50, 100, 200)
    for count in sweep:
        figures |= {f"SAE-linear, {count} weak images": []}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        order = [int(n) for n in rng.permutation(len(data.words))]
        cuts = np.cumsum([CLEAN, WEAK, HELD_OUT, TESTED])
        training, weak_images, held_out, tested = (
            order[start:end] for start, end in zip([0, *cuts[:-1]], cuts, strict=True)
        )
        bags = bags_of(data, training)
        texts = weak_texts(data, weak_images, rng)
        train, test = pairs(data, training, bags), pairs(data, tested, bags)
        validation = pairs(data, held_out, bags, number=2)

        def context(
            count: int,
            weak_images: Sequence[int] = weak_images,
            texts: list[list[str]] = texts,
            bags: TfIdfBags = bags,
            seed: int = seed,
        ) -> FitContext:
            views = {
                "images": data.vectors[list(weak_images[:count])],
                "captions": bags.transform(texts[:count]),
            }
            return FitContext(seed, auxiliary={"weak": Dataset(views, {LINK: np.arange(count)})})

        for name, make in methods.items():
            model = make().fit(train, validation, context(WEAK))
            figures[name].append(100 * float(hits(model, test)["annotation"].mean()))
        for count in sweep:
            model = Stacked(StackedSettings(mapping="linear")).fit(train, validation, context(count))
            share = 100 * float(hits(model, test)["annotation"].mean())
            figures[f"SAE-linear, {count} weak images"].append(share)
    print(f"| method | R@10 of images, mean of {seeds} seeds | more than clean pairs alone |")
    print("|---|---|---|")
    base = np.asarray(figures["nCCA, clean pairs alone"])
    for name, shares in figures.items():
        print(f"| {name} | {_mean(np.asarray(shares))} | {_mean(np.asarray(shares) - base)} |", flush=True)


def _mean(values: NDArray[np.float64]) -> str:
    """Return the mean with a t-interval of 95 %."""
    if len(values) < 2 or not values.std():
        return f"{values.mean():.1f}"
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.1f} [{values.mean() - half:.1f}, {values.mean() + half:.1f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description="The methods of Gong et al. on 1,000 photographs")
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", choices=("clean", "wsabie", "weak"))
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    data = world(options.data)
    data = replace(data, vectors=np.asarray(data.vectors, np.float32))
    if options.only in (None, "clean"):
        clean(data)
    if options.only in (None, "wsabie"):
        wsabie(data)
    if options.only in (None, "weak"):
        weak(data, options.seeds)


if __name__ == "__main__":
    main()
