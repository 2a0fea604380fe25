"""The figures as they are printed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tests.apart.measure import FULL, Row, evened, found_by_learner, rows_of


def run(seeds: Iterable[int], *, tasks: Sequence[str] | None, small: bool, timing: bool) -> None:
    """Print for each seed how well known items are told apart: of each kind, and of all."""
    for seed in seeds:
        started = time.perf_counter()
        rows: list[Row] = []
        for name in tasks or FULL:
            sizes = FULL[name]
            if small:
                sizes = replace(sizes, workers=max(3, sizes.workers // 4))
            rows += rows_of(name, sizes, seed=seed, timing=timing)
        even = evened(rows, seed)
        for kind in sorted({row.kind for row in even}):
            _show(seed, kind, [row for row in even if row.kind == kind])
        _show(seed, "all", even)
        print(f"seed {seed}: {time.perf_counter() - started:.0f} s", flush=True)


def _show(seed: int, name: str, rows: Sequence[Row]) -> None:
    found = found_by_learner(rows, seed=seed)
    by = "; ".join(found.by[:6])
    print(
        f"seed {seed} {name}: {found.area:.3f} of {found.known} known, {found.others} others ({by})",
        flush=True,
    )
