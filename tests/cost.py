"""What tests cost: measured by a plug-in of pytest's, told at a run's end beside what was recorded.

`tests/recorded.json` holds a run's costs, by file and by case: seconds of CPU, which a busy machine changes
little, and seconds by the clock. `python -m tests.run --record` writes it anew. Lanes are balanced by it
(`tests/lanes.py`), and a case that has become dearer is named.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

RECORDED = Path(__file__).resolve().parent / "recorded.json"
#: Cases that take less are not recorded by themselves, seconds of CPU.
SMALL = 0.25
#: A case has become dearer where it takes so many times as much, and so many seconds of CPU more, on a
#: machine as fast as that of the record.
TIMES, MORE = 1.5, 0.5
#: With so many cases in common with the record, a run tells how fast its machine is.
ENOUGH = 50
SLOWEST = 10


@dataclass(frozen=True)
class Cost:
    """Seconds of CPU, with those of processes that were started; seconds by the clock."""

    cpu: float
    wall: float

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.cpu - other.cpu, self.wall - other.wall)

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.cpu + other.cpu, self.wall + other.wall)


NONE = Cost(0.0, 0.0)


def now() -> Cost:
    """What this process and all that it has started took until now."""
    return Cost(_cpu(os.getpid()), time.monotonic())


def _cpu(process: int) -> float:
    """Seconds of CPU of a process, of those that it waited for, and of those that still run below it."""
    try:
        values = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:  # it has ended, or there is no /proc here
        return sum(os.times()[:4]) if process == os.getpid() else 0.0
    own = sum(map(int, values[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(_cpu(int(child)) for child in children)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cost", type=Path, metavar="FILE", help="Write there what each case cost")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--cost"):
        config.pluginmanager.register(_Meter(config.getoption("--cost")), "cost-meter")


class _Meter:
    """Measures a session: its cases, and the rest of it under no name."""

    def __init__(self, file: Path) -> None:
        self._file, self._cases = file, dict[str, Cost]()
        self._began = time.monotonic()
        self._lost = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = now()
        try:
            return (yield)
        finally:
            took = now() - before
            # Nobody waits for a browser's processes when it closes: what they took is no longer told.
            self._lost += max(-took.cpu, 0.0)
            self._cases[item.nodeid] = Cost(max(took.cpu, 0.0), took.wall)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        whole = Cost(now().cpu + self._lost, time.monotonic() - self._began)
        cases = {test: [round(cost.cpu, 2), round(cost.wall, 2)] for test, cost in self._cases.items()}
        self._file.write_text(json.dumps({"whole": [whole.cpu, whole.wall], "cases": cases}))


@dataclass(frozen=True)
class LaneCost:
    """What one lane of a run took."""

    whole: Cost
    cases: dict[str, Cost]


def read(folder: Path) -> dict[str, LaneCost]:
    """What the lanes of a run have written in `folder`, by lane; a lane that broke off is missing."""
    found = {}
    for file in sorted(folder.iterdir()):
        told = json.loads(file.read_text())
        cases = {test: Cost(*cost) for test, cost in told["cases"].items()}
        found[file.name] = LaneCost(Cost(*told["whole"]), cases)
    return found


def recorded() -> dict[str, Any]:
    """What was recorded: `lanes`, `files` and `cases`, each by name and lane as [CPU, clock]."""
    if not RECORDED.exists():
        return {"lanes": {}, "files": {}, "cases": {}}
    kept: dict[str, Any] = json.loads(RECORDED.read_text())
    return kept


def record(costs: Mapping[str, LaneCost]) -> None:
    """Write down what a whole run took."""
    files: dict[str, dict[str, Cost]] = defaultdict(dict)
    cases: dict[str, dict[str, list[float]]] = defaultdict(dict)
    for lane, cost in costs.items():
        for test, own in cost.cases.items():
            file = test.partition("::")[0]
            files[file][lane] = files[file].get(lane, NONE) + own
            if own.cpu >= SMALL:
                cases[test][lane] = [own.cpu, own.wall]
    kept: dict[str, dict[str, Any]] = {
        "lanes": {
            lane: {"cases": len(cost.cases), "cost": _rounded(cost.whole)} for lane, cost in costs.items()
        },
        "files": {
            file: {lane: _rounded(own) for lane, own in lanes.items()}
            for file, lanes in sorted(files.items())
        },
        "cases": dict(sorted(cases.items())),
    }
    # A line for each file and case: a diff shows which has become dearer.
    parts = []
    for part, entries in kept.items():
        lines = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items()]
        parts.append(f" {json.dumps(part)}: {{\n" + ",\n".join(lines) + "\n }")
    RECORDED.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def told(costs: Mapping[str, LaneCost]) -> Iterator[str]:
    """The lines that end a run: each lane's total, the slowest cases, and those that have become dearer."""
    before = recorded()
    yield "== what it took: by the clock, and of CPU; in brackets what was recorded =="
    for lane, cost in costs.items():
        kept = before["lanes"].get(lane)
        was = f" ({_shown(Cost(*kept['cost']))}, {kept['cases']} cases)" if kept else ""
        yield f"{lane}: {_shown(cost.whole)}, {len(cost.cases)} cases{was}"
    every = [(own, test, lane) for lane, cost in costs.items() for test, own in cost.cases.items()]
    if not every:
        return
    yield "The slowest:"
    for own, test, lane in sorted(every, key=lambda each: -each[0].wall)[:SLOWEST]:
        yield f"  {_shown(own)}{_was(before, test, lane)}: {test} ({lane})"
    pace = _pace(before, every)
    dearer = [each for each in every if _dearer(before, pace, *each)]
    if dearer:
        machine = (
            "" if pace == 1 else f", where this machine takes {pace:.2f} times as long as that of the record"
        )
        yield f"Dearer by more than half than recorded{machine} (CONTRIBUTING.md says what a test may cost):"
        for own, test, lane in sorted(dearer, key=lambda each: -each[0].cpu):
            yield f"  {_shown(own)}{_was(before, test, lane)}: {test} ({lane})"


def _pace(before: Mapping[str, Any], every: list[tuple[Cost, str, str]]) -> float:
    """How many times as long this machine takes as that of the record: the median over the cases of both."""
    ratios = [
        own.cpu / kept[0]
        for own, test, lane in every
        if (kept := before["cases"].get(test, {}).get(lane)) and own.cpu > 0
    ]
    return statistics.median(ratios) if len(ratios) >= ENOUGH else 1.0


def _dearer(before: Mapping[str, Any], pace: float, own: Cost, test: str, lane: str) -> bool:
    """Whether a case that is known, by itself or by its file, takes much more CPU than it did."""
    if lane not in before["files"].get(test.partition("::")[0], {}):
        return False
    was = before["cases"].get(test, {}).get(lane, [SMALL])[0]
    return own.cpu > pace * TIMES * was and own.cpu > pace * (was + MORE)


def _was(before: Mapping[str, Any], test: str, lane: str) -> str:
    kept = before["cases"].get(test, {}).get(lane)
    return f" ({_shown(Cost(*kept))})" if kept else ""


def _shown(cost: Cost) -> str:
    return f"{cost.wall:.1f} s, CPU {cost.cpu:.1f} s"


def _rounded(cost: Cost) -> list[float]:
    return [round(cost.cpu, 1), round(cost.wall, 1)]
