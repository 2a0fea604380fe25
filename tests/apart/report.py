"""Print the figures."""

from __future__ import annotations

import json
import pickle
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from annotation.protocol.kinds import MEASURED_ON_CONTROLS, all_kinds, kind_of, names
from tests.apart.measure import FULL, Rows, Separation, evened, rows_of, separation_by_learner


def run(
    seeds: Iterable[int], *, tasks: Sequence[str] | None, small: bool, timing: bool, folder: Path
) -> None:
    """Print how well control items of each kind are distinguished: a line each, a table, and as JSON."""
    parts: dict[str, list[Rows]] = defaultdict(list)
    for seed in seeds:
        for name in tasks or FULL:
            for kind, rows in _seen(name, seed, small=small, timing=timing, folder=folder).items():
                parts[kind].append(rows)
    result: dict[str, Separation] = {}
    for kind in sorted(parts, key=names().index):
        result[kind] = item = separation_by_learner(parts[kind], seed=1)
        print(f"{kind}: {item.area:.3f} ({'; '.join(item.by[:6])})", flush=True)
    print(table(result))
    print(json.dumps({kind: asdict(item) for kind, item in result.items()}))


def _seen(name: str, seed: int, *, small: bool, timing: bool, folder: Path) -> dict[str, Rows]:
    """Return what watchers of one campaign received, by kind, as many control items as others."""
    path = folder / f"{name}-{seed}{'-small' if small else ''}{'' if timing else '-without-timing'}.pickle"
    if path.exists():
        return dict(pickle.loads(path.read_bytes()))
    started, sizes = time.process_time(), FULL[name]
    if small:
        quarter = {"unknown": sizes.unknown // 3, "known": sizes.known // 2, "workers": sizes.workers // 4}
        sizes = replace(sizes, **quarter)
    even = evened(rows_of(name, sizes, seed=seed, timing=timing), seed)
    kinds = sorted({row.kind for row in even})
    seen = {kind: Rows.of([row for row in even if row.kind == kind]) for kind in kinds}
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(seen))
    print(f"seed {seed}, {name}: {time.process_time() - started:.0f} s of CPU", flush=True)
    return seen


def table(result: Mapping[str, Separation]) -> str:
    """Return a line for each kind: items of each side and seed, the areas of all seeds, their mean and its
    interval."""
    lines = ["| kind | items of each side | seeds | mean | 95 % |", "|---|---:|---|---:|---|"]
    for kind in (kind.key for kind in all_kinds()):
        if kind in result:
            item = result[kind]
            each = " ".join(f"{area:.2f}" for area in item.areas)
            low, high = item.interval
            lines.append(f"| `{kind}` | {item.items} | {each} | {item.area:.3f} | {low:.2f} to {high:.2f} |")
        elif kind_of(kind).measured_on != MEASURED_ON_CONTROLS:
            lines.append(f"| `{kind}` | has no control items | | | |")
    return "\n".join(lines)
