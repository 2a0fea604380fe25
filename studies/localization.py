"""Localization of phrases, and ranking with them, on generated scenes: the tables of studies/RESULTS.md.

    python -m studies.localization [--only proposals localization retrieval] [--images 2400] [--seeds 5]
        [--components 30] [--folder FOLDER]

Everything is computed by the product's commands in a temporary database (SQLite, or beside that of
DATABASE_URL). Scenes are those of `make_sample` with seed 11: of 2,400 the first 2,000 for training, then 200
held out, then 200 for testing. Word vectors of 100 numbers are learned from the captions of the first 2,000
only; regions and whole pictures are described by `--extractor layout`.

- proposals: for how many of people's boxed mentions one of the first 10, 50 or 100 regions is right, of three
  methods; R@100 by category, its interval by images.
- localization: region-phrase CCA of N exemplars of each phrase (1, 10 and all) among 100 proposals, phrases
  as means of words. The seed draws the exemplars; with all of them there is one training.
  R@100 is the bound by the proposals if no image has more than 100. Table 2 is of N = 10.
  Differences on the same mentions are of seed 0, with intervals by images, for AP and mAP by phrases.
- retrieval: images and captions ranked both ways, any of five captions, phrases and sentences as HGLMM Fisher
  vectors of so many `--components`. The seed draws exemplars, the first clusters of the mixture, and the 500
  Fourier features of SAE-phrases.
  D_RP alone is Weighted-distance with alpha 0; the ridge of wholes, which counts for nothing then, is not
  chosen. Tests against HGLMM-CCA are of seed 0, by randomisation, p adjusted by Holm.

Figures are per cent, means over seeds with a t-interval of 95 % over seeds. Each line is printed when it is
computed, with its CPU seconds. With --folder all results are stored there, and the next run reuses them.

Source: Plummer et al. 2015, sections 3 and 4, Tables 2, 4 and 5.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from annotation.common.plain_text import text_table
from studies.intake import database

CORPUS, SEED, REGIONS = "scenes", 11, 100
#: Shares of the scenes for training, held out and for testing: twelfths.
SPLITS = {"train": 10, "val": 1, "test": 1}
METHODS = ("edges-and-segments", "edgeboxes", "selective-search")
#: Maximum number of exemplars of a phrase, by the name of the row; 0 is all.
EXEMPLARS = {"N = 1": 1, "N = 10": 10, "all pairs": 0}
MEASURES = ("R@1", "R@5", "R@10")
DIRECTIONS = ("annotation", "search")


@contextmanager
def set_up(folder: Path | None) -> Iterator[Path]:
    """Set up Django with a migrated database in this folder, or in a temporary one."""
    with ExitStack() as stack:
        folder = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="phrasebox-")))
        folder.mkdir(parents=True, exist_ok=True)
        os.environ |= stack.enter_context(database(folder)) | {"DJANGO_SETTINGS_MODULE": "config.settings"}
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connections

        call_command("migrate", verbosity=0)
        yield folder.resolve()
        connections.close_all()


def command(*arguments: object) -> dict[str, Any]:
    """Return the report of a command."""
    from django.core.management import call_command

    out = StringIO()
    call_command(*map(str, arguments), "--json", stdout=out)
    payload: dict[str, Any] = json.loads(out.getvalue().splitlines()[-1])
    return payload


def interval_text(values: Sequence[float], places: int = 1) -> str:
    """Return the mean in per cent, and for several values its t-interval of 95 %."""
    percents = 100 * np.asarray(values)
    if len(percents) == 1:
        return f"{percents[0]:.{places}f}"
    half = stats.t.ppf(0.975, len(percents) - 1) * percents.std(ddof=1) / np.sqrt(len(percents))
    return f"{percents.mean():.{places}f} ± {half:.{places}f}"


def say(line: str) -> None:
    print(line, flush=True)


@dataclass(frozen=True)
class Bench:
    """The scenes, and results that are computed on request. Names are those of feature sets."""

    folder: Path
    images: int
    seeds: int
    components: int

    @cached_property
    def layer(self) -> str:
        """Return the layer of the scenes' gold, after the corpus is created."""
        scenes, file = self.folder / "scenes", self.folder / "scenes.jsonl"
        if not scenes.exists():
            command("make_sample", scenes, "--images", self.images, "--seed", SEED)
        names = [name for name, part in SPLITS.items() for _ in range(part)]
        with (
            (scenes / "corpus.jsonl").open(encoding="utf-8") as lines,
            file.open("w", encoding="utf-8") as out,
        ):
            out.write(next(lines))
            for number, line in enumerate(lines):
                split = names[number * len(names) // self.images]
                out.write(json.dumps({**json.loads(line), "split": split}) + "\n")
        report = command("import_corpus", CORPUS, file, "--format", "jsonl", "--images", scenes / "images")
        say(f"{report['images']:,} scenes, {report['captions']:,} captions, {report['mentions']:,} mentions")
        return str(report["layer"])

    @cached_property
    def words(self) -> str:
        """Return the word vectors of the training captions."""
        assert self.layer
        report = command("train_word_vectors", CORPUS, "--name", "words")
        read = report["origin"]
        say(f"{report['rows']:,} words of {read['captions']:,} captions ({read['split']})")
        return "words"

    @cached_property
    def whole(self) -> str:
        """Return the features of whole pictures."""
        assert self.layer
        if not _there("whole"):
            command("extract_features", CORPUS, "--name", "whole", "--extractor", "layout")
        return "whole"

    @cached_property
    def gold(self) -> str:
        """Return the regions of people's boxes."""
        self._regions("gold", "gold", "--layer", self.layer)
        return "gold"

    def proposals(self, method: str = METHODS[0]) -> str:
        """Return 100 proposed regions of each test picture."""
        assert self.layer
        self._regions(method, method, "--limit", REGIONS, "--split", "test")
        return method

    def _regions(self, name: str, method: str, *options: object) -> None:
        if not _there(name):
            arguments = ("--name", name, "--method", method, "--extractor", "layout", "--no-whole", *options)
            command("extract_regions", CORPUS, *arguments)

    def train(self, name: str, recipe: str, seed: int, settings: Sequence[str], *sources: str) -> None:
        """Train a system by its recipe, with the word vectors."""
        changed = ("--changes", *settings) if settings else ()
        command(
            *("train_system", name, "--recipe", recipe, "--corpus", CORPUS, "--words", self.words),
            *("--seed", seed, *sources, *changed),
        )

    @property
    def grounding(self) -> tuple[str, ...]:
        """Return the sources for methods that learn from regions with phrases."""
        return ("--regions", self.gold, "--layer", self.layer)


def _there(name: str) -> bool:
    """Return whether a feature set exists: recomputing it would give the same."""
    from evaluation.services.features.store import feature_set
    from phrasebox.registry import UnknownName

    try:
        feature_set(CORPUS, name)
    except UnknownName:
        return False
    return True


def proposals(bench: Bench) -> None:
    """Print a row for each method."""
    for method in METHODS:
        began = time.process_time()
        arguments = (bench.proposals(method), "--split", "test", "--layer", bench.layer)
        report = command("score_proposals", CORPUS, *arguments)["report"]
        every, *categories = report["rows"]
        row = "  ".join(f"R@{k} {100 * every[f'R@{k}']:.1f}" for k in (10, 50, 100))
        say(
            f"{method}: {row} ({100 * every['low']:.1f} to {100 * every['high']:.1f}); {every['mentions']:,} "
            f"mentions in {report['images']:,} images, {report['regions_an_image']:.1f} regions each; "
            f"{time.process_time() - began:.0f} s of CPU"
        )
        say(
            "  R@100: "
            + ", ".join(f"{r['category']} {100 * r['R@100']:.1f} ({r['mentions']:,})" for r in categories)
        )


def localization(bench: Bench) -> None:
    """Print Table 2, and its rows for other N."""
    rows = []
    for label, exemplars in EXEMPLARS.items():
        reports = []
        for seed in range(bench.seeds if exemplars else 1):
            name, began = f"n{exemplars}-{seed}", time.process_time()
            bench.train(
                name, "Region-phrase-CCA", seed, [f"settings.exemplars={exemplars}"], *bench.grounding
            )
            unknown = command("localize", name, "--split", "test", "--regions", bench.proposals())["unknown"]
            report = command("score_localization", name, "--layer", bench.layer)["report"]
            report["pairs"] = _pairs(name)
            reports.append(report)
            of = {measure["measure"]: measure for measure in report["measures"]}
            row = "  ".join(f"{key} {100 * measure['value']:.1f}" for key, measure in of.items())
            first = of["R@1"]
            say(
                f"{label}, seed {seed}: {report['pairs']:,} pairs  {row}; R@1 from {100 * first['low']:.1f} "
                f"to {100 * first['high']:.1f}; {report['mentions']:,} boxed mentions; no known word in "
                f"{unknown} mentions; "
                f"{report['phrases']:,} phrases; {time.process_time() - began:.0f} s of CPU"
            )
        values = {
            measure["measure"]: _over_seeds(reports, measure["measure"]) for measure in reports[0]["measures"]
        }
        measures = ("R@1", "R@10", "R@100", "proposals", "AP", "mAP", "R@1, random", "R@1, largest")
        rows.append(
            [
                label,
                f"{np.mean([r['pairs'] for r in reports]):,.0f}",
                *(interval_text(values[key]) for key in measures),
            ]
        )
        say("= " + "  ".join(map(str, rows[-1])))
        if label == "N = 10":
            say(_by_category(reports))
    say(text_table(["", "pairs", *measures], rows))
    for name, rival in pairwise(("n1-0", "n10-0", "n0-0")):
        compared = command("score_localization", rival, "--layer", bench.layer, "--against", name)["report"]
        for measure in compared["differences"]:
            say(
                f"{rival} less {name}, {measure['measure']}: {100 * measure['difference']:+.1f} "
                f"({100 * measure['low']:+.1f} to {100 * measure['high']:+.1f}; p {measure['p']:.3f})"
            )


def _pairs(name: str) -> int:
    from evaluation.services.systems.training import system_named
    from models_core.estimators.region_phrase import RegionPhraseCCA

    model = system_named(name).model
    assert isinstance(model, RegionPhraseCCA)
    return model.pairs_


def _over_seeds(reports: Sequence[Mapping[str, Any]], measure: str) -> list[float]:
    return [
        measure_row["value"]
        for report in reports
        for measure_row in report["measures"]
        if measure_row["measure"] == measure
    ]


def _by_category(reports: Sequence[Mapping[str, Any]]) -> str:
    """Return Table 2: means over the seeds."""
    keys = ("AP", "R@1", "R@10", "R@100")
    rows = []
    for index, row in enumerate(reports[0]["categories"]):
        means = (100 * np.mean([report["categories"][index][key] for report in reports]) for key in keys)
        rows.append([row["category"], row["mentions"], *(f"{mean:.1f}" for mean in means)])
    return text_table(["category", "mentions", *keys], rows)


@dataclass(frozen=True)
class Ranker:
    """A row of the table of rankings: its training data, and whether these include regions with phrases."""

    recipe: str
    settings: tuple[str, ...] = ()
    grounded: bool = True
    #: Whether it uses regions for ranking.
    looks: bool = False


RANKERS = {
    "HGLMM-CCA": Ranker("HGLMM-CCA", grounded=False),
    "SAE-phrases": Ranker("SAE-phrases", ("settings.features=500",)),
    "Weighted-distance": Ranker("Weighted-distance", looks=True),
    "D_RP alone": Ranker("Weighted-distance", ("settings.alpha=0", "settings.ridges=[0.1]"), looks=True),
}


def retrieval(bench: Bench) -> None:
    """Print Table 5's rows (c) and (d). Seed by seed, so that an interrupted run has all rows of the first
    seeds."""
    assert bench.layer
    command("freeze_qrels", "own", "--corpus", CORPUS, "--protocol", "any of five", "--split", "test")
    values: dict[str, list[list[float]]] = {label: [] for label in RANKERS}
    for seed in range(bench.seeds):
        for label, ranker in RANKERS.items():
            began = time.process_time()
            values[label].append(_ranked(bench, label, ranker, seed))
            row = "  ".join(f"{100 * value:.1f}" for value in values[label][-1])
            say(f"{label}, seed {seed}: {row}; {time.process_time() - began:.0f} s of CPU")
        rows = [
            [
                label,
                len(values_of_label),
                *(interval_text(column) for column in zip(*values_of_label, strict=True)),
            ]
            for label, values_of_label in values.items()
        ]
        head = [f"{direction} {measure}" for direction in DIRECTIONS for measure in MEASURES]
        say(f"{bench.components} components, {seed + 1} seeds\n" + text_table(["", "trainings", *head], rows))
    for direction in DIRECTIONS:
        runs = [f"{_called(bench, label, 0)}-{direction}" for label in RANKERS]
        arguments = ("--qrels", "own", "--measures", ",".join(MEASURES), "--split", "test")
        for test in command("compare_runs", *runs, *arguments)["tests"]:
            say(
                f"{test['run']} less {runs[0]}, {test['measure']}: {100 * test['difference']:+.1f}, "
                f"p {test['adjusted']:.3f}"
            )


def _called(bench: Bench, label: str, seed: int) -> str:
    return f"{label.lower().replace(' ', '-').replace('_', '-')}-{bench.components}-{seed}"


def _ranked(bench: Bench, label: str, ranker: Ranker, seed: int) -> list[float]:
    """Train, rank in both directions, and score: return a value for each measure of each direction."""
    name = _called(bench, label, seed)
    sources = ("--features", bench.whole, *(bench.grounding if ranker.grounded else ()))
    settings = [f"text.mixture={bench.components}", *ranker.settings]
    bench.train(name, ranker.recipe, seed, settings, *sources)
    regions = ("--regions", bench.proposals()) if ranker.looks else ()
    command("rank", name, "--split", "test", "--protocol", "any of five", "--depth", 0, *regions)
    return [value for direction in DIRECTIONS for value in _scored(f"{name}-{direction}")]


def _scored(run: str) -> Iterator[float]:
    arguments = ("--qrels", "own", "--measures", ",".join(MEASURES), "--split", "test")
    yield from (measure["value"] for measure in command("score_run", run, *arguments)["measures"])


PARTS: Mapping[str, Callable[[Bench], None]] = {
    "proposals": proposals,
    "localization": localization,
    "retrieval": retrieval,
}


def main() -> None:
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=tuple(PARTS), default=list(PARTS))
    parser.add_argument("--images", type=int, default=2_400, help="120 or more")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--components", type=int, default=30, help="of the HGLMM of `retrieval`")
    parser.add_argument("--folder", type=Path, help="where all is kept (default: nowhere)")
    options = parser.parse_args()
    with set_up(options.folder) as folder:
        bench = Bench(folder, options.images, options.seeds, options.components)
        for name in options.only:
            say(f"\n== {name}")
            began, used = time.perf_counter(), time.process_time()
            PARTS[name](bench)
            took, used = time.perf_counter() - began, time.process_time() - used
            say(f"{name}: {took:,.0f} s by the clock, {used:,.0f} s of CPU")


if __name__ == "__main__":
    main()
