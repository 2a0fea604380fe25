"""Amounts in the digits of their currency."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.money import amount_text, currency_digits, rounded_amount, smallest_amount

CURRENCIES = ("USD", "JPY", "KWD", "CLF", "eur", "points")


@pytest.mark.parametrize(("currency", "digits"), [("USD", 2), ("JPY", 0), (" kwd", 3), ("CLF", 4), ("", 2)])
def test_digits_are_those_of_iso_4217(currency: str, digits: int) -> None:
    assert currency_digits(currency) == digits


@given(st.integers(-(10**15), 10**15), st.sampled_from(CURRENCIES))
def test_a_rounded_amount_is_the_nearest_one_that_can_be_paid_and_is_written_with_its_digits(
    micros: int, currency: str
) -> None:
    smallest, rounded = smallest_amount(currency), rounded_amount(micros, currency)
    assert rounded % smallest == 0 and 2 * abs(rounded - micros) <= smallest
    text = amount_text(rounded, currency)
    assert len(text.partition(".")[2]) == currency_digits(currency)
    assert Decimal(amount_text(micros, currency)) * 1_000_000 == micros
    assert Decimal(text) * 1_000_000 == rounded
