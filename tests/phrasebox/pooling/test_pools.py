"""The pool of runs, its report, and its price."""

from __future__ import annotations

import numpy as np
import pytest

from phrasebox.pooling.omissions import leave_out, scores, unjudged_in_top
from phrasebox.pooling.pools import ANNOTATION, SEARCH, BadPool, Shortlist, Space, among, pool
from phrasebox.pooling.pricing import price

#: Three images of two captions each.
SPACE = Space(3, np.array([0, 0, 1, 1, 2, 2]))


def run(name: str, direction: str, *lists: list[int], system: str = "") -> Shortlist:
    width = max(map(len, lists))
    filled = [[*own_list, *[-1] * (width - len(own_list))] for own_list in lists]
    return Shortlist(name, direction, np.arange(len(lists)), np.array(filled), system)


def named(pairs: np.ndarray) -> set[tuple[int, int]]:
    return set(zip(*(side.tolist() for side in SPACE.parts(pairs)), strict=True))


def test_a_pool_is_the_union_of_both_directions_each_pair_once() -> None:
    result = pool(
        [
            run("a", ANNOTATION, [0, 2, 4], [2], [0, 5]),
            run("s", SEARCH, [0], [0], [1], [1], [2, 0], [0, 2]),
        ],
        SPACE,
        depth=2,
    )
    assert named(result.of_run["a"]) == {(0, 0), (0, 2), (1, 2), (2, 0), (2, 5)}
    assert named(result.pairs) == named(result.of_run["a"]) | {
        *((0, 0), (0, 1), (1, 2), (1, 3), (2, 4), (0, 4), (0, 5), (2, 5))
    }
    assert named(result.to_judge) == {(0, 2), (2, 0), (0, 4), (0, 5)}
    assert named(result.without(["a"])) == named(result.of_run["s"])
    assert not len(result.without(["a", "s"]))


def test_a_pool_is_refused_without_runs_or_depth_or_with_a_run_twice() -> None:
    completed = run("a", ANNOTATION, [0], [1], [2])
    for runs, depth, problem in (
        ([], 1, "no run"),
        ([completed], 0, "depth 0"),
        ([completed, completed], 1, "named twice"),
    ):
        with pytest.raises(BadPool, match=problem):
            pool(runs, SPACE, depth=depth)


def test_pairs_are_found_among_sorted_ones() -> None:
    assert among(np.array([1, 3, 9]), np.array([0, 3, 8])).tolist() == [False, True, False]
    assert among(np.array([1]), np.empty(0, np.int64)).tolist() == [False]


def test_what_nobody_judged_of_a_new_run_is_counted_without_originals() -> None:
    new = run("new", ANNOTATION, [0, 2], [4, 5], [4, 0])
    result = unjudged_in_top(new, SPACE, np.sort(SPACE.pairs(np.array([0]), np.array([2]))), depth=2)
    assert (result.pairs, result.unjudged, result.share) == (6, 3, 0.5)


def test_a_run_that_is_left_out_loses_what_it_alone_found() -> None:
    """Two captions fit image 0 beside its own: the odd run alone ranks them high."""
    space = Space(3, np.arange(3))
    lists = [
        run("odd", ANNOTATION, [1, 0, 2], [1, 2, 0], [2, 1, 0]),
        run("even", ANNOTATION, [0, 2, 1], [1, 0, 2], [0, 2, 1]),
    ]
    result = pool(lists, space, depth=1)
    known = np.sort(space.pairs(np.array([0, 2]), np.array([1, 0])))
    relevant = np.array([True, False])
    odd, even = leave_out(lists, result, known, relevant)
    # Image 0 has two relevant captions, 0 and 1: odd finds both in its top 2, even one.
    assert [odd.score, even.score] == pytest.approx([1, (0.5 + 1 + 0) / 3])
    assert (odd.own_pairs, odd.relevant, odd.rank, odd.rank_without) == (1, 1, 1, 1)
    assert odd.score_without == pytest.approx((0 + 1 + 1) / 3)
    assert (even.own_pairs, even.relevant, even.score_without) == (1, 0, even.score)


def test_by_a_measure_of_ranks_the_lower_one_is_better() -> None:
    space = Space(2, np.arange(2))
    lists = [run("right", ANNOTATION, [0, 1], [1, 0]), run("wrong", ANNOTATION, [1, 0], [0, 1])]
    known = space.pairs(np.array([0]), np.array([1]))
    for measure in ("R@1", "median rank"):
        result = leave_out(lists, pool(lists, space, depth=1), known, np.array([False]), measure=measure)
        assert [(row.run, row.rank, row.rank_without) for row in result] == [
            ("right", 1, 1),
            ("wrong", 2, 2),
        ]


def test_both_runs_of_a_system_are_left_out_together() -> None:
    space = Space(2, np.arange(2))
    both = [
        run("x-a", ANNOTATION, [1, 0], [1, 0], system="x"),
        run("x-s", SEARCH, [0, 1], [0, 1], system="x"),
    ]
    other_completed = run("y-a", ANNOTATION, [0, 1], [1, 0], system="y")
    known = space.pairs(np.array([0]), np.array([1]))
    result = leave_out(
        [*both, other_completed], pool([*both, other_completed], space, depth=1), known, np.array([True])
    )
    assert [row.own_pairs for row in result] == [1, 1, 0]
    assert result[0].score > result[0].score_without


def test_scores_are_those_of_the_metrics_in_both_directions() -> None:
    lists = [run("a", ANNOTATION, [0, 1], [0, 1], [0, 1]), run("s", SEARCH, *[[0]] * 6)]
    none = np.empty(0, np.int64)
    result = scores(lists, SPACE, none, none.astype(bool), measure="S@1")
    assert result == {"a": pytest.approx(1 / 3), "s": pytest.approx(2 / 6)}


def test_a_price_multiplies_tasks_by_judges() -> None:
    result = price(pairs=120, tasks=3, judges=3, seconds=90, pay=lambda lasted: int(lasted * 1000))
    assert (result.answers, result.judgments) == (9, 360)
    assert (result.seconds, result.amount) == (810, 810_000)
