"""Aggregating several answers: majority, mean, Dawid and Skene's model; and the errors of workers.

Dawid and Skene: each item has a true label k with prior p_k; worker w calls a k an l with probability pi_w[k,
l], independently given k. Prior, confusion matrices and the items' posteriors are found by EM from the shares
of the votes. Items with a known label (gold) keep it throughout and so inform the workers' matrices.
Probabilities are floored at 1e-10, so no single vote is absolute. The model is symmetric in a permutation of
labels: it converges to the side of the majority from which it starts.

Sources: Dawid and Skene 1979; Hodosh et al. 2013, section 4.3.2 (mean and majority of votes).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasebox.agreement.estimates import Floats
from phrasebox.lazy import sparse

VoteCounts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Votes:
    """Answers: vote v says that `workers[worker[v]]` gave `labels[label[v]]` to `items[item[v]]`.

    Items and workers are in order of first occurrence, labels are sorted if they are comparable.
    """

    items: tuple[Hashable, ...]
    workers: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    item: VoteCounts
    worker: VoteCounts
    label: VoteCounts

    @classmethod
    def of(cls, answers: Iterable[tuple[Hashable, Hashable, Hashable]]) -> Votes:
        """Build votes from (item, worker, label); raises ValueError if a worker answers an item twice."""
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
        """Return how often each label was given to each item, shape (items, labels)."""
        cells = self.item * len(self.labels) + self.label
        flat = np.bincount(cells, minlength=len(self.items) * len(self.labels))
        return flat.reshape(len(self.items), len(self.labels))


def _sorted(labels: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Return the labels sorted; in their original order if they are not comparable."""
    ordered = tuple(labels)
    try:
        return tuple(sorted(ordered))  # type: ignore[type-var]
    except TypeError:
        return ordered


_FLOOR = 1e-10


@dataclass(frozen=True, slots=True)
class Majority:
    """The most frequent label of each item.

    `labels[i]` is None if two labels tie for it; `shares` is its share of the item's votes.
    """

    labels: tuple[Hashable | None, ...]
    shares: Floats

    @property
    def ties(self) -> int:
        """The number of items without a label, since two or more labels tie."""
        return sum(label is None for label in self.labels)


@dataclass(frozen=True, slots=True)
class DawidSkene:
    """A fitted model.

    `posteriors`: shape (items, labels). `labels[i]` is the most probable label of item i, the first in label
    order if several are. `confusion`: shape (workers, true label, given label); rows sum to 1 and are uniform
    where a worker answered no item with that label. `log_likelihoods`: of the votes and the gold labels,
    after each step of EM.
    """

    posteriors: Floats
    labels: tuple[Hashable, ...]
    prior: Floats
    confusion: Floats
    log_likelihoods: tuple[float, ...]
    converged: bool


def majority(votes: Votes) -> Majority:
    """Return the most frequent label of each item.

    >>> a = [("a", "ann", "yes"), ("a", "bob", "no"), ("a", "cy", "yes")]
    >>> b = [("b", "ann", "no"), ("b", "bob", "yes")]
    >>> majority(Votes.of(a + b)).labels  # b is a tie
    ('yes', None)
    """
    counts = votes.counts()
    if not counts.size:
        return Majority((), np.zeros(0))
    best, top = counts.argmax(axis=1), counts.max(axis=1)
    tied = (counts == top[:, None]).sum(axis=1) > 1
    labels = tuple(None if tie else votes.labels[k] for k, tie in zip(best, tied, strict=True))
    return Majority(labels, top / counts.sum(axis=1))


def mean(votes: Votes) -> Floats:
    """Return the mean of each item's labels, which must be numbers; shape (items,).

    >>> mean(Votes.of([("a", "ann", 1), ("a", "bob", 4), ("b", "ann", 2)])).tolist()
    [2.5, 2.0]
    """
    values = []
    for label in votes.labels:
        if not isinstance(label, int | float):
            raise ValueError(f"label {label!r} is not a number; a mean needs numbers, `majority` does not")
        values.append(float(label))
    counts = votes.counts()
    if not counts.size:
        return np.zeros(0)
    means: Floats = counts @ np.array(values) / counts.sum(axis=1)
    return means


