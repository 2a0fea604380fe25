"""Constraints are declared on fields: errors contain the field's name and the permitted values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Literal

import pytest
from pydantic import Field

from models_core.checked_fields import BadField, check_fields, check_value, field_rules, read_fields


@dataclass(frozen=True, slots=True)
class Cake:
    """One field of each type that our records have."""

    layers: Annotated[int, Field(ge=1, le=9, description="Layers of dough")] = 2
    sugar: Annotated[float, Field(gt=0, le=1)] = 0.5
    taste: Literal["sweet", "sour"] = "sweet"
    eggs: Annotated[int | None, Field(ge=0)] = None
    vegan: bool = False
    name: str = "plain"
    day: Annotated[str | None, Field(examples=["2026-12-31"], json_schema_extra={"format": "date"})] = None
    shares: Annotated[tuple[Annotated[float, Field(ge=0)], ...], Field(strict=False, min_length=1)] = (1.0,)
    prices: Mapping[str, Annotated[float, Field(ge=0)]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Single:
    """A record of one field."""

    only: Annotated[int, Field(ge=1)] = 1

    def __post_init__(self) -> None:
        check_fields(self)


@pytest.mark.parametrize(
    ("provided", "says"),
    [
        ({"layers": 0}, "layers is 0: expected a whole number, 1 to 9"),
        ({"layers": True}, "layers is True: expected a whole number, 1 to 9"),
        ({"layers": 2.0}, "layers is 2.0: expected a whole number, 1 to 9"),
        ({"layers": "2"}, "layers is '2': expected a whole number, 1 to 9"),
        ({"sugar": 0}, "sugar is 0: expected a number, more than 0, at most 1"),
        ({"sugar": float("nan")}, "sugar is nan: expected a number, more than 0, at most 1"),
        ({"taste": "salt"}, "taste is 'salt': expected one of sweet, sour"),
        ({"taste": ["sweet"]}, "taste is ['sweet']: expected one of sweet, sour"),
        ({"eggs": -1}, "eggs is -1: expected a whole number, 0 or more"),
        ({"vegan": 1}, "vegan is 1: expected true or false"),
        ({"name": b"x"}, "name is b'x': expected text"),
        ({"day": date(2026, 12, 31)}, 'day is 2026-12-31: expected a day in quotes, as "2026-12-31"'),
        ({"shares": ()}, "shares is []: expected a list, of 1 or more, each a number, 0 or more"),
        ({"shares": (1.0, -1.0)}, "shares is [1.0, -1.0]: expected a list, of 1 or more, each a number"),
        ({"prices": {"big": -1}}, "prices.big is -1: expected a number, 0 or more"),
        ({"prices": 3}, "prices is 3: expected a table, each a number, 0 or more"),
        ({"name": 10**5000}, "name is too long to print: expected text"),
    ],
)
def test_what_a_field_cannot_hold_is_refused_by_name_with_what_would_have_been_right(provided, says):
    with pytest.raises(BadField) as error:
        Cake(**provided)
    assert str(error.value).startswith(says) and "\n" not in str(error.value)


def test_a_long_value_is_cut():
    with pytest.raises(BadField, match="layers is '(x){59}…: expected"):
        Cake(layers="x" * 10_000)  # type: ignore[arg-type]


def test_values_are_checked_and_not_converted_on_the_way_into_a_record():
    assert repr(Cake(sugar=1).sugar) == "1"
    assert (Single(), Single(7)) == (Single(1), Single(only=7))
    with pytest.raises(BadField, match="^only is 0: expected a whole number, 1 or more$"):
        Single(0)


def test_plain_data_is_read_as_the_types_are():
    plain_value = {field_rule: getattr(Cake(), field_rule) for field_rule in field_rules(Cake)} | {
        "sugar": 1,
        "shares": [1, 2.5],
    }
    read = read_fields(Cake, plain_value)
    assert repr((read["sugar"], read["shares"])) == "(1.0, (1.0, 2.5))"
    with pytest.raises(BadField, match="shares is 3: expected a list"):
        read_fields(Cake, {**plain_value, "shares": 3})


def test_a_single_value_is_checked_under_a_name():
    check_value("pieces", 3, Annotated[int, Field(ge=1)])
    with pytest.raises(BadField, match="^pieces is 0: expected a whole number, 1 or more$"):
        check_value("pieces", 0, Annotated[int, Field(ge=1)])


def test_a_form_is_told_types_bounds_choices_and_help():
    rules = field_rules(Cake)
    layers, sugar, eggs = rules["layers"], rules["sugar"], rules["eggs"]
    assert (layers.sort, layers.least, layers.most, layers.help) == ("integer", 1, 9, "Layers of dough")
    assert (sugar.sort, sugar.above, sugar.least, sugar.most) == ("number", 0, None, 1)
    assert (eggs.optional, layers.optional, rules["day"].sort) == (True, False, "date")
    assert rules["taste"].choices == ("sweet", "sour")
    assert list(rules) == ["layers", "sugar", "taste", "eggs", "vegan", "name", "day", "shares", "prices"]
