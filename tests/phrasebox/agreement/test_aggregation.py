"""Aggregated answers: compared with crowd-kit, and for workers with known errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from crowdkit.aggregation import DawidSkene as CrowdKit
from crowdkit.aggregation import MajorityVote

from phrasebox.agreement.aggregation import Votes, dawid_skene, majority, mean, worker_confusion
from tests.sizes import sized

#: A warning in crowd-kit.
pytestmark = pytest.mark.filterwarnings("ignore:The (inplace|copy) keyword")

#: Factor for the number of random cases in a thorough run: the references are slow.
MORE = sized(1, 5)

Answers = list[tuple[int, str, int]]


def crowd(seed: int, items: int = 12, workers: int = 5, kinds: int = 3) -> tuple[Answers, dict[int, int]]:
    """Return random answers, mostly correct, some missing; and the truth."""
    rng = np.random.default_rng(seed)
    truth = {item: int(rng.integers(0, kinds)) for item in range(items)}
    answers = []
    for item, true in truth.items():
        requested = rng.choice(workers, size=rng.integers(1, workers + 1), replace=False)
        for worker in requested:
            right = rng.random() < 0.5 + 0.1 * worker
            answers.append((item, f"w{worker}", true if right else int(rng.integers(0, kinds))))
    return answers, truth


def frame(answers: Answers) -> pd.DataFrame:
    return pd.DataFrame(answers, columns=["task", "worker", "label"])


@pytest.mark.parametrize("golden", [False, True])
def test_dawid_and_skene_is_crowd_kits(golden: bool) -> None:
    """Run for as many steps, posteriors, prior and confusion matrices agree.

    Every worker here meets and gives every label. Where one does not, the two differ on purpose: that
    package spreads an unknown row over the labels which the worker gave, we over all.
    """
    for seed in range(3 * MORE):
        answers, truth = crowd(seed, items=60)
        votes = Votes.of(answers)
        gold = {item: truth[item] for item in range(10)} if golden else {}
        ours = dawid_skene(votes, gold=gold, iterations=15, tolerance=-np.inf)
        oracle: Any = CrowdKit(n_iter=15, tol=-np.inf)
        theirs = oracle.fit_predict_proba(frame(answers), pd.Series(gold) if gold else None)
        labels = list(votes.labels)
        assert ours.posteriors == pytest.approx(theirs.loc[list(votes.items), labels].to_numpy(), abs=1e-7)
        assert ours.prior == pytest.approx(oracle.priors_.loc[labels].to_numpy(), abs=1e-7)
        for w, worker in enumerate(votes.workers):
            provided = oracle.errors_.loc[[(worker, label) for label in labels], labels].to_numpy()
            assert ours.confusion[w] == pytest.approx(provided.T, abs=1e-7)


def test_a_worker_who_met_no_item_of_a_label_has_even_chances_there() -> None:
    votes = Votes.of([("a", "w", 0), ("a", "v", 0), ("b", "v", 1), ("b", "u", 1), ("c", "v", 2)])
    result = dawid_skene(votes, gold={"a": 0, "b": 1, "c": 2})
    assert result.confusion[votes.workers.index("w")] == pytest.approx(
        np.array([[1, 0, 0], [1 / 3] * 3, [1 / 3] * 3]), abs=1e-6
    )


def test_majority_is_crowd_kits_where_it_is_not_a_tie() -> None:
    """Crowd-kit breaks ties one way or the other; we say that there is one."""
    ties = 0
    for seed in range(12 * MORE):
        answers, _ = crowd(seed, items=30)
        votes = Votes.of(answers)
        ours = majority(votes)
        theirs = MajorityVote().fit_predict(frame(answers))
        for item, label in zip(votes.items, ours.labels, strict=True):
            assert label is None or label == theirs[item]
        ties += ours.ties
    assert ties > 10 * MORE


def test_the_likelihood_never_falls() -> None:
    for seed in range(6 * MORE):
        result = dawid_skene(Votes.of(crowd(seed, items=40)[0]), iterations=60, tolerance=-np.inf)
        assert (np.diff(result.log_likelihoods) > -1e-6).all()


def test_it_outdoes_the_majority_where_two_workers_always_err_alike() -> None:
    """Three careful workers, and four who turn most answers round: the majority is wrong on half."""
    rng = np.random.default_rng(0)
    truth = {item: int(rng.integers(0, 2)) for item in range(400)}
    answers = []
    for item, true in truth.items():
        answers += [(item, f"good{k}", true if rng.random() < 0.95 else 1 - true) for k in range(3)]
        answers += [(item, f"bad{k}", true if rng.random() < 0.35 else 1 - true) for k in range(4)]
    votes = Votes.of(answers)
    gold = {item: truth[item] for item in range(20)}
    right = np.mean([label == truth[i] for i, label in enumerate(dawid_skene(votes, gold=gold).labels)])
    by_majority = np.mean([label == truth[i] for i, label in enumerate(majority(votes).labels)])
    assert right > 0.97 > by_majority
    confusion = dawid_skene(votes, gold=gold).confusion
    assert confusion[votes.workers.index("bad0"), 0, 1] == pytest.approx(0.65, abs=0.08)
    assert confusion[votes.workers.index("good0"), 0, 0] == pytest.approx(0.95, abs=0.05)


def test_gold_stands_whatever_the_workers_say() -> None:
    votes = Votes.of([("a", "w", 0), ("a", "v", 0), ("b", "w", 1), ("b", "v", 1)])
    result = dawid_skene(votes, gold={"a": 1})
    assert result.labels == (1, 1)
    assert result.posteriors[0].tolist() == [0, 1]


def test_one_worker_who_always_says_the_same_is_aggregated_without_fail() -> None:
    result = dawid_skene(Votes.of([("a", "w", 0), ("b", "w", 0)]))
    assert result.labels == (0, 0)
    assert result.converged


def test_confusion_counts_control_items_only() -> None:
    votes = Votes.of([("a", "w", "no"), ("a", "v", "yes"), ("b", "w", "yes"), ("c", "w", "yes")])
    assert votes.labels == ("no", "yes")
    counts = worker_confusion(votes, {"a": "yes", "b": "yes"})
    assert counts[0].tolist() == [[0, 0], [1, 1]]
    assert counts[1].tolist() == [[0, 0], [0, 1]]


def test_mean_and_shares() -> None:
    votes = Votes.of([("a", "w", 1), ("a", "v", 4), ("b", "w", 4)])
    assert mean(votes).tolist() == [2.5, 4]
    assert majority(votes).labels == (None, 4)
    assert majority(votes).shares.tolist() == [0.5, 1]


def test_nothing_is_aggregated_to_nothing() -> None:
    nobody = Votes.of([])
    assert majority(nobody).labels == ()
    assert mean(nobody).tolist() == []
    with pytest.raises(ValueError, match="no votes to aggregate"):
        dawid_skene(nobody)


def test_bad_votes_are_named() -> None:
    with pytest.raises(ValueError, match="worker 'w' answered item 'a' twice"):
        Votes.of([("a", "w", 1), ("a", "w", 1)])
    with pytest.raises(ValueError, match="label 'yes' is not a number"):
        mean(Votes.of([("a", "w", "yes")]))
    with pytest.raises(
        ValueError, match="item 'a' has the gold answer 3, which no vote has; answers given: 1"
    ):
        dawid_skene(Votes.of([("a", "w", 1)]), gold={"a": 3})


def test_labels_that_cannot_be_ordered_stand_as_they_came() -> None:
    assert Votes.of([("a", "w", "x"), ("b", "w", 1)]).labels == ("x", 1)
