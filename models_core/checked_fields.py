"""Records with declared constraints on their fields: type, bounds and one line of help, checked by pydantic.

    @dataclass(frozen=True, slots=True)
    class Lease(CheckedRecord):
        minutes: Annotated[float, Field(gt=0, description="Minutes that a task is held")] = 20.0

A record that is built directly is checked like one that is read from a file, and forms get their fields from
`field_rules`. Types are strict: neither a string nor a boolean is a number. `check_fields` converts nothing,
so a record is written as it was read; `read_fields` converts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import Any, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

#: The largest number of characters of a value in a message.
_LONGEST_TEXT = 60
_STRICT = ConfigDict(strict=True, allow_inf_nan=False)
_WORDS = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "string": "text without null characters",
    "date": "a day in quotes",
    "array": "a list",
    "object": "a table",
}


class BadField(ValueError):
    """A value that a field does not allow: the field, the value, and what is expected; one line."""

    def __init__(self, name: str, value: object, expected: str) -> None:
        self.name, self.value, self.expected = name, _shortened(value), expected
        super().__init__(f"{name} is {self.value}: expected {expected}")


@dataclass(frozen=True, slots=True)
class FieldRule:
    """The constraints of a field, and one line of help ("" if there is none).

    `sort`: JSON schema's type ("integer", "number", "boolean", "string", "array", "object"), or its format
    ("date"). Numbers are from `least` to `most`, inclusive, and greater than `above`; for lists these apply
    to the length. `choices`: all possible values of a string, if they are few. `example`: its notation.
    `optional`: None is allowed. `element`: the rule of the elements of a list or table.
    """

    sort: str
    least: float | None = None
    above: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    example: str = ""
    optional: bool = False
    element: FieldRule | None = None
    help: str = ""

    @property
    def expected(self) -> str:
        """The allowed values in words: "a whole number, 1 to 20"."""
        if self.choices:
            return f"one of {', '.join(map(str, self.choices))}"
        parts = [_WORDS.get(self.sort, self.sort), self._bounds()]
        if self.element is not None:
            parts.append(f"each {self.element.expected}")
        if self.example:
            parts.append(f"as {self.example}")
        return ", ".join(filter(None, parts))

    def _bounds(self) -> str:
        least = None if self.least is None else _number(self.least)
        most = None if self.most is None else _number(self.most)
        if self.above is not None:
            return f"more than {_number(self.above)}" + (f", at most {most}" if most else "")
        of = "of " if self.sort == "array" else ""  # its length
        if least and most:
            return f"{of}{least}" if least == most else f"{of}{least} to {most}"
        return f"{of}{least} or more" if least else f"{of}at most {most}" if most else ""


class CheckedRecord:
    """A dataclass whose fields are checked on construction: raises BadField for a value that its annotation
    does not allow. A subclass with further checks calls `check_fields` first."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_fields(self)


def check_fields(record: Any) -> None:
    """Raise BadField if a field of a dataclass has a value that its annotation does not allow."""
    checker = _checker(type(record))
    values = checker.values_of(record)
    try:
        checker.check(values)
    except ValidationError as error:
        raise _bad(error, checker.kind, values) from None


