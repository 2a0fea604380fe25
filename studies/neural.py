"""The neural systems: pairs a second, time in the loader, memory, scoring and writing.

    python -m studies.neural [--only training store scoring captioner writing] [--device cpu]

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
- captioner: steps of the network that writes captions, of 100 captions of 10 words and images of
  `--numbers` numbers, with `--hidden` (512) numbers of the hidden layer and 2,000 words: captions a
  second, and the share of the peak.
- writing: captions of 1,000 images by the same network before it learned anything, each of 20 words: with
  a beam of 1 and of 7.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from models_core.estimators.base import DIRECTIONS, Dataset, FitContext, RaggedRows, UnitRows, WordNumbers
from models_core.estimators.embeddings import ranks_of_originals
from models_core.estimators.neural.alignment_training import AlignmentRun, TrainingPairs, embed
from models_core.estimators.neural.captioner import RecurrentCaptioner
from models_core.estimators.neural.captioner_training import CaptionedImages, CaptionerRun
from models_core.estimators.neural.gradient_training import StepSizes, fitting_threads, network_weights
from models_core.estimators.neural.scores import AlignmentScores
from models_core.estimators.neural.settings import AlignmentSettings, CaptionerSettings
from models_core.estimators.predictors import WritingSettings
from studies.measuring import peak, seconds

REGIONS, WORDS, VOCABULARY = 20, 10, 2000
LINK = ("captions", "images")
#: Flickr30k.
STORED_IMAGES, STORED_NUMBERS, CAPTIONS = 31_783, 512, 5


def own_memory() -> float:
    """Return this process's own memory in MiB, without mapped files."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def captions(images: int, per_image: int) -> tuple[WordNumbers, NDArray[np.intp]]:
    """Return captions of random words, and the image of each."""
    count = images * per_image
    words = np.random.default_rng(0).integers(0, VOCABULARY, count * WORDS)
    rows = RaggedRows.of_counts(words, np.full(count, WORDS))
    return WordNumbers(rows.values, rows.begin, rows.end, VOCABULARY), np.repeat(np.arange(images), per_image)


def dataset(values: NDArray[Any], images: int, per_image: int) -> Dataset:
    texts, owners = captions(images, per_image)
    regions = RaggedRows.of_counts(values, np.full(images, REGIONS))
    return Dataset({"images": regions, "captions": texts}, {LINK: owners})


