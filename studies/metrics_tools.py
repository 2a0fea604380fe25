"""The same eight figures from other tools, each from the same arrays; run by `studies.metrics`.

As a program, `PYTHON metrics_tools.py TOOL FILE.npz` measures its time and prints JSON, so that a tool can
have its own environment; so this module imports nothing of this project.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Named = dict[str, dict[str, Any]]
Figures = dict[str, float]


def _named(scores: np.ndarray, rows: np.ndarray) -> tuple[Named, Named, Named]:
    """Return the run, the originals and the relevant items as dictionaries, in the fastest way."""
    items = [f"d{i}" for i in range(scores.shape[1])]
    run: Named = {f"q{q}": dict(zip(items, row, strict=True)) for q, row in enumerate(scores.tolist())}
    relevant: Named = {query: {} for query in run}
    for query, item in rows.tolist():
        relevant[f"q{query}"][items[item]] = 1
    originals: Named = {
        query: {next(iter(originals_of_query)): 1} for query, originals_of_query in relevant.items()
    }
    return run, originals, relevant


def _figures(means: list[float], reciprocal_ranks: list[float]) -> Figures:
    names = ["R@1", "R@5", "R@10", "S@1", "S@5", "S@10", "R-precision"]
    median = statistics.median(round(1 / value) for value in reciprocal_ranks)
    return {**dict(zip(names, map(float, means), strict=True)), "median rank": float(median)}


def pytrec_eval(scores: np.ndarray, rows: np.ndarray) -> Figures:
    import pytrec_eval as tool

    run, originals, relevant = _named(scores, rows)
    by_original = tool.RelevanceEvaluator(originals, {"success.1,5,10", "recip_rank"}).evaluate(run)
    by_relevant = tool.RelevanceEvaluator(relevant, {"success.1,5,10", "Rprec"}).evaluate(run)
    names = ["success_1", "success_5", "success_10"]
    means = [statistics.fmean(measures[name] for measures in by_original.values()) for name in names]
    means += [
        statistics.fmean(measures[name] for measures in by_relevant.values()) for name in [*names, "Rprec"]
    ]
    return _figures(means, [measures["recip_rank"] for measures in by_original.values()])


def ir_measures(scores: np.ndarray, rows: np.ndarray) -> Figures:
    import ir_measures as tool

    run, originals, relevant = _named(scores, rows)
    successes = [tool.Success @ k for k in (1, 5, 10)]
    by_original: dict[Any, list[float]] = {}
    for metric in tool.iter_calc([*successes, tool.RR], originals, run):
        by_original.setdefault(metric.measure, []).append(metric.value)
    by_relevant = tool.calc_aggregate([*successes, tool.Rprec], relevant, run)
    means = [statistics.fmean(by_original[m]) for m in successes]
    means += [by_relevant[m] for m in (*successes, tool.Rprec)]
    return _figures(means, by_original[tool.RR])


def ranx(scores: np.ndarray, rows: np.ndarray, *, objects: bool = True) -> Figures:
    from ranx import Qrels, Run, evaluate  # type: ignore[import-not-found]

    run: Any
    run, originals, relevant = _named(scores, rows)
    if objects:
        run, originals, relevant = Run.from_dict(run), Qrels.from_dict(originals), Qrels.from_dict(relevant)
    names = ["hit_rate@1", "hit_rate@5", "hit_rate@10"]
    by_original = evaluate(originals, run, [*names, "mrr"], return_mean=False)
    by_relevant = evaluate(relevant, run, [*names, "r-precision"])
    means = [by_original[name].mean() for name in names]
    means += [by_relevant[name] for name in (*names, "r-precision")]
    return _figures(means, by_original["mrr"].tolist())


def ranx_dictionaries(scores: np.ndarray, rows: np.ndarray) -> Figures:
    return ranx(scores, rows, objects=False)


TOOLS: dict[str, Callable[[np.ndarray, np.ndarray], Figures]] = {
    "ranx": ranx,
    "ranx, dictionaries": ranx_dictionaries,
}


def measure(tool: Callable[[np.ndarray, np.ndarray], Figures], file: str, times: int = 3) -> dict[str, Any]:
    """Return the seconds of the fastest run after one that does not count (it compiles), and its results."""
    with np.load(file, allow_pickle=False) as held:
        scores, rows = held["scores"], held["rows"]
    figures = tool(scores, rows)
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        tool(scores, rows)
        seconds.append(time.perf_counter() - start)
    return {"seconds": min(seconds), "found": figures}


if __name__ == "__main__":
    print(json.dumps(measure(TOOLS[sys.argv[1]], sys.argv[2])))
