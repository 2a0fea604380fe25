"""The figures as they are printed."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from statistics import fmean

from annotation.protocol.kinds import MEASURED_ON_CONTROLS, all_kinds, kind_of, names
from tests.apart.measure import FULL, Row, Separation, evened, rows_of, separation_by_learner


def run(seeds: Iterable[int], *, tasks: Sequence[str] | None, small: bool, timing: bool) -> None:
    """Print for each seed how well control items of each kind are told apart, and a table; at last, as
    JSON."""
    result: dict[int, dict[str, Separation]] = {}
    for seed in seeds:
        started = time.perf_counter()
        rows: list[Row] = []
        for name in tasks or FULL:
            sizes = FULL[name]
            if small:
                parts = {"unknown": sizes.unknown // 3, "known": sizes.known // 2}
                sizes = replace(sizes, workers=sizes.workers // 4, **parts)
            rows += rows_of(name, sizes, seed=seed, timing=timing)
            print(f"seed {seed}, {name}: {time.perf_counter() - started:.0f} s", flush=True)
        even = evened(rows, seed)
        result[seed] = {}
        for kind in sorted({row.kind for row in even}, key=names().index):
            part = [row for row in even if row.kind == kind]
            result[seed][kind] = item = separation_by_learner(part, seed=seed)
            by = "; ".join(item.by[:6])
            print(f"seed {seed}, {kind}: {item.area:.3f} of {item.known} known, {item.others} others ({by})")
        print(f"seed {seed}: {time.perf_counter() - started:.0f} s", flush=True)
    print(table(result))
    print(
        json.dumps({seed: {name: asdict(item) for name, item in of.items()} for seed, of in result.items()})
    )


def table(result: Mapping[int, Mapping[str, Separation]]) -> str:
    """A line for each kind: items of each side, and the areas of all seeds with their mean."""
    areas: dict[str, list[float]] = defaultdict(list)
    sides: dict[str, int] = {}
    for of in result.values():
        for kind, item in of.items():
            areas[kind].append(item.area)
            sides[kind] = min(sides.get(kind, item.known), item.known)
    lines = ["| kind | items of each side | seeds | mean |", "|---|---:|---|---:|"]
    for kind in (kind.key for kind in all_kinds()):
        if kind in areas:
            each = " ".join(f"{area:.2f}" for area in areas[kind])
            lines.append(f"| `{kind}` | {sides[kind]} | {each} | {fmean(areas[kind]):.3f} |")
        elif kind_of(kind).measured_on != MEASURED_ON_CONTROLS:
            lines.append(f"| `{kind}` | has no control items | | |")
    return "\n".join(lines)
