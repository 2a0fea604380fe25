"""The figures as they are printed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

from tests.apart.measure import FULL, Row, Separation, evened, rows_of, separation_by_learner

#: The name of what was learned of all kinds together.
ALL = "all"


def run(seeds: Iterable[int], *, tasks: Sequence[str] | None, small: bool, timing: bool) -> None:
    """Print for each seed how well control items are told apart, of each kind and of all; at last, as
    JSON."""
    result: dict[int, dict[str, Separation]] = {}
    for seed in seeds:
        started = time.perf_counter()
        rows: list[Row] = []
        for name in tasks or FULL:
            sizes = FULL[name]
            if small:
                sizes = replace(sizes, workers=max(3, sizes.workers // 4))
            rows += rows_of(name, sizes, seed=seed, timing=timing)
        even = evened(rows, seed)
        parts = {kind: [row for row in even if row.kind == kind] for kind in sorted({r.kind for r in even})}
        result[seed] = {}
        for name, part in {**parts, ALL: even}.items():
            result[seed][name] = item = separation_by_learner(part, seed=seed)
            by = "; ".join(item.by[:6])
            print(f"seed {seed} {name}: {item.area:.3f} of {item.known} known, {item.others} others ({by})")
        print(f"seed {seed}: {time.perf_counter() - started:.0f} s", flush=True)
    print(
        json.dumps({seed: {name: asdict(item) for name, item in of.items()} for seed, of in result.items()})
    )
