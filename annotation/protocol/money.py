"""Amounts of money: stored in millionths of a currency's unit, shown and paid in its own digits.

Source of the digits: ISO 4217, minor units. A currency that is not listed has two.
"""

from decimal import Decimal
from typing import Annotated

from pydantic import WithJsonSchema

from annotation.protocol.work import MICROS

#: An amount in units of a currency, as decimal text.
Amount = Annotated[
    str,
    WithJsonSchema(
        {"type": "string", "format": "decimal", "example": "12.50", "pattern": r"^-?\d+(\.\d{1,6})?$"}
    ),
]
_DIGITS = {
    **dict.fromkeys("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(), 0),
    **dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3),
    **dict.fromkeys("CLF UYW".split(), 4),
}


def currency_digits(currency: str) -> int:
    """Return the number of decimal digits of a currency: 2 for USD, 0 for JPY, 3 for KWD."""
    return _DIGITS.get(currency.strip().upper(), 2)


def smallest_amount(currency: str) -> int:
    """Return the value of the last of these digits in millionths, the smallest payable amount."""
    return MICROS // 10 ** currency_digits(currency)


def payable_amount(micros: int, currency: str) -> int:
    """Return the payable part of what is due: whole digits of the currency; the rest stays due."""
    return max(0, micros - micros % smallest_amount(currency))


def rounded_amount(micros: int, currency: str) -> int:
    """Return millionths rounded to the digits of the currency; halves go to the even digit."""
    digits = 6 - currency_digits(currency)
    return round(micros, -digits)


def amount_text(micros: int, currency: str) -> str:
    """Return an amount in units of the currency as decimal text, with more digits than the currency's only if
    needed."""
    amount = Decimal(micros) / MICROS
    whole = amount.quantize(Decimal(1).scaleb(-currency_digits(currency)))
    return f"{whole if whole == amount else amount.normalize():f}"