def read_fields(kind: type[Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `kind` from plain data that has exactly its fields.

    Where any number is allowed, whole ones become floats; `Field(strict=False)` accepts a list for a tuple.
    Raises BadField.
    """
    checker = _checker(kind)
    values = tuple(document[name] for name in checker.names)
    try:
        return dict(zip(checker.names, checker.check(values), strict=True))
    except ValidationError as error:
        raise _bad(error, kind, values) from None


def check_value(name: str, value: object, annotation: Any) -> None:
    """Raise BadField with the name `name` if the annotation does not allow `value`."""
    adapter = _adapter(annotation)
    try:
        adapter.validate_python(value)
    except ValidationError:
        raise BadField(name, value, value_rule(annotation).expected) from None


def field_rules(kind: type[Any]) -> Mapping[str, FieldRule]:
    """Return the rule of each field of a dataclass, by name, in order."""
    return _checker(kind).rules


@cache
def value_rule(annotation: Any) -> FieldRule:
    """Return the rule of a single annotated type."""
    return _rule(_adapter(annotation).json_schema(), {})


class _Checker:
    """The checker of a dataclass: it takes the fields' values as one tuple, which costs half as much as a
    dictionary.

    `check` takes such a tuple and returns the converted values; `values_of` returns a record's tuple.
    """

    def __init__(self, kind: type[Any]) -> None:
        self.kind = kind
        self.names = tuple(field.name for field in fields(kind))
        hints = get_type_hints(kind, include_extras=True)
        self.adapter = _adapter(tuple.__class_getitem__(tuple(hints[name] for name in self.names)))
        self.check = self.adapter.validator.validate_python
        get = attrgetter(*self.names) if self.names else lambda record: ()
        self.values_of = (lambda record: (get(record),)) if len(self.names) == 1 else get

    @cached_property
    def rules(self) -> Mapping[str, FieldRule]:
        """The rule of each field, by name; computed on first use."""
        schema = self.adapter.json_schema()
        rules = (
            _rule(schema_of_item, schema.get("$defs", {})) for schema_of_item in schema.get("prefixItems", ())
        )
        return MappingProxyType(dict(zip(self.names, rules, strict=True)))


#: Created when a class is first checked, and cached.
_checkers: dict[type[Any], _Checker] = {}


def _checker(kind: type[Any]) -> _Checker:
    checker = _checkers.get(kind)
    if checker is None:
        checker = _checkers[kind] = _Checker(kind)
    return checker


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation, config=_STRICT)


def _rule(schema: Mapping[str, Any], shared: Mapping[str, Any]) -> FieldRule:
    """Return the rule of a piece of JSON schema; `shared` holds the pieces that others refer to."""
    help_text, optional = schema.get("description", ""), "anyOf" in schema
    if optional:
        schema = {**schema, **next(option for option in schema["anyOf"] if option.get("type") != "null")}
    if "$ref" in schema:
        schema = {**shared[schema["$ref"].rsplit("/", 1)[1]], **schema}
    examples = schema.get("examples")
    inner = schema.get("items") or schema.get("additionalProperties")
    choices = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    return FieldRule(
        sort=schema.get("format", schema.get("type", "")),
        least=schema.get("minimum", schema.get("minItems")),
        above=schema.get("exclusiveMinimum"),
        most=schema.get("maximum", schema.get("maxItems")),
        choices=tuple(choices),
        example=json.dumps(examples[0]) if examples else "",
        optional=optional,
        element=_rule(inner, shared) if isinstance(inner, Mapping) and "type" in inner else None,
        help=help_text,
    )


def _bad(error: ValidationError, kind: type[Any], values: tuple[Any, ...]) -> BadField:
    """Return the first error as a BadField: an entry of a table by its name, a list as a whole."""
    location = error.errors(include_url=False, include_context=False, include_input=False)[0]["loc"]
    field = fields(kind)[int(location[0])]
    name, value, rule = field.name, values[int(location[0])], field_rules(kind)[field.name]
    for part in location[1:]:
        if rule.element is None or not isinstance(value, Mapping) or part not in value:
            break
        name, value, rule = f"{name}.{part}", value[part], rule.element
    return BadField(name, value, rule.expected)


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def _shortened(value: object) -> str:
    """Return a value for a message: on one line, shortened if long."""
    try:
        text = str(value) if hasattr(value, "isoformat") else repr(_lists(value))
    except (ValueError, RecursionError):  # Python does not print numbers of thousands of digits
        return "too long to print"
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def _lists(value: object) -> object:
    """Convert tuples to the lists that they are in a file."""
    return [_lists(element) for element in value] if isinstance(value, list | tuple) else value


def toml_value(value: Any) -> str:
    """Return a plain value as TOML; JSON's strings, numbers and words are TOML's too."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {toml_value(element)}" for key, element in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value)
