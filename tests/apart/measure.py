"""Run watchers, and the learner on what they received."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from annotation.protocol import questions as q
from tests.apart import features, learner
from tests.apart.campaigns import CHAINS, Sizes, WatchedCampaign
from tests.apart.features import Memory, Numbers
from tests.apart.polls import Polls
from tests.apart.watcher import Seen, Watcher


@dataclass(frozen=True, slots=True)
class Row:
    """An item as its numbers; whether it is a control item, its image, and its worker."""

    kind: str
    known: bool
    image: str
    worker: str
    numbers: Numbers
    seed: int = 0


class Rows(NamedTuple):
    """Rows without their numbers, and these as a table."""

    rows: list[Row]
    names: list[str]
    table: Any

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Rows:
        """Return the rows in compact form, since many seeds have many."""
        return cls([replace(row, numbers={}) for row in rows], *features.table([row.numbers for row in rows]))


@dataclass(frozen=True, slots=True)
class Separation:
    """How well control items are distinguished from others, with its interval, and for each seed if there are
    several; the number of items of each side and seed; and the most informative columns."""

    area: float
    interval: tuple[float, float]
    areas: tuple[float, ...]
    items: int
    by: tuple[str, ...]


#: Names of times in a line of the file of the worker's own answers.
_TIMES = ("at", "seconds")
#: Items of a worker and kind that are considered, and items of each side that are compared.
WARM_UP, EACH_SIDE = 30, 400
FULL = {
    "entities": Sizes(unknown=330, known=150, workers=28, items=WARM_UP),
    "relevance": Sizes(unknown=300, known=180, workers=28, items=WARM_UP),
    "graded": Sizes(unknown=180, known=300, workers=28, items=WARM_UP),
    "tags": Sizes(unknown=180, known=300, workers=28, items=WARM_UP),
}


def rows_of(
    tasks: str, sizes: Sizes, *, seed: int, timing: bool = True, watching: type[Watcher] = Watcher
) -> list[Row]:
    """Return what watchers of one campaign received, as rows."""
    with tempfile.TemporaryDirectory() as folder:
        site = WatchedCampaign(f"{tasks}-{seed}", tasks, sizes, seed=seed, folder=Path(folder))
        watchers = [watching(site, person) for person in site.watchers]
        kinds = CHAINS if tasks == "entities" else tuple(site.campaign.kinds)
        if tasks == "entities":
            site.help(0.5)
        _all_work(site, watchers, kinds, sizes.items)
        rows = []
        for watcher in watchers:
            watcher.poll_late()
            watcher.read_file()
            rows += rows_seen(site, watcher.person.name, watcher.seen, timing=timing)
    return rows


def _all_work(site: WatchedCampaign, watchers: Sequence[Watcher], kinds: Sequence[str], items: int) -> None:
    """Let the watchers take turns, each with some items of one kind, until each has enough of every kind.

    Every second one receives the next item with the response to an answer.
    """
    done: Counter[tuple[int, str]] = Counter()
    busy = True
    while busy:
        busy = False
        for number, watcher in enumerate(watchers):
            for kind in kinds:
                for turn in range(6):
                    ahead = number % 2 == 1 and turn < 5
                    if done[number, kind] >= items or not watcher.work(kind, ahead=ahead):
                        break
                    busy = True
                    done[number, kind] += len(watcher.seen[-1].task.get("blocks", "1"))
        if kinds == CHAINS:
            site.help(0.05)


def rows_seen(site: WatchedCampaign, worker: str, seen: Sequence[Seen], *, timing: bool = True) -> list[Row]:
    """Yield the rows of what one watcher received, in order."""
    memory, filed, rows = Memory(), Memory(), []
    last: dict[str, Numbers] = {}
    near: dict[str, Polls] = defaultdict(Polls)
    for row in seen:
        task = features.numbers_of(row.task, "task", at=row.at)
        numbers = dict(task)
        numbers |= memory.recurs(row.task)
        before, held, after = (
            features.numbers_of(item, "offer", at=row.at) for item in (row.before, row.held, row.after)
        )
        numbers |= features.changes(before, held, "taking")
        numbers |= features.changes(held, after, "answering")
        numbers |= features.changes(before, after, "both")
        numbers |= features.numbers_of(row.receipt, "receipt", at=row.at)
        numbers |= features.numbers_of(row.headers, "header", at=row.at)
        timeless = {name: value for name, value in row.filed.items() if timing or name not in _TIMES}
        numbers |= features.numbers_of(timeless, "file", at=row.at)
        numbers |= {f"file {name}": value for name, value in filed.recurs(row.filed).items()}
        numbers |= features.changes(last.get(row.kind, {}), task, "since last")
        last[row.kind] = task
        numbers |= {f"kind {row.kind}": 1.0}
        if timing:
            numbers |= {"seconds to take": row.seconds[0], "seconds to answer": row.seconds[1]}
        known, group = site.known(row.task["id"]), site.group(row.task["id"])
        common = {"kind": row.kind, "image": f"{row.kind} {group}"}
        numbers |= row.polls.numbers({name: near[value] for name, value in common.items()}, timing=timing)
        for value in common.values():
            near[value].update(row.polls)
        if isinstance(known, bool):
            rows.append(Row(row.kind, known, str(group), worker, numbers, site.seed))
            continue
        sizes = [len(block["captions"]) for block in row.task["blocks"]]
        for number, (block, is_known) in enumerate(zip(row.task["blocks"], known, strict=True)):
            values = features.numbers_of(block, "block", at=row.at) | {
                "block place": number,
                "block alike in size": sizes.count(sizes[number]),
                "block larger": sum(size < sizes[number] for size in sizes),
                "block smaller": sum(size > sizes[number] for size in sizes),
            }
            values |= _recurs(row.task, block, memory_of(seen, row))
            pairs = [pair for pair in row.filed["pairs"] if pair["image"] == block["image"]["name"]]
            values |= features.numbers_of(pairs, "block filed", at=row.at)
            rows.append(Row(row.kind, is_known, group[number], worker, numbers | values, site.seed))
    return rows


def memory_of(seen: Sequence[Seen], until: Seen) -> list[dict[str, Any]]:
    """Return the blocks of all pages before one."""
    blocks: list[dict[str, Any]] = []
    for row in seen:
        if row is until:
            break
        blocks += row.task.get("blocks", [])
    return blocks


def _recurs(task: dict[str, Any], block: dict[str, Any], before: list[dict[str, Any]]) -> Numbers:
    """Return how often a block's texts occurred in other blocks, and in the rest of the task."""
    here = Counter(value for _, value in features.texts(task))
    earlier = Counter(value for another in before for _, value in features.texts(another))
    numbers: dict[str, list[float]] = {}
    for path, value in features.texts(block):
        numbers.setdefault(f"block{path} here", []).append(here[value])
        numbers.setdefault(f"block{path} earlier", []).append(earlier[value])
        numbers.setdefault(f"block{path} length", []).append(len(value))
    return {
        f"{path} {how}": float(by(values))
        for path, values in numbers.items()
        for how, by in (("mean", np.mean), ("least", min), ("greatest", max))
    }


