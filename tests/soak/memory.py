"""Memory of each process over time: the end compared with minute ten.

The compared value is the memory of a process that belongs to no file and is not shared memory (`Anonymous` of
/proc/PID/smaps_rollup): its heap and stacks, including pages still shared with the process that it was forked
from. PSS is shown too but not compared: it divides shared pages among the processes that share them, so that
it rises in one process when another is killed or writes to its own copy. Neither contains PostgreSQL's shared
buffers, which fill up by design. Processes of a kind are compared by rank: the largest with the largest. Each
row shows the age of its process, since a young process has not loaded everything yet.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.soak.processes import RunningProcess

#: Maximum growth after minute ten.
MOST = 0.10
#: Minimum age in minutes at minute ten of processes that are compared: younger ones still load modules.
YOUNG = 3.0
#: Growth in MiB that is ignored: it varies with the number of processes that share a page.
NOISE = 1.0


class Sample(NamedTuple):
    """A process at one moment: seconds since the start, MiB of its own, MiB of PSS without shared memory, age
    in seconds."""

    at: float
    kind: str
    pid: int
    unshared: float
    pss: float
    age: float


class Row(NamedTuple):
    """A process at minute ten and at the end: MiB of its own and of PSS, minutes of age."""

    name: str
    before: float
    pss_before: float
    age_before: float
    after: float
    pss_after: float
    age_after: float

    @property
    def growth(self) -> float:
        return self.after / self.before - 1 if self.before else 0.0

    @property
    def young(self) -> bool:
        return self.age_before < YOUNG

    @property
    def too_much(self) -> bool:
        return not self.young and self.growth > MOST and self.after - self.before > NOISE

    @property
    def verdict(self) -> str:
        return f"{self.growth:+.1%}{' TOO MUCH' if self.too_much else ' (young)' if self.young else ''}"


def sample(at: float, processes: Sequence[RunningProcess]) -> list[Sample]:
    """Return the memory of every process now; processes that have just ended are omitted."""
    result = []
    for process in processes:
        with contextlib.suppress(OSError, ValueError, KeyError):
            lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()[1:]
            kib = {line.split(":")[0]: int(line.split()[1]) for line in lines}
            pss = (kib["Pss_Anon"] + kib["Pss_File"]) / 1024
            result.append(Sample(at, process.kind, process.pid, kib["Anonymous"] / 1024, pss, process.age))
    return result


def rows(samples: Sequence[Sample], before: tuple[float, float], after: tuple[float, float]) -> list[Row]:
    """Return medians over two intervals (seconds since the start), for every process that existed during half
    of both."""
    first, last = _ranked(samples, before), _ranked(samples, after)
    result = []
    for kind, rank in sorted(set(first) & set(last)):
        name = kind if rank == 0 and (kind, 1) not in first else f"{kind}, {_word(rank)}"
        result.append(Row(name, *first[kind, rank], *last[kind, rank]))
    return result


def _word(rank: int) -> str:
    return "largest" if rank == 0 else f"{rank + 1}."


def _ranked(
    samples: Sequence[Sample], stretch: tuple[float, float]
) -> dict[tuple[str, int], tuple[float, float, float]]:
    """Return (kind, rank by size) -> medians of MiB of its own, of PSS, and of minutes of age."""
    moments: dict[float, dict[str, list[Sample]]] = defaultdict(lambda: defaultdict(list))
    for item in samples:
        if stretch[0] <= item.at <= stretch[1]:
            moments[item.at][item.kind].append(item)
    values: dict[tuple[str, int], list[Sample]] = defaultdict(list)
    for kinds in moments.values():
        for kind, value in kinds.items():
            for rank, item in enumerate(sorted(value, key=lambda item: -item.unshared)):
                values[kind, rank].append(item)
    return {
        index: (
            median(item.unshared for item in value),
            median(item.pss for item in value),
            median(item.age for item in value) / 60,
        )
        for index, value in values.items()
        if 2 * len(value) >= len(moments)
    }
