"""Amounts of money: counted in millionths of a currency's unit, shown and paid in its own digits.

Source of the digits: ISO 4217, minor units. A currency that is not listed has two.
"""

from decimal import Decimal
from typing import Annotated

from pydantic import WithJsonSchema

from annotation.protocol.work import MICROS

#: An amount in units of a currency, as a decimal number in a text.
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
    """Digits after the point that amounts of a currency have: 2 of USD, 0 of JPY, 3 of KWD."""
    return _DIGITS.get(currency.strip().upper(), 2)


def smallest_amount(currency: str) -> int:
    """What the last of these digits is worth, in millionths: less is not paid out."""
    return MICROS // 10 ** currency_digits(currency)


def payable_amount(micros: int, currency: str) -> int:
    """What can be paid of what is due: the whole digits of the currency; the rest stays due."""
    return max(0, micros - micros % smallest_amount(currency))


def rounded_amount(micros: int, currency: str) -> int:
    """Millionths, rounded to the digits of the currency; halves go to the even digit."""
    digits = 6 - currency_digits(currency)
    return round(micros, -digits)


def amount_text(micros: int, currency: str) -> str:
    """An amount in units of the currency as a decimal text: its digits, and more only where it has them."""
    amount = Decimal(micros) / MICROS
    whole = amount.quantize(Decimal(1).scaleb(-currency_digits(currency)))
    return f"{whole if whole == amount else amount.normalize():f}"
