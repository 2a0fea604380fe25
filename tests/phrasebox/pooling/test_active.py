"""Active pooling: every strategy judges a whole pool, and the good ones order systems early."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from phrasebox.pooling.active import (
    STRATEGIES,
    Lists,
    PoolJudging,
    RoundRule,
    Stop,
    choose_next_pairs,
    judge,
    stop_for,
    tau_b,
)
from phrasebox.pooling.pools import ANNOTATION, BadPool, Shortlist, Space, pool
from phrasebox.registry import UnknownName
from studies.batches_problem import flickr8k, generated
from tests.sizes import by_default

ACTIVE = ("move_to_front", "thompson")
SEEDS = range(5)
#: The judgments of Flickr8k are slow; the small world tests that any seed gives an early order.
FEW_SEEDS = by_default(1, SEEDS)


@pytest.fixture(scope="module")
def small() -> tuple:
    lists, space, relevant = generated(12, 200)
    return lists, pool(lists, space, depth=10), relevant


@pytest.fixture(scope="module")
def crowd(real_data: Path) -> tuple:
    lists, space, relevant = flickr8k(real_data / "flickr8k")
    return lists, pool(lists, space, depth=10), relevant


def judged(world: tuple, strategy: str, **also) -> PoolJudging:
    lists, whole, relevant = world
    return judge(lists, whole, relevant, strategy=strategy, **also)


@pytest.mark.parametrize("strategy", [*STRATEGIES.keys()])
def test_without_a_stop_each_pair_is_judged_once_and_the_ranking_is_the_full_pools(
    small: tuple, strategy: str
) -> None:
    never = Stop(at_least=1.0, patience=100)
    result = judged(small, strategy, stop=never)
    assert (result.judged, result.share) == (result.pool, 1)
    assert result.tau == pytest.approx(1)
    assert result.relevant == judged(small, "depth", stop=never).relevant > 0


@pytest.mark.parametrize("strategy", [*STRATEGIES.keys()])
def test_an_order_follows_from_the_seed(small: tuple, strategy: str) -> None:
    first, again, another = (judged(small, strategy, seed=seed).scores.tolist() for seed in (1, 1, 2))
    assert first == again != another


@pytest.mark.parametrize("strategy", ACTIVE)
@pytest.mark.parametrize("seed", SEEDS)
def test_half_the_judgments_order_generated_systems(small: tuple, strategy: str, seed: int) -> None:
    result = judged(small, strategy, seed=seed)
    assert result.stable and result.share <= 0.5
    assert result.tau >= 0.9
    assert (
        result.relevant
        > 2 * result.share * judged(small, "depth", stop=Stop(at_least=1.0, patience=100)).relevant
    )


@pytest.mark.parametrize("strategy", ACTIVE)
@pytest.mark.parametrize("seed", FEW_SEEDS)
def test_half_the_judgments_order_systems_on_the_crowd_of_flickr8k(
    crowd: tuple, strategy: str, seed: int
) -> None:
    result = judged(crowd, strategy, seed=seed)
    assert result.stable and result.share <= 0.5
    assert result.tau >= 0.9


def test_a_list_whose_items_are_relevant_is_gone_through_at_once() -> None:
    """Nine lists of five, one of them of relevant items, one answer at a time."""
    lists = np.arange(45).reshape(9, 5)
    asks = STRATEGIES.get("move_to_front")(
        Lists(np.zeros(9, np.int64), lists), 45, 1, np.random.default_rng(0)
    )
    seen = [next(asks)[0]]
    while len(seen) < 45:
        seen.append(asks.send(np.array([seen[-1] // 5 == 3]))[0])
    first = next(index for index, item in enumerate(seen) if item // 5 == 3)
    assert seen[first : first + 5] == [15, 16, 17, 18, 19]
    assert sorted(seen) == list(range(45))


def test_one_run_has_no_ranking_and_unknown_strategies_are_named() -> None:
    lists, space, relevant = generated(1, 20)
    with pytest.raises(BadPool, match="two or more"):
        judge(lists, pool(lists, space, depth=2), relevant, strategy="depth")
    lists, space, relevant = generated(2, 20)
    with pytest.raises(UnknownName, match="thompson"):
        judge(lists, pool(lists, space, depth=2), relevant, strategy="bandit")


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="patience"):
        Stop(patience=0)


def test_tau_of_rankings_without_order() -> None:
    flat, rising = np.zeros(3), np.arange(3.0)
    assert [tau_b(flat, flat), tau_b(flat, rising), tau_b(rising, rising)] == pytest.approx([1, 0, 1])


@pytest.mark.parametrize("strategy", ACTIVE)
def test_rounds_chosen_from_answers_alone_are_those_of_judging_and_end_where_it_does(
    small: tuple, strategy: str
) -> None:
    lists, whole, relevant = small
    stop = stop_for(0.05)
    straight = judged(small, strategy, stop=stop)
    requested = np.empty(0, np.int64)
    rounds = []
    while True:
        next_pairs = choose_next_pairs(
            lists,
            whole,
            whole.to_judge,
            selected_pairs=requested,
            relevant=relevant,
            rule=RoundRule(strategy, stop, most=len(whole.to_judge)),
        )
        if not len(next_pairs.pairs):
            break
        assert not np.isin(next_pairs.pairs, requested).any()
        rounds.append(len(next_pairs.pairs))
        requested = np.union1d(requested, next_pairs.pairs)
    assert (len(requested), next_pairs.stable) == (straight.judged, straight.stable) == (sum(rounds), True)
    assert max(rounds) <= round(0.05 * len(whole.to_judge)) and next_pairs.tau >= stop.stable


def test_a_round_leaves_alone_what_is_filtered_and_what_is_known(small: tuple) -> None:
    lists, whole, relevant = small
    candidates = whole.to_judge[::3]
    known = candidates[::2]
    requested = known
    for _ in range(2):
        next_pairs = choose_next_pairs(
            lists,
            whole,
            candidates,
            selected_pairs=requested,
            relevant=relevant,
            rule=RoundRule("depth", stop_for(0.1), most=7),
        )
        assert (
            len(next_pairs.pairs) == 7
            and np.isin(next_pairs.pairs, candidates).all()
            and not np.isin(next_pairs.pairs, requested).any()
        )
        requested = np.union1d(requested, next_pairs.pairs)


def test_larger_rounds_are_as_patient_in_pairs() -> None:
    assert [stop_for(share).patience for share in (0.02, 0.05, 0.12, 0.5)] == [6, 2, 2, 2]


@pytest.mark.parametrize("strategy", [*STRATEGIES.keys()])
def test_where_everything_is_filtered_or_known_there_is_no_round(small: tuple, strategy: str) -> None:
    lists, whole, relevant = small
    for candidates in (whole.to_judge[:0], whole.to_judge[:50]):
        next_pairs = choose_next_pairs(
            lists,
            whole,
            candidates,
            selected_pairs=candidates,
            relevant=relevant,
            rule=RoundRule(strategy, stop_for(0.5), most=1),
        )
        assert (len(next_pairs.pairs), next_pairs.pool, next_pairs.asked_before) == (
            0,
            len(candidates),
            len(candidates),
        )


def test_runs_without_any_order_are_no_stable_order() -> None:
    """Nobody finds anything: each looks like the other, and rounds go on to the end."""
    space = Space(40, np.arange(40))
    queries = np.arange(40)
    lists = [
        Shortlist(name, ANNOTATION, queries, (queries[:, None] + np.arange(1, 6) * way) % 40, name)
        for name, way in (("up", 1), ("down", -1))
    ]
    whole = pool(lists, space, depth=5)
    requested, nothing = np.empty(0, np.int64), np.empty(0, np.int64)
    while True:
        next_pairs = choose_next_pairs(
            lists,
            whole,
            whole.to_judge,
            selected_pairs=requested,
            relevant=nothing,
            rule=RoundRule("depth", stop_for(0.1), most=40),
        )
        requested = np.union1d(requested, next_pairs.pairs)
        if not len(next_pairs.pairs):
            break
    assert len(requested) == len(whole.to_judge) and not next_pairs.stable
