"""Limits on the number of attempts."""

from __future__ import annotations

import pytest

from annotation.models import Attempts
from annotation.workers import rate_limit
from annotation.workers.rate_limit import Delay, Limit, Try

pytestmark = pytest.mark.django_db
THREE = Limit("three", 3, 600)
ANN, BOB = Try(THREE, "ann"), Try(THREE, "bob")


def test_beyond_the_limit_one_waits_until_its_time_is_over(later):
    assert [rate_limit.attempt(ANN) for _ in range(3)] == [0, 0, 0]
    later(60)
    assert rate_limit.attempt(ANN) == 540
    later(601)
    assert rate_limit.attempt(ANN) == 0


def test_waiting_is_not_made_longer_by_trying_on(later):
    for _ in range(3):
        rate_limit.attempt(ANN)
    for second in range(100, 600, 100):
        later(second)
        assert rate_limit.attempt(ANN) == 600 - second
    later(600)
    assert rate_limit.attempt(ANN) == 0


def test_a_delay_grows_from_attempt_to_attempt_and_is_forgotten(later):
    slow = Try(Delay("slow", 2, 10, 100), "ann")
    assert [rate_limit.attempt(slow) for _ in range(3)] == [0, 0, 1]
    at = 0
    for wait in (1, 2, 4, 8, 10, 10):
        assert rate_limit.attempt(slow) == wait
        later(at := at + wait)
        assert rate_limit.attempt(slow) == 0
    later(at + 100)
    assert [rate_limit.attempt(slow) for _ in range(3)] == [0, 0, 1]


def test_one_visitor_does_not_use_up_anothers_attempts(later):
    for _ in range(3):
        rate_limit.attempt(ANN)
    assert rate_limit.attempt(BOB) == 0


def test_what_one_limit_refuses_is_counted_under_none(later):
    another = Try(Limit("other", 10, 600), "here")
    for _ in range(3):
        rate_limit.attempt(ANN)
    rate_limit.attempt(ANN, another)
    assert not Attempts.objects.filter(key=another.key, count__gt=0).exists()


def test_what_succeeded_is_taken_back(later):
    for _ in range(10):
        assert rate_limit.attempt(ANN) == 0
        rate_limit.take_back(ANN)


def test_what_is_forgotten_begins_again(later):
    for _ in range(3):
        rate_limit.attempt(ANN)
    rate_limit.forget(ANN)
    assert rate_limit.attempt(ANN) == 0


def test_nothing_in_a_row_leads_to_somebody_and_rows_do_not_stay(later):
    rate_limit.attempt(ANN)
    assert "ann" not in str(Attempts.objects.values())
    later(90_000)
    rate_limit.attempt(BOB)
    rate_limit.prune_rate_limits()
    assert [row.key for row in Attempts.objects.all()] == [BOB.key]
