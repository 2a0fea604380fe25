"""The neural alignment: pairs a second, time in the loader, memory, and scoring.

    python -m benchmarks.neural [--only training store scoring] [--device cpu]

- training: steps of 100 pairs for `--seconds` (30), images of 20 regions with `--numbers` (512) numbers
  and captions of 10 words, h = `--size` (300): pairs a second, the share of the time in which the numbers
  of a batch are brought together, and the share of the peak, that of a product of two float32 matrices in
  NumPy, measured before and after. Operations are those of the products alone; a step backwards counts
  twice.
- store: the same on 31,783 images of 20 regions with 512 numbers, 1.3 GB mapped from a file, and five
  captions each; and how much memory the process holds of its own (RssAnon) after the first step, and how
  much more at the end. What the system keeps of the file in its cache is not the process's own.
- scoring: 1,000 images of 20 regions with 5,000 captions of 10 words at h = 300: embedding, and the
  scores with the ranks of each direction.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.measuring import peak, seconds
from models_core.estimators.base import DIRECTIONS, Dataset, FitContext, RaggedRows, UnitRows, WordNumbers
from models_core.estimators.embeddings import ranks_of_own
from models_core.estimators.neural.alignment_training import AlignmentRun, TrainingPairs, embed
from models_core.estimators.neural.gradient_training import StepSizes
from models_core.estimators.neural.scores import AlignmentScores
from models_core.estimators.neural.settings import AlignmentSettings

REGIONS, WORDS, VOCABULARY = 20, 10, 2000
PARTS = ("training", "store", "scoring")
LINK = ("captions", "images")
#: Flickr30k.
STORED_IMAGES, STORED_NUMBERS, CAPTIONS = 31_783, 512, 5


def own_memory() -> float:
    """MiB that this process holds of its own, files that are mapped left out."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def captions(images: int, each: int) -> tuple[WordNumbers, NDArray[np.intp]]:
    """Captions of words drawn at random, and the image of each."""
    count = images * each
    words = np.random.default_rng(0).integers(0, VOCABULARY, count * WORDS)
    rows = RaggedRows.of_counts(words, np.full(count, WORDS))
    return WordNumbers(rows.values, rows.begin, rows.end, VOCABULARY), np.repeat(np.arange(images), each)


def dataset(values: NDArray[Any], images: int, each: int) -> Dataset:
    texts, owners = captions(images, each)
    regions = RaggedRows.of_counts(values, np.full(images, REGIONS))
    return Dataset({"images": regions, "captions": texts}, {LINK: owners})


class Timed(UnitRows):
    """Rows that say how long they took to be brought together."""

    spent = 0.0

    def padded(self, chosen: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        took, found = seconds(lambda: UnitRows.padded(self, chosen))
        Timed.spent += took
        return found


def operations(numbers: int, size: int, batch: int) -> float:
    """Multiplications and additions of a step: forwards, and twice as many backwards."""
    regions, words = batch * REGIONS, batch * WORDS
    layers = regions * numbers * size + words * size * size * 4
    return 3 * 2 * (layers + regions * words * size)


def learn(data: Dataset, asked: argparse.Namespace, numbers: int) -> None:
    """Steps for so many seconds, and what is said of them."""
    regions, words = data.images, data.captions
    assert isinstance(regions, RaggedRows) and isinstance(words, WordNumbers)
    timed = Timed(regions.values, regions.begin, regions.end)
    pairs = TrainingPairs(timed, words, data.image_of)
    settings = AlignmentSettings(size=asked.size)
    run = AlignmentRun(
        "benchmark", (pairs, None), settings, StepSizes(5e-5, 0.0), FitContext(), torch.device(asked.device)
    )
    order = np.random.default_rng(0).permutation(len(pairs))
    batches = [order[at : at + settings.batch] for at in range(0, len(order), settings.batch)]
    before = peak(np.float32)
    run.step(batches[0])
    held, Timed.spent, done = own_memory(), 0.0, 0
    start = time.perf_counter()
    while time.perf_counter() - start < asked.seconds:
        run.step(batches[done % len(batches)])
        done += 1
    took = time.perf_counter() - start
    rate = done * operations(numbers, asked.size, settings.batch) / took
    share = rate / ((before + peak(np.float32)) / 2)
    print(
        f"{done} steps in {took:.1f} s: {done * settings.batch / took:,.0f} pairs a second, "
        f"{Timed.spent / took:.1%} of the time in the loader, {share:.0%} of NumPy's peak; "
        f"own memory {held:,.0f} MiB after the first step, {own_memory() - held:+,.0f} at the end"
    )


def training(asked: argparse.Namespace) -> None:
    values = np.random.default_rng(0).standard_normal((1000 * REGIONS, asked.numbers), dtype=np.float32)
    learn(dataset(values, 1000, CAPTIONS), asked, asked.numbers)


def store(asked: argparse.Namespace) -> None:
    """The file is written in blocks, and mapped as a feature set is."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        file = Path(folder) / "vectors.npy"
        shape = (STORED_IMAGES * REGIONS, STORED_NUMBERS)
        written = np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=shape)
        dice = np.random.default_rng(0)
        for start in range(0, len(written), 50_000):
            block = written[start : start + 50_000]
            block[:] = dice.standard_normal(block.shape, dtype=np.float32)
        del written
        mapped = np.load(file, mmap_mode="r")
        print(f"{file.stat().st_size / 1e9:.2f} GB on disk")
        learn(dataset(mapped, STORED_IMAGES, CAPTIONS), asked, STORED_NUMBERS)


def scoring(asked: argparse.Namespace) -> None:
    images = 1000
    values = np.random.default_rng(0).standard_normal((images * REGIONS, asked.numbers), dtype=np.float32)
    data = dataset(values, images, CAPTIONS)
    settings = AlignmentSettings(size=asked.size)
    pairs = TrainingPairs.of(data)
    run = AlignmentRun(
        "benchmark", (pairs, None), settings, StepSizes(5e-5, 0.0), FitContext(), torch.device(asked.device)
    )
    embedding, parts = seconds(lambda: embed(run.network, data))
    for objective in ("best-region", "fragments"):
        scores = AlignmentScores(*parts, objective)
        for direction in DIRECTIONS:
            found = scores if direction == "annotation" else scores.turned()
            ranking, _ = seconds(lambda f=found, d=direction: ranks_of_own(f, data.image_of, d))  # type: ignore[misc]
            print(f"{objective}: embedding {embedding:.2f} s; {direction}: scores and ranks {ranking:.2f} s")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--numbers", type=int, default=512)
    parser.add_argument("--size", type=int, default=300)
    asked = parser.parse_args(arguments)
    for part in asked.only:
        print(part)
        {"training": training, "store": store, "scoring": scoring}[part](asked)


if __name__ == "__main__":
    main()
