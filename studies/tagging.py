"""Taggers on 1,000 photographs of Flickr8k: precision of ranked tags, and which printed trends hold.

    python -m studies.tagging DATA [--only losses|tops|pools|unseen] [--seeds 5] [--figures FOLDER]

DATA is the folder of real data: captions, and features of 512 numbers of the photographs. Word vectors of 100
numbers are learned from all 40,460 captions (`train_word_vectors --split all`); tags are from `rank_tags`.
Photographs are cut into five folds. With seed n the n-th fold is tested (200 photographs), the next one is
held out to choose the rate (0.001 or 0.003) and the epoch (up to 12), and 600 are trained on; with all five
seeds each photograph is tested once. True tags are those among the training's tags that have word vectors.
Precisions are means over the tested photographs of all seeds, with an interval of 95 % from a bootstrap over
photographs.

- losses: p@1 and p@5 without distractors (Tables 2 to 4) of each loss, for nouns and compounds, by alpha; the
  printed setting (rate 0.0001, 10 epochs, the last kept) beside; and what print says of them.
- tops: the same of ListSJE by K_top, 1 to 10 (Figure 2).
- pools: p@1, p@5 and their gains over a random order with 0, 5, 10 and 20 distractors (Figure 3), MAP and
  MiAP, of each loss, of s1, s2 and their mean, and of the baselines.
- unseen: a fifth of the tags is left out of training, another for each seed. How often a tested photograph's
  own tag of these comes before one of them that is not its own: half would be chance.

With --figures the sweeps of `losses` and `tops` are drawn into that folder as SVG.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from annotation.common.plain_text import text_table
from evaluation.figures import sweeps
from evaluation.figures.files import as_svg
from evaluation.figures.sweeps import SweptFigure
from evaluation.services.tags.reading import TagReader
from models_core.estimators.base import TagNumbers
from models_core.estimators.predictors import TagScore
from models_core.features.text.lemmas import Word
from models_core.features.text.tags import DEFAULT_ALPHA, TagPosition, TagUnit
from models_core.phase_cache import PhaseCache
from models_core.systems.dataset import PreparedDataset, Vectors
from models_core.systems.kernels import Resources, WordVectorTable
from models_core.systems.recipe import Recipe
from models_core.systems.recipe_files import named_recipes
from models_core.systems.tag_texts import TagTexts
from models_core.systems.trained_system import TrainedSystem
from models_core.systems.training import FitOptions, fit
from phrasebox.agreement.estimates import Bootstrap
from phrasebox.figure_basis import FigureBasis
from phrasebox.metrics.ranking import average_precision
from phrasebox.metrics.tagging import (
    by_tag_and_image,
    draw_distractors,
    expected_precision_at,
    precision_at,
)
from phrasebox.significance.resampling import bootstrap_difference, bootstrap_ratio, figure_interval
from phrasebox.text.tokens import tokenise

Floats = NDArray[np.float64]
FOLDS, CAPTIONS = 5, 5
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
TOPS = tuple(range(1, 11))
DISTRACTORS = (0, 5, 10, 20)
LOSSES = ("SJE-I", "SJE-II", "ListSJE")
BASELINES = ("Tag-random", "Tag-frequency", "Tag-neighbours", "Tag-SVM")
UNITS: dict[TagUnit, str] = {"nouns": "nn", "compounds": "cn"}
#: Unit, k, the alpha that print prefers and another.
_ALPHAS_COMPARED: tuple[tuple[TagUnit, int, float, float], ...] = (
    ("nouns", 1, 0.75, 0.0),
    ("nouns", 1, 0.75, 1.0),
    ("compounds", 5, 0.0, 0.75),
    ("nouns", 5, 0.0, 0.75),
)
#: What is chosen from here, fewer than by the recipes: rates, and epochs up to this one.
CHOSEN = {"rates": (0.001, 0.003), "epochs": 12}
PRINTED = {"rates": (0.0001,), "epochs": 10, "choose_epoch": False}
RESAMPLES = 1000


@dataclass(frozen=True)
class World:
    """The photographs: names, features, the tags of each caption by unit; and word vectors."""

    names: list[str]
    vectors: NDArray[np.float32]
    tags: Mapping[TagUnit, list[list[tuple[TagPosition, ...]]]]
    words: WordVectorTable

    def prepared(self, unit: TagUnit, chosen: NDArray[np.intp], without: frozenset[str]) -> PreparedDataset:
        """These photographs as a system is trained on them, `without` some of their tags."""
        captions = tuple(
            tuple(
                tuple(Word(word.token, "") for word in caption if word.tag not in without)
                for caption in self.tags[unit][number]
            )
            for number in chosen
        )
        return PreparedDataset(
            tuple(self.names[number] for number in chosen), captions, Vectors(self.vectors[chosen])
        )


def world(data: Path) -> World:
    """Reads the photographs' captions, and learns word vectors of all captions."""
    from gensim.models import Word2Vec  # type: ignore[import-untyped]  # as the product does

    names = (data / "features" / "flickr8k_1000_names.txt").read_text().split()
    texts: dict[str, list[str]] = {}
    for line in (data / "flickr8k" / "Flickr8k.token.txt").read_text(encoding="utf-8").splitlines():
        where, _, text = line.partition("\t")
        texts.setdefault(where.rpartition("#")[0], []).append(text)
    tags: dict[TagUnit, list[list[tuple[TagPosition, ...]]]] = {}
    for unit in UNITS:
        reader = TagReader(unit)
        tags[unit] = [[reader.tags(tokenise(text)) for text in texts[name][:CAPTIONS]] for name in names]
    sentences = [
        [word.lower() for word in tokenise(text)] for image_texts in texts.values() for text in image_texts
    ]
    learned = Word2Vec(
        sentences, vector_size=100, window=5, negative=5, epochs=10, min_count=2, sg=1, seed=0, workers=1
    ).wv
    vectors = np.load(data / "features" / "flickr8k_1000_squeezenet_fire9_512.npy")
    return World(names, vectors, tags, WordVectorTable(learned.index_to_key, learned.vectors))


