"""Work in threads: all of it, its first error, and one BLAS thread each."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from phrasebox import threads
from phrasebox.scoring import tiles
from phrasebox.scoring.ranking import count
from phrasebox.scoring.tiles import Products
from phrasebox.threads import for_each, one_blas_thread, product


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """A BLAS with two threads; the test run sets one (`tests.run`)."""
    np.ones((2, 2)) @ np.ones((2, 2))
    with threadpool_limits(2, user_api="blas"):
        assert blas_threads() == {2}
        yield


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blas_has_one_thread_inside_and_what_it_had_after():
    before = blas_threads()
    with one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_overlapping_limits_are_lifted_by_the_last():
    before = blas_threads()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


def test_an_error_inside_lifts_the_limit():
    before = blas_threads()
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert blas_threads() == before


@pytest.mark.parametrize("number", [0, 1, 2, 100])
def test_every_item_is_worked_on_once(number):
    done: list[int] = []
    for_each(done.append, range(number))
    assert sorted(done) == list(range(number))


def test_the_first_error_in_order_is_raised_and_the_rest_is_left():
    begun = []

    def work(item: int) -> None:
        begun.append(item)
        if item == 3:
            time.sleep(0.05)
        if item in (3, 4):
            raise ValueError(f"item {item}")

    before = threading.active_count()
    with pytest.raises(ValueError, match="item 3"):
        for_each(work, range(10_000))
    assert len(begun) < 1000
    assert threading.active_count() <= before


def test_an_endless_supply_is_drawn_on_as_it_is_used():
    drawn = 0

    def supply() -> Iterator[int]:
        nonlocal drawn
        while True:
            drawn += 1
            yield drawn

    def work(item: int) -> None:
        if item == 50:
            raise StopAsyncIteration

    with pytest.raises(StopAsyncIteration):
        for_each(work, supply())
    assert drawn < 1000


def test_threads_change_no_count(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(0)
    scores = Products(rng.standard_normal((60, 8)), rng.standard_normal((90, 8)))
    pairs = rng.integers(0, 60, 500), rng.integers(0, 90, 500)
    monkeypatch.setattr(tiles, "_PRODUCT_ROWS", 7)
    monkeypatch.setattr(tiles, "_PRODUCT_COLUMNS", 11)
    result = count(scores, pairs, pairs)
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: {0})
    alone = count(scores, pairs, pairs)
    for row, another in zip(result, alone, strict=True):
        assert np.array_equal(row.better, another.better)
        assert np.array_equal(row.equal, another.equal)


@pytest.mark.parametrize("rows", [0, 1, 2, 5, 64])
def test_a_product_by_rows_is_the_product(rows):
    rng = np.random.default_rng(rows)
    left, right = rng.standard_normal((rows, 6)), rng.standard_normal((6, 3))
    for provided in (left, np.asfortranarray(left)):
        with one_blas_thread():
            result = product(provided, right)
        np.testing.assert_allclose(result, left @ right, atol=1e-13)
