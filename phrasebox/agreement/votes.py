"""Who answered what about which item, as three columns of numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

VoteCounts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Votes:
    """Answers: vote v says that `workers[worker[v]]` gave `labels[label[v]]` to `items[item[v]]`.

    Items and workers stand in the order they were first met, labels sorted where they can be.
    """

    items: tuple[Hashable, ...]
    workers: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    item: VoteCounts
    worker: VoteCounts
    label: VoteCounts

    @classmethod
    def of(cls, answers: Iterable[tuple[Hashable, Hashable, Hashable]]) -> Votes:
        """From (item, worker, label); ValueError where a worker answers an item twice."""
        items: dict[Hashable, int] = {}
        workers: dict[Hashable, int] = {}
        labels: dict[Hashable, int] = {}
        seen: set[tuple[int, int]] = set()
        columns: list[tuple[int, int, int]] = []
        for item, worker, label in answers:
            cell = (items.setdefault(item, len(items)), workers.setdefault(worker, len(workers)))
            if cell in seen:
                raise ValueError(f"worker {worker!r} answered item {item!r} twice; keep one of the answers")
            seen.add(cell)
            columns.append((*cell, labels.setdefault(label, len(labels))))
        table = np.array(columns, dtype=np.int64).reshape(len(columns), 3)
        order = _sorted(labels)
        renumbered = np.empty(len(order), dtype=np.int64)
        renumbered[[labels[label] for label in order]] = np.arange(len(order))
        return cls(tuple(items), tuple(workers), order, table[:, 0], table[:, 1], renumbered[table[:, 2]])

    def counts(self) -> VoteCounts:
        """How often each label was given to each item, shape (items, labels)."""
        cells = self.item * len(self.labels) + self.label
        flat = np.bincount(cells, minlength=len(self.items) * len(self.labels))
        return flat.reshape(len(self.items), len(self.labels))


def _sorted(labels: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """The labels in order; as they came where they cannot be compared."""
    ordered = tuple(labels)
    try:
        return tuple(sorted(ordered))  # type: ignore[type-var]
    except TypeError:
        return ordered