class Timed(UnitRows):
    """Rows that measure the time for gathering them."""

    spent = 0.0

    def padded(self, chosen: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        took, rows = seconds(lambda: UnitRows.padded(self, chosen))
        Timed.spent += took
        return rows


def operations(numbers: int, size: int, batch: int) -> float:
    """Return the multiplications and additions of a step: forward, and twice as many backward."""
    regions, words = batch * REGIONS, batch * WORDS
    layers = regions * numbers * size + words * size * size * 4
    return 3 * 2 * (layers + regions * words * size)


def learn(data: Dataset, options: argparse.Namespace, numbers: int) -> None:
    """Train for a number of seconds, and print the results."""
    regions, words = data.images, data.captions
    assert isinstance(regions, RaggedRows) and isinstance(words, WordNumbers)
    timed = Timed(regions.values, regions.begin, regions.end)
    pairs = TrainingPairs(timed, words, data.image_of)
    settings = AlignmentSettings(size=options.size)
    run = AlignmentRun(
        "benchmark", (pairs, None), settings, StepSizes(5e-5, 0.0), FitContext(), torch.device(options.device)
    )
    order = np.random.default_rng(0).permutation(len(pairs))
    batches = [order[at : at + settings.batch] for at in range(0, len(order), settings.batch)]
    before = peak(np.float32)
    run.step(batches[0])
    held, Timed.spent, done = own_memory(), 0.0, 0
    start = time.perf_counter()
    while time.perf_counter() - start < options.seconds:
        run.step(batches[done % len(batches)])
        done += 1
    took = time.perf_counter() - start
    rate = done * operations(numbers, options.size, settings.batch) / took
    share = rate / ((before + peak(np.float32)) / 2)
    print(
        f"{done} steps in {took:.1f} s: {done * settings.batch / took:,.0f} pairs a second, "
        f"{Timed.spent / took:.1%} of the time in the loader, {share:.0%} of NumPy's peak; "
        f"own memory {held:,.0f} MiB after the first step, {own_memory() - held:+,.0f} at the end"
    )


def training(options: argparse.Namespace) -> None:
    values = np.random.default_rng(0).standard_normal((1000 * REGIONS, options.numbers), dtype=np.float32)
    learn(dataset(values, 1000, CAPTIONS), options, options.numbers)


def store(options: argparse.Namespace) -> None:
    """Write the file in blocks, and map it like a feature set."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        file = Path(folder) / "vectors.npy"
        shape = (STORED_IMAGES * REGIONS, STORED_NUMBERS)
        written = np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=shape)
        rng = np.random.default_rng(0)
        for start in range(0, len(written), 50_000):
            block = written[start : start + 50_000]
            block[:] = rng.standard_normal(block.shape, dtype=np.float32)
        del written
        mapped = np.load(file, mmap_mode="r")
        print(f"{file.stat().st_size / 1e9:.2f} GB on disk")
        learn(dataset(mapped, STORED_IMAGES, CAPTIONS), options, STORED_NUMBERS)


def scoring(options: argparse.Namespace) -> None:
    images = 1000
    values = np.random.default_rng(0).standard_normal((images * REGIONS, options.numbers), dtype=np.float32)
    data = dataset(values, images, CAPTIONS)
    settings = AlignmentSettings(size=options.size)
    pairs = TrainingPairs.of(data)
    run = AlignmentRun(
        "benchmark", (pairs, None), settings, StepSizes(5e-5, 0.0), FitContext(), torch.device(options.device)
    )
    embedding, parts = seconds(lambda: embed(run.network, data))
    for objective in ("best-region", "fragments"):
        scores = AlignmentScores(*parts, objective)
        for direction in DIRECTIONS:
            directed = scores if direction == "annotation" else scores.turned()
            ranking, _ = seconds(lambda f=directed, d=direction: ranks_of_originals(f, data.image_of, d))  # type: ignore[misc]
            print(f"{objective}: embedding {embedding:.2f} s; {direction}: scores and ranks {ranking:.2f} s")


def new_captioner(options: argparse.Namespace) -> CaptionerRun:
    """Return the training of a network that writes captions, before its first step."""
    values = np.random.default_rng(0).standard_normal((1000, options.numbers), dtype=np.float32)
    words, owners = captions(len(values), CAPTIONS)
    settings = CaptionerSettings(size=options.hidden)
    data = CaptionedImages(values, words, owners)
    steps, device = StepSizes(1e-3, 0.0), torch.device(options.device)
    return CaptionerRun("benchmark", (data, None), settings, steps, FitContext(), device)


def captioner(options: argparse.Namespace) -> None:
    run = new_captioner(options)
    size, batch = options.hidden, run.settings.batch
    order = np.random.default_rng(0).permutation(len(run.pairs))
    batches = [order[at : at + batch] for at in range(0, len(order), batch)]
    # A word passes through the input and the recurrent layer, and with END to all words.
    layers = WORDS * (run.settings.word_size + size) * size + (WORDS + 1) * size * (VOCABULARY + 1)
    of_step = 3 * 2 * batch * (layers + options.numbers * size)
    before = peak(np.float32)
    with fitting_threads(run.multiplications):
        run.step(batches[0])
        done, start = 0, time.perf_counter()
        while time.perf_counter() - start < options.seconds:
            run.step(batches[done % len(batches)])
            done += 1
        took = time.perf_counter() - start
    share = done * of_step / took / ((before + peak(np.float32)) / 2)
    print(
        f"{done} steps in {took:.1f} s: {done * batch / took:,.0f} captions a second, "
        f"{share:.0%} of NumPy's peak"
    )


def writing(options: argparse.Namespace) -> None:
    run = new_captioner(options)
    with torch.no_grad():
        run.network.output.bias[-1] = -1e9  # no END: all sentences have the maximum length
    model = RecurrentCaptioner(run.settings)
    model.weights_ = network_weights(run.network)
    images = Dataset({"images": run.pairs.vectors}, {})
    for beam in (1, 7):
        how = WritingSettings(beam=beam, limit=20)
        took, sentences = seconds(lambda how=how: model.write(images, how))  # type: ignore[misc]
        assert {len(sentence.words) for sentence in sentences} == {how.limit}
        print(f"beam {beam}: {len(sentences)} captions of {how.limit} words in {took:.1f} s")


PARTS: Mapping[str, Callable[[argparse.Namespace], None]] = {
    "training": training,
    "store": store,
    "scoring": scoring,
    "captioner": captioner,
    "writing": writing,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--numbers", type=int, default=512)
    parser.add_argument("--size", type=int, default=300)
    parser.add_argument("--hidden", type=int, default=512)
    options = parser.parse_args(arguments)
    for part in options.only:
        print(part)
        PARTS[part](options)


if __name__ == "__main__":
    main()