def dawid_skene(
    votes: Votes,
    *,
    gold: Mapping[Any, Hashable] | None = None,
    iterations: int = 100,
    tolerance: float = 1e-7,
) -> DawidSkene:
    """Fit the model; stop when a step adds less than `tolerance` to the log-likelihood of a vote.

    Raises ValueError if there are no votes, or nobody gave some gold label.

    >>> said = {"ann": [0, 1, 0, 1], "bob": [0, 1, 0, 1], "cy": [1, 1, 1, 1]}  # cy always says 1
    >>> fitted = dawid_skene(Votes.of((n, who, label) for who in said for n, label in enumerate(said[who])))
    >>> fitted.labels, fitted.confusion[2].round(2).tolist()
    ((0, 1, 0, 1), [[0.0, 1.0], [0.0, 1.0]])
    """
    if not votes.items:
        raise ValueError("there are no votes to aggregate; give at least one")
    kinds = len(votes.labels)
    known, truth = _known(votes, gold or {})
    # Row i has a 1 for each (worker, label) that voted on item i: both steps of EM are matrix products.
    ones = np.ones(len(votes.item))
    cast = sparse.csr_array(
        (ones, (votes.item, votes.worker * kinds + votes.label)),
        shape=(len(votes.items), len(votes.workers) * kinds),
    )
    counts = votes.counts()
    posteriors = counts / counts.sum(axis=1, keepdims=True)
    posteriors[known] = truth
    likelihoods: list[float] = []
    converged = False
    prior, answer_rates = _maximised(cast, posteriors, kinds)
    for _ in range(iterations):
        joint = np.log(prior) + cast @ np.log(answer_rates)
        top = joint.max(axis=1, keepdims=True)
        scaled = np.exp(joint - top)
        evidence = top[:, 0] + np.log(scaled.sum(axis=1))
        evidence[known] = (joint[known] * truth).sum(axis=1)
        likelihoods.append(float(evidence.sum()))
        posteriors = scaled / scaled.sum(axis=1, keepdims=True)
        posteriors[known] = truth
        prior, answer_rates = _maximised(cast, posteriors, kinds)
        if len(likelihoods) > 1 and likelihoods[-1] - likelihoods[-2] < tolerance * len(votes.item):
            converged = True
            break
    confusion = answer_rates.reshape(len(votes.workers), kinds, kinds).transpose(0, 2, 1)
    return DawidSkene(
        posteriors,
        tuple(votes.labels[k] for k in posteriors.argmax(axis=1)),
        prior,
        confusion,
        tuple(likelihoods),
        converged,
    )


def _maximised(cast: sparse.csr_array, posteriors: Floats, kinds: int) -> tuple[Floats, Floats]:
    """Return the result of the M step: the prior (labels,), and P(given | true) of shape (workers * given,
    true)."""
    prior = np.maximum(posteriors.mean(axis=0), _FLOOR)
    answer_rates = np.maximum(cast.T @ posteriors, _FLOOR)
    totals = answer_rates.reshape(-1, kinds, kinds).sum(axis=1)
    return prior, answer_rates / np.repeat(totals, kinds, axis=0)


def worker_confusion(votes: Votes, truth: Mapping[Any, Hashable]) -> VoteCounts:
    """Return how often each worker called a k an l, shape (workers, true label, given label).

    Only items in `truth` count: gold answers, or an aggregate (which includes the worker's own vote). Raises
    ValueError if nobody gave some true label.

    >>> votes = Votes.of([("a", "ann", "no"), ("b", "ann", "yes"), ("c", "ann", "yes")])
    >>> worker_confusion(votes, {"a": "no", "b": "no", "c": "yes"}).tolist()  # a no was called no and yes
    [[[1, 1], [0, 1]]]
    """
    kinds = len(votes.labels)
    known, true = _known(votes, truth)
    labels = np.full(len(votes.items), -1)
    labels[known] = true.argmax(axis=1) if kinds else 0
    counted = labels[votes.item] >= 0
    cells = (votes.worker * kinds + labels[votes.item]) * kinds + votes.label
    flat = np.bincount(cells[counted], minlength=len(votes.workers) * kinds**2)
    return flat.reshape(len(votes.workers), kinds, kinds)


def _known(votes: Votes, truth: Mapping[Any, Hashable]) -> tuple[NDArray[np.int64], Floats]:
    """Return the numbers of the items with a known label, and that label one-hot encoded."""
    places = {label: index for index, label in enumerate(votes.labels)}
    known = [index for index, item in enumerate(votes.items) if item in truth]
    rows = np.zeros((len(known), len(places)))
    for row, index in enumerate(known):
        label = truth[votes.items[index]]
        if label not in places:
            labels_of_votes = ", ".join(map(repr, votes.labels))
            raise ValueError(
                f"item {votes.items[index]!r} has the gold answer {label!r}, which no vote has; answers "
                f"given: {labels_of_votes}"
            )
        rows[row, places[label]] = 1
    return np.array(known, dtype=np.int64), rows