@dataclass(frozen=True, slots=True)
class Trial:
    """A system to be trained: a recipe, with other settings than its own, on tags by `unit` and `alpha`."""

    recipe: str
    unit: TagUnit
    alpha: float
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def full_recipe(self) -> Recipe:
        """The recipe itself."""
        named = named_recipes()[self.recipe]
        text = replace(named.text, unit=self.unit, alpha=self.alpha)
        settings = {**(CHOSEN if self.recipe in LOSSES else {}), **dict(self.settings)}
        return replace(named, text=text, settings=replace(named.settings, **settings))


@dataclass(frozen=True)
class Tested:
    """The tested photographs of all seeds: scores of (photographs, tags) and true tags, a part for each."""

    scores: list[Floats] = field(default_factory=list)
    true: list[list[list[int]]] = field(default_factory=list)

    def precision(self, k: int, distractors: int = 0) -> tuple[Floats, Floats]:
        """Of each photograph, and what a random order has."""
        precisions, chance = [], []
        for seed, (scores, true) in enumerate(zip(self.scores, self.true, strict=True)):
            extra = draw_distractors(true, distractors, seed=seed)
            precisions.append(precision_at(scores, true, k, distractors=extra))
            chance.append(expected_precision_at(true, k, distractors=extra))
        return np.concatenate(precisions), np.concatenate(chance)

    def average_precision(self) -> tuple[Floats, Floats]:
        """Of tags that rank photographs, and of photographs that rank tags."""
        of_tags, of_images = [], []
        for scores, true in zip(self.scores, self.true, strict=True):
            tagged = [index for index, tags in enumerate(true) if tags]
            relevant = np.zeros((len(tagged), scores.shape[1]), bool)
            for row, index in enumerate(tagged):
                relevant[row, true[index]] = True
            by_tag, by_image = by_tag_and_image(scores[tagged], relevant)
            of_tags.append(average_precision(by_tag))
            of_images.append(average_precision(by_image))
        return np.concatenate(of_tags), np.concatenate(of_images)


