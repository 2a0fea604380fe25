"""Markers in the annotations of a request's fields: what a text names, which texts there are, how a person
is helped. pydantic checks them, and takes them into the JSON schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, QuerySet
from django.utils import translation
from django.utils.functional import Promise
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

#: What names of things are made of.
NAME_PATTERN = r"^[-a-zA-Z0-9_]+$"


@dataclass(frozen=True, eq=False)
class StoredKind:
    """A kind of stored thing that requests name, as a run.

    `rows(account, *roles)` are those that an account may use, by its roles; all of them for the account None,
    which is whoever runs commands on the server. `scope` is the field of a row that says what it belongs to.
    """

    title: str | Promise
    rows: Callable[..., QuerySet[Any]]
    pattern: str = NAME_PATTERN

    def find(self, name: str, account: Any, roles: Iterable[str]) -> Model | None:
        """The row of that name that the account may use; None where there is none."""
        found: Model | None = self.rows(account, *roles).filter(name=name).first()
        return found


@dataclass(frozen=True)
class Named:
    """A text that names a thing of some `kind`; with `kind` None a name that nothing has yet."""

    kind: StoredKind | None = None
    max_length: int = 100

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        pattern = NAME_PATTERN if self.kind is None else self.kind.pattern
        return core_schema.str_schema(pattern=pattern, max_length=self.max_length)


@dataclass(frozen=True, eq=False)
class OneOf:
    """A text out of `choices()`: value -> its title for people, or None where it has none of its own. `none`:
    how people are shown that none is chosen, where that is allowed."""

    choices: Callable[[], Mapping[str, Any]]
    none: str | Promise = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self.choices()))


@dataclass(frozen=True)
class Help:
    """How people are helped with a field: a `label`, and one line of `text`; both are translated lazily."""

    label: str | Promise
    text: str | Promise = ""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        found = dict(handler(schema))
        with translation.override("en"):
            words = [str(part).rstrip(".") for part in (self.label, self.text) if part]
        return found | {"description": ". ".join(words) + "."}
