"""Time for computing measures compared with other tools, and whether the results agree; prints tables.

    python -m studies.metrics [--ranx PYTHON] [--only scores|embeddings|significance]

- scores: R@1/5/10, S@1/5/10, R-precision and median rank of dense scores in single precision, each
  query with one original and two other relevant items on average. What a tool needs made of the
  matrix (dictionaries, its own objects) is part of its time; reading files is not. Tools without a
  rank take it from the reciprocal rank. ranx pins other packages than we do: name a Python that
  has it. Best of several runs, since what disturbs a run only adds.
- embeddings: 25,000 images by 125,000 captions of 512 dimensions, any of five, both directions, in
  a process of its own whose peak memory is printed.
- significance: 100,000 rounds of Fisher's test, over 1,000 queries.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from phrasebox.metrics.judgments import judged, originals_of
from phrasebox.metrics.ranked import from_scores, from_tiles
from phrasebox.metrics.scoring import evaluate
from phrasebox.scoring.tiles import Products
from phrasebox.significance.randomisation import of_means, of_median
from studies import metrics_tools

MEASURES = ["R@1", "R@5", "R@10", "S@1", "S@5", "S@10", "R-precision", "median rank"]
SIZES = ((1000, 1000), (1000, 5000))


def problem(queries: int, items: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores (queries, items), and rows of (query, relevant item), each query's original first."""
    rng = np.random.default_rng(items)
    scores = rng.standard_normal((queries, items), dtype=np.float32)
    pairs = [(q, q * (items // queries)) for q in range(queries)]
    pairs += [(int(q), int(i)) for q, i in rng.integers(0, (queries, items), (2 * queries, 2))]
    pairs = sorted(dict.fromkeys(pairs), key=lambda pair: pair[0])
    rows = np.array(pairs)
    scores[rows[:, 0], rows[:, 1]] += 2
    return scores, rows


def ours(scores: np.ndarray, rows: np.ndarray) -> dict[str, float]:
    original = np.ones(len(rows), dtype=bool)
    original[1:] = rows[1:, 0] != rows[:-1, 0]
    judgments = judged(
        rows[:, 0],
        rows[:, 1],
        np.ones(len(rows)),
        queries=scores.shape[0],
        items=scores.shape[1],
        original=original,
    )
    return {name: score.value for name, score in evaluate(from_scores(scores, judgments), MEASURES).items()}


def best_of(times: int, work: Callable[[], dict[str, float]]) -> tuple[float, dict[str, float]]:
    """Return the seconds of the fastest of `times` runs after one that does not count, and its results."""
    result = work()
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def of_scores(ranx: str | None) -> str:
    lines = ["| scores | tool | seconds | times ours |", "| --- | --- | ---: | ---: |"]
    for size in SIZES:
        scores, rows = problem(*size)
        table = [("this project", *best_of(20, lambda s=scores, r=rows: ours(s, r)))]  # type: ignore[misc]
        for name, tool in (
            ("pytrec_eval", metrics_tools.pytrec_eval),
            ("ir_measures", metrics_tools.ir_measures),
        ):
            table.append((name, *best_of(3, lambda t=tool, s=scores, r=rows: t(s, r))))  # type: ignore[misc]
        if ranx:
            table += [(name, *elsewhere(ranx, name, scores, rows)) for name in ("ranx", "ranx, dictionaries")]
        for name, seconds, values in table:
            for measure, value in table[0][2].items():
                if abs(values[measure] - value) > 1e-6:
                    raise SystemExit(f"{name} finds {values[measure]} for {measure}, we {value}")
            lines.append(
                f"| {size[0]:,} x {size[1]:,} | {name} | {seconds:.4f} | {seconds / table[0][1]:,.0f} |"
            )
    return "\n".join(lines)


def elsewhere(python: str, tool: str, scores: np.ndarray, rows: np.ndarray) -> tuple[float, dict[str, float]]:
    """Return the same from another Python, which measures its own time; only the file of tools is run
    there."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.npz"
        np.savez(file, scores=scores, rows=rows)
        # -I: otherwise our folder would be searched first, where `queue` is not the standard library's.
        command = [python, "-I", str(Path(metrics_tools.__file__)), tool, str(file)]
        answer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return answer["seconds"], answer["found"]


def of_embeddings(images: int = 25_000, dimensions: int = 512) -> str:
    rng = np.random.default_rng(0)
    queries = rng.standard_normal((images, dimensions), dtype=np.float32)
    owner = np.repeat(np.arange(images), 5)
    items = rng.standard_normal((5 * images, dimensions), dtype=np.float32)
    for start in range(0, len(items), 10_000):
        items[start : start + 10_000] += 0.15 * queries[owner[start : start + 10_000]]
    originals = originals_of(owner, images)
    start_time = time.perf_counter()
    rows, columns = from_tiles(Products(queries, items, cosine=True), originals, originals.swapped())
    annotation, search = (evaluate(vectors, ["R@1", "R@10", "median rank"]) for vectors in (rows, columns))
    seconds = time.perf_counter() - start_time
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    figures = ", ".join(
        f"{name} {annotation[name].value:.4g} / {search[name].value:.4g}" for name in annotation
    )
    return (
        "| embeddings | seconds | peak memory | figures (annotation / search) |\n"
        "| --- | ---: | ---: | --- |\n"
        f"| {images:,} x {5 * images:,} x {dimensions} | {seconds:.1f} | {peak:.2f} GiB | {figures} |"
    )


def of_significance() -> str:
    rng = np.random.default_rng(0)
    systems = rng.random((30, 1000)) < rng.uniform(0.1, 0.3, (30, 1))
    ranks = rng.integers(1, 1000, (2, 1000)).astype(float)
    lines = ["| 100,000 rounds | seconds |", "| --- | ---: |"]
    for name, work in (
        ("means of 30 systems, all pairs", lambda: of_means(systems)),
        ("median ranks of one pair", lambda: of_median(*ranks)),
    ):
        start = time.perf_counter()
        work()
        lines.append(f"| {name} | {time.perf_counter() - start:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranx", metavar="PYTHON", help="a Python that has ranx")
    parser.add_argument("--only", choices=["scores", "embeddings", "significance"])
    options = parser.parse_args()
    parts = {
        "scores": lambda: of_scores(options.ranx),
        "embeddings": of_embeddings,
        "significance": of_significance,
    }
    if options.only:
        print(parts[options.only]())
        return
    for part in parts:
        extra = ["--ranx", options.ranx] if options.ranx else []
        subprocess.run([sys.executable, "-m", "studies.metrics", "--only", part, *extra], check=True)
        print()


if __name__ == "__main__":
    main()