class Bench:
    """Trains each trial once for each seed, and returns the results."""

    def __init__(self, data: World, seeds: int) -> None:
        self.data, self.seeds = data, seeds
        self.parts = np.array_split(np.random.default_rng(0).permutation(len(data.names)), FOLDS)
        self.resources = Resources(word_vectors=data.words)
        self.tested = cache(self._tested)

    def fold(self, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Photographs that are trained on, held out and tested."""
        held, tested = (seed + 1) % FOLDS, seed % FOLDS
        training = np.concatenate([part for n, part in enumerate(self.parts) if n not in (held, tested)])
        return training, self.parts[held], self.parts[tested]

    def trained(self, trial: Trial, seed: int, without: frozenset[str] = frozenset()) -> TrainedSystem:
        """The system, whose training knows nothing of the tags `without`."""
        training, held, _ = self.fold(seed)
        recipe = trial.full_recipe
        return fit(
            recipe,
            self.data.prepared(trial.unit, training, without),
            self.data.prepared(trial.unit, held, without) if recipe.kind.selects else None,
            self.resources,
            cache=PhaseCache(),
            options=FitOptions(seed=seed),
        )

    def true_tags(self, texts: TagTexts, trial: Trial, seed: int) -> list[list[int]]:
        """The numbers of each tested photograph's tags."""
        prepared = self.data.prepared(trial.unit, self.fold(seed)[2], frozenset())
        numbers: TagNumbers = texts.describe(prepared.documents())
        return [numbers.item(index).tolist() for index in range(len(numbers))]

    def _tested(self, trial: Trial, by: TagScore = "own") -> Tested:
        tested = Tested()
        for seed in range(self.seeds):
            system = self._system(trial, seed)
            texts = system.texts
            assert isinstance(texts, TagTexts)
            images = Vectors(self.data.vectors[self.fold(seed)[2]])
            tested.scores.append(system.score_tags(images, texts.candidates(), by))
            tested.true.append(self.true_tags(texts, trial, seed))
        return tested

    @cache  # noqa: B019  # one bench for the whole run
    def _system(self, trial: Trial, seed: int) -> TrainedSystem:
        return self.trained(trial, seed)


def drawn(values: Floats) -> Bootstrap:
    """The bootstrap of photographs, each by itself."""
    return Bootstrap(range(len(values)), RESAMPLES, 0.95, 0)


def interval_text(values: Floats) -> str:
    """A mean with its interval."""
    interval = figure_interval(values, drawn(values))
    return f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def swept_figure(series: str, panel: str, setting: float, values: Floats) -> SweptFigure:
    """A mean with its interval, to be drawn."""
    interval = figure_interval(values, drawn(values))
    return SweptFigure(series, panel, setting, interval.value, interval.low, interval.high)


def difference(first: Floats, second: Floats) -> str:
    """Paired, by photograph that has a value for both."""
    both = ~np.isnan(first) & ~np.isnan(second)
    first, second = first[both], second[both]
    interval = bootstrap_difference(first, second, drawn(first))
    return f"{interval.value:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}], p {interval.p:.3f}"


def usual(recipe: str, unit: TagUnit, *settings: tuple[str, Any]) -> Trial:
    """With the alpha that the paper goes on with."""
    return Trial(recipe, unit, DEFAULT_ALPHA[unit], settings)


def losses(bench: Bench) -> Iterator[SweptFigure]:
    """Tables 2 to 4, the printed setting beside, and what print says of them."""
    rows, swept = [], []
    for recipe in LOSSES:
        for unit, short in UNITS.items():
            for alpha in ALPHAS:
                tested = bench.tested(Trial(recipe, unit, alpha))
                figures = [tested.precision(k)[0] for k in (1, 5)]
                rows.append([recipe, short, f"{alpha:g}", *map(interval_text, figures)])
                swept += [
                    (f"{recipe}, {short}", f"p@{k}", alpha, v) for k, v in zip((1, 5), figures, strict=True)
                ]
    print(text_table(["loss", "tags", "alpha", "p@1", "p@5"], rows))
    chance = bench.tested(usual("SJE-II", "nouns")), bench.tested(usual("SJE-II", "compounds"))
    for short, tested in zip(UNITS.values(), chance, strict=True):
        print(f"random order, {short}:", *(f"p@{k} {np.nanmean(tested.precision(k)[1]):.3f}" for k in (1, 5)))
    print("\nThe printed setting:\n")
    rows = []
    for recipe in LOSSES:
        for unit, short in UNITS.items():
            tested = bench.tested(usual(recipe, unit, *PRINTED.items()))
            rows.append([recipe, short, *(interval_text(tested.precision(k)[0]) for k in (1, 5))])
    print(text_table(["loss", "tags", "p@1", "p@5"], rows))
    _trends_of_losses(bench)
    for series, panel, x, values in swept:
        yield swept_figure(series, panel, x, values)


def _trends_of_losses(bench: Bench) -> None:
    """What print says of Tables 2 to 4, as paired differences."""

    def of(recipe: str, unit: TagUnit, alpha: float, k: int) -> Floats:
        return bench.tested(Trial(recipe, unit, alpha)).precision(k)[0]

    def best(recipe: str, unit: TagUnit, k: int) -> float:
        return max(ALPHAS, key=lambda alpha: float(np.nanmean(of(recipe, unit, alpha, k))))

    print("\nPaired differences behind the printed trends:\n")
    for recipe in LOSSES:
        tops = best(recipe, "nouns", 1), best(recipe, "compounds", 5)
        print(f"{recipe}: the best alpha is {tops[0]:g} for p@1 of nn, {tops[1]:g} for p@5 of cn")
        for unit, k, first_alpha, second_alpha in _ALPHAS_COMPARED:
            text = difference(of(recipe, unit, first_alpha, k), of(recipe, unit, second_alpha, k))
            print(f"  {UNITS[unit]} p@{k}, alpha {first_alpha:g} less {second_alpha:g}: {text}")
        for k in (1, 5):
            nouns, compounds = (of(recipe, unit, DEFAULT_ALPHA[unit], k) for unit in UNITS)
            print(f"  p@{k}, nn 0.75 less cn 0: {difference(nouns, compounds)}")
    for unit, short in UNITS.items():
        for first, second in (("SJE-II", "SJE-I"), ("ListSJE", "SJE-II")):
            for k in (1, 5):
                alpha = DEFAULT_ALPHA[unit]
                text = difference(of(first, unit, alpha, k), of(second, unit, alpha, k))
                print(f"{short}, p@{k}, {first} less {second}: {text}")


def tops(bench: Bench) -> Iterator[SweptFigure]:
    """Figure 2: the listwise loss by K_top."""
    rows = []
    for unit, short in UNITS.items():
        for top in TOPS:
            tested = bench.tested(usual("ListSJE", unit, ("top", top)))
            figures = [tested.precision(k)[0] for k in (1, 5)]
            rows.append([short, str(top), *map(interval_text, figures)])
            for k, values in zip((1, 5), figures, strict=True):
                yield swept_figure(f"ListSJE, {short}", f"p@{k}", top, values)
    print(text_table(["tags", "K_top", "p@1", "p@5"], rows))


def pools(bench: Bench) -> Iterator[SweptFigure]:
    """Figure 3, MAP and MiAP, with baselines."""
    ways: list[tuple[str, str, TagScore]] = [(name, name, "own") for name in (*LOSSES, *BASELINES)]
    ways[3:3] = [(f"ListSJE, {by}", "ListSJE", by) for by in ("s1", "s2", "mean")]
    for unit, short in UNITS.items():
        rows, gains, whole = [], [], []
        for name, recipe, by in ways:
            tested = bench.tested(usual(recipe, unit), by)
            for k in (1, 5):
                precisions = [tested.precision(k, number) for number in DISTRACTORS]
                rows.append([name, f"p@{k}", *(interval_text(values) for values, _ in precisions)])
                gains.append([name, f"p@{k}", *(_gain(values, chance) for values, chance in precisions)])
            whole.append([name, *map(interval_text, tested.average_precision())])
        head = ["system", "", *(f"{number} distractors" for number in DISTRACTORS)]
        print(f"\n{short}, alpha {DEFAULT_ALPHA[unit]:g}: precision\n\n{text_table(head, rows)}")
        print(f"\n{short}: gain over a random order, in per cent\n\n{text_table(head, gains)}")
        print(f"\n{short}: among all tags\n\n{text_table(['system', 'MAP', 'MiAP'], whole)}")
        for k in (1, 5):
            for number in DISTRACTORS:
                values = [
                    bench.tested(usual(r, unit)).precision(k, number)[0] for r in ("ListSJE", "Tag-frequency")
                ]
                print(f"{short}, p@{k}, {number} distractors, ListSJE less frequency: {difference(*values)}")
    yield from ()


def _gain(values: Floats, chance: Floats) -> str:
    ratio = bootstrap_ratio(values, chance, drawn(values))
    return f"{100 * (ratio.value - 1):+.0f} [{100 * (ratio.low - 1):+.0f}, {100 * (ratio.high - 1):+.0f}]"


def unseen(bench: Bench) -> Iterator[SweptFigure]:
    """Tags left out of training."""
    rows = []
    for unit, short in UNITS.items():
        for recipe in LOSSES:
            values, number = [], 0
            for seed in range(bench.seeds):
                values_of_images, tags = _unseen_of(bench, usual(recipe, unit), seed)
                values.append(values_of_images)
                number += tags
            joined = np.concatenate(values)
            rows.append(
                [
                    short,
                    recipe,
                    f"{number / bench.seeds:.0f}",
                    str(int((~np.isnan(joined)).sum())),
                    interval_text(joined),
                ]
            )
    print(text_table(["tags", "loss", "tags left out", "photographs", "own before others"], rows))
    yield from ()


def _unseen_of(bench: Bench, trial: Trial, seed: int) -> tuple[Floats, int]:
    """Of each tested photograph how often an own tag that was left out comes before another such, equal ones
    half; NaN where it has none. And how many were left out."""
    whole = TagTexts.learn(
        trial.full_recipe,
        bench.data.prepared(trial.unit, np.arange(len(bench.data.names)), frozenset()).words,
        bench.resources,
        PhaseCache(),
    )
    rng = np.random.default_rng(seed)
    left = sorted(rng.choice(whole.vocabulary, len(whole.vocabulary) // 5, replace=False).tolist())
    system = bench.trained(trial, seed, frozenset(left))
    texts = system.texts
    assert isinstance(texts, TagTexts) and not set(left) & set(texts.vocabulary)
    tested = bench.fold(seed)[2]
    scores = system.score_tags(Vectors(bench.data.vectors[tested]), texts.candidates(left, bench.data.words))
    place_of = {tag: index for index, tag in enumerate(left)}
    precisions = np.full(len(tested), np.nan)
    for row, image in enumerate(tested):
        tags_of_image = {word.tag for caption in bench.data.tags[trial.unit][image] for word in caption}
        hidden = np.zeros(len(left), bool)
        hidden[[place_of[tag] for tag in tags_of_image if tag in place_of]] = True
        if hidden.any():
            mine, others = scores[row, hidden][:, None], scores[row, ~hidden]
            precisions[row] = np.mean((mine > others) + 0.5 * (mine == others))
    return precisions, len(left)


SECTIONS: dict[str, Callable[[Bench], Iterator[SweptFigure]]] = {
    "losses": losses,
    "tops": tops,
    "pools": pools,
    "unseen": unseen,
}
#: What the horizontal axis of a section's figure is.
AXES: dict[str, Literal["alpha", "K_top"]] = {"losses": "alpha", "tops": "K_top"}


def main(data: Path, only: Sequence[str], seeds: int, figures: Path | None) -> None:
    """Print what is asked for."""
    bench = Bench(world(data), seeds)
    for unit, short in UNITS.items():
        texts = bench.trained(usual("Tag-frequency", unit), 0).texts
        assert isinstance(texts, TagTexts)
        print(
            f"{short}: {len(texts.vocabulary):,} tags of the first seed's training photographs have word "
            f"vectors, {texts.without_vector:,} have none"
        )
    for name in only:
        print(f"\n== {name}\n")
        swept = list(SECTIONS[name](bench))
        if figures is not None and swept:
            figures.mkdir(parents=True, exist_ok=True)
            basis = FigureBasis(cases="images", pool=f"photographs of {data}, {seeds} seeds")
            title = f"Precision of tags by {AXES[name]}"
            plot = sweeps.plot(f"tag-{name}", title, AXES[name], swept, basis=basis)
            (figures / f"{plot.key}.svg").write_text(as_svg(plot), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", choices=list(SECTIONS), nargs="+", default=list(SECTIONS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--figures", type=Path)
    options = parser.parse_args()
    main(options.data, options.only, options.seeds, options.figures)