def evened(rows: Sequence[Row], seed: int, most: int = EACH_SIDE) -> list[Row]:
    """Return as many control items as others of each kind, drawn at random, at most `most`."""
    rng = np.random.default_rng(seed)
    chosen: list[Row] = []
    for kind in sorted({row.kind for row in rows}):
        sides = [[row for row in rows if row.kind == kind and row.known == known] for known in (True, False)]
        number = min(most, *map(len, sides))
        for side in sides:
            chosen += [side[i] for i in sorted(rng.permutation(len(side))[:number])]
    return chosen


def separation_by_learner(parts: Sequence[Rows], *, seed: int) -> Separation:
    """Return the learner's result for rows."""
    names, table = features.joined([(part.names, part.table) for part in parts])
    rows = [row for part in parts for row in part.rows]
    known = np.array([row.known for row in rows])
    result = learner.separation(
        table,
        known,
        [row.image for row in rows],
        [row.worker for row in rows],
        [row.seed for row in rows],
        seed=seed,
    )
    sides = [sum(row.known == side for row in part.rows) for part in parts for side in (True, False)]
    areas = tuple(result.areas) if len(parts) > 1 else (result.area,)
    return Separation(
        result.area, result.interval, areas, min(sides), tuple(names[column] for column in result.columns)
    )


__all__ = [
    "FULL",
    "Separation",
    "WatchedCampaign",
    "Row",
    "Rows",
    "Sizes",
    "evened",
    "separation_by_learner",
    "q",
    "rows_of",
]
