"""How often something may be tried."""

from __future__ import annotations

from datetime import timedelta

import pytest

from annotation import sql, throttle
from annotation.models import Attempts
from annotation.throttle import Limit, Try

pytestmark = pytest.mark.django_db
THREE = Limit("three", 3, 600)
ANN, BOB = Try(THREE, "ann"), Try(THREE, "bob")


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch):
    """Lets time pass."""
    began = sql.now()

    def pass_by(seconds: float) -> None:
        monkeypatch.setattr(sql, "now", lambda: began + timedelta(seconds=seconds))

    pass_by(0)
    return pass_by


def test_beyond_the_limit_one_waits_until_its_time_is_over(later):
    assert [throttle.attempt(ANN) for _ in range(3)] == [0, 0, 0]
    later(60)
    assert throttle.attempt(ANN) == 540
    later(601)
    assert throttle.attempt(ANN) == 0


def test_waiting_is_not_made_longer_by_trying_on(later):
    for _ in range(3):
        throttle.attempt(ANN)
    for second in range(100, 600, 100):
        later(second)
        assert throttle.attempt(ANN) == 600 - second
    later(600)
    assert throttle.attempt(ANN) == 0


def test_one_visitor_does_not_use_up_anothers_attempts(later):
    for _ in range(3):
        throttle.attempt(ANN)
    assert throttle.attempt(BOB) == 0


def test_what_one_limit_refuses_is_counted_under_none(later):
    other = Try(Limit("other", 10, 600), "here")
    for _ in range(3):
        throttle.attempt(ANN)
    throttle.attempt(ANN, other)
    assert not Attempts.objects.filter(key=other.key, count__gt=0).exists()


def test_what_succeeded_is_taken_back(later):
    for _ in range(10):
        assert throttle.attempt(ANN) == 0
        throttle.take_back(ANN)


def test_what_is_forgotten_begins_anew(later):
    for _ in range(3):
        throttle.attempt(ANN)
    throttle.forget(ANN)
    assert throttle.attempt(ANN) == 0


def test_nothing_in_a_row_leads_to_somebody_and_rows_do_not_stay(later):
    throttle.attempt(ANN)
    assert "ann" not in str(Attempts.objects.values())
    later(90_000)
    throttle.attempt(BOB)
    throttle.prune()
    assert [row.key for row in Attempts.objects.all()] == [BOB.key]
