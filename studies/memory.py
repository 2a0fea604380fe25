"""The estimated memory of training compared with its peak, for each method at two sizes.

    python -m studies.memory [METHOD ...]

The data are random; each training runs in a process of its own. Its peak is that of its resident memory
(VmHWM), minus the resident memory before: libraries, data and the training of a smaller set. The estimate is
`Method.memory`, which `train_system` compares with the available memory.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
from scipy import sparse

from models_core.estimators.base import (
    METHODS,
    Dataset,
    EdgeNumbers,
    FitContext,
    Method,
    RaggedRows,
    TagNumbers,
    View,
    WordNumbers,
)
from models_core.estimators.discovery import load_methods
from models_core.estimators.fitting import amounts_of
from models_core.features.text.phrases import PhraseRows, mean_vectors

#: Numbers of images, and of dimensions of each.
SIZES = ((1500, 512), (4000, 1024))
WARM_UP, HELD_OUT, WORDS, WORD_NUMBERS = 20, 200, 2000, 300
#: Regions or tags of an image; a caption has 6 to 30 words, as in Flickr8k.
PER_IMAGE, SHORTEST, LONGEST = 20, 6, 30
#: Minimum numbers of passes: more take longer, not more memory.
FEW = {
    "epochs": 1,
    "trial_epochs": 1,
    "steps": 5,
    "grid_steps": 0,
    "features": 500,
    "rates": (1e-3,),
    "ridges": (0.1,),
    "powers": (1.0,),
    "costs": (1.0,),
    "norms": (100.0,),
}
_MIB = 2.0**20


def view(form: str, items: int, numbers: int, columns: int, rng: np.random.Generator) -> View:
    """Return random items in a form that methods accept; kernels have `columns`."""
    of_words = form in ("words", "edges", "phrases")
    counts = rng.integers(SHORTEST, LONGEST + 1, items) if of_words else np.full(items, PER_IMAGE)
    words = rng.integers(WORDS, size=counts.sum())
    rows = RaggedRows.of_counts(words, counts)
    if form == "kernel":
        kernel = np.exp(-rng.random((items, columns))) + np.eye(items, columns)
        return (kernel + kernel.T) / 2 if items == columns else kernel
    if form == "regions":
        values = rng.standard_normal((items * PER_IMAGE, numbers), np.float32)
        return RaggedRows.of_counts(values, counts)
    if form == "words":
        return WordNumbers(rows.values, rows.begin, rows.end, WORDS)
    if form == "tags":
        tags = np.concatenate([rng.choice(WORDS, PER_IMAGE, replace=False) for _ in range(items)])
        return TagNumbers(tags, rows.begin, rows.end, WORDS, rng.random((WORDS, WORD_NUMBERS)))
    if form == "edges":
        edges = np.stack([words % 5, words, rng.permutation(words)], axis=1)
        return EdgeNumbers(edges, rows.begin, rows.end, WORDS, None, 5)
    if form == "phrases":
        vectors = rng.random((WORDS, WORD_NUMBERS), np.float32)
        return PhraseRows(np.arange(items), words, rows.begin, rows.end, vectors, WORD_NUMBERS, mean_vectors)
    return rng.standard_normal((items, numbers), np.float32)


def data(method: Method, images: int, numbers: int, trained: int, seed: int) -> Dataset:
    """Return images with a caption each, sparse if it is a vector."""
    rng = np.random.default_rng(seed)
    views = {name: view(form, images, numbers, trained, rng) for name, form in method.takes.items()}
    if set(method.takes.values()) == {"regions", "phrases"}:  # one region each
        values = rng.standard_normal((images, numbers), np.float32)
        views["images"] = RaggedRows.of_counts(values, np.ones(images, int))
    if method.takes["captions"] == "vectors":
        views["captions"] = sparse.random(images, WORDS, PER_IMAGE / WORDS, "csr", rng=rng)
    return Dataset(views, {("captions", "images"): np.arange(images)})


def learn(name: str, images: int, numbers: int) -> tuple[float, float]:
    """Return the peak bytes of training, and the estimate."""
    method = METHODS[name]
    known = {field.name for field in fields(method.settings)}
    settings = method.settings(**{key: value for key, value in FEW.items() if key in known})
    for count in (WARM_UP, images):
        held_out = min(count, HELD_OUT)
        train, new = data(method, count, numbers, count, 0), data(method, held_out, numbers, count, 1)
        further = {item: data(method, count, numbers, count, 2) for item in method.needs}
        before = _status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
        method.make(settings).fit(train, new, FitContext(auxiliary=further))
    return _status("VmHWM") - before, method.memory(settings, amounts_of(train, new, further))


def _status(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(field))


def main(names: list[str]) -> None:
    """Print a row for each method and size."""
    print(
        "| method | images x numbers | peak, MiB | estimate, MiB | estimate / peak |\n|---|---|---|---|---|"
    )
    for name in names or sorted(
        name_of_method for name_of_method, method in METHODS.items() if method.learns
    ):
        for images, numbers in SIZES:
            command = [sys.executable, "-m", "studies.memory", "--one", name, str(images), str(numbers)]
            lines = subprocess.run(command, capture_output=True, text=True)
            print(lines.stdout.strip() or f"| {name} | {lines.stderr.splitlines()[-1:]} |", flush=True)


if __name__ == "__main__":
    load_methods()
    if sys.argv[1:2] == ["--one"]:
        name, images, numbers = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
        peak, estimate = learn(name, images, numbers)
        cells = (name, f"{images} x {numbers}", f"{peak / _MIB:.0f}", f"{estimate / _MIB:.0f}")
        print(f"| {' | '.join(cells)} | {estimate / peak:.2f} |")
    else:
        main(sys.argv[1:])
