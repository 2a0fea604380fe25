"""Settings: the values of a table in a request's field, each with its own form field."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.functional import Promise
from pydantic_core import to_jsonable_python

from annotation.common.operations.requests import read_text
from models_core.checked_fields import FieldRule, toml_value

#: Bounds of this size or more are not displayed.
_ENDLESS = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingField:
    """A value in a table: `name` is "pay.hourly" for `hourly` in the table `pay`.

    `default` is its value where the table has none. `group` is the heading of its group, `choices` are the
    titles of values, `source` is the origin of the default.
    """

    name: str
    rule: FieldRule
    default: Any
    label: str | Promise
    group: str | Promise = ""
    choices: Mapping[str, str | Promise] = field(default_factory=dict)
    source: str = ""

    @property
    def bounds(self) -> str:
        """The bounds of a number, as far as they are meaningful."""
        rule = self.rule
        if rule.least is None or rule.most is None or rule.most >= _ENDLESS:
            return ""
        return f"{rule.least:.15g} – {rule.most:.15g}"

    @property
    def _typed_as_toml(self) -> bool:
        """Whether it holds more than a value or a plain list."""
        nested = self.rule.element is not None and self.rule.element.sort in ("array", "object")
        return nested or self.rule.sort == "object"

    def read(self, text: str) -> Any:
        """Return typed text as JSON data: the default where it is empty, the text itself where it does not
        parse."""
        text = text.strip()
        if not text:
            return None if self.rule.optional else self.default_value
        if self._typed_as_toml:
            try:
                return tomllib.loads(f"value = {text}")["value"]
            except (ValueError, RecursionError):
                return text
        return read_text(self.rule, text)

    def text(self, value: Any) -> str:
        """Return a value as its field displays it."""
        if value is None:
            return ""
        if self._typed_as_toml:
            return toml_value(to_jsonable_python(value))
        if isinstance(value, list | tuple):
            return ", ".join(map(self.text, value))
        return f"{value:.15g}" if isinstance(value, float) else str(value)

    @property
    def default_value(self) -> Any:
        """Return the default as JSON data."""
        return to_jsonable_python(self.default)

    def of(self, table: Mapping[str, Any]) -> Any:
        """Return its value in a table, or its default."""
        value: Any = table
        for part in self.name.split("."):
            if not isinstance(value, Mapping) or part not in value:
                return self.default
            value = value[part]
        return value


def put_setting(table: dict[str, Any], name: str, value: Any) -> None:
    """Set a value of a table by its name, "pay.hourly"."""
    *tables, last = name.split(".")
    for part in tables:
        table = table.setdefault(part, {})
    table[last] = value
