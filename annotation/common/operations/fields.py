"""Markers in the annotations of a request's fields: what a text names, which texts there are, how a person
is helped. pydantic checks them, and takes them into the JSON schema."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from django.conf import settings
from django.db.models import Model, QuerySet
from django.utils import translation
from django.utils.functional import Promise
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from annotation.common.database import LARGEST_ID

#: What names of things are made of.
NAME_PATTERN = r"^[-a-zA-Z0-9_]+$"


@dataclass(frozen=True, eq=False)
class StoredKind:
    """A kind of stored thing that requests name, as a run.

    `rows(account, *roles)` are those that an account may use, by its roles; all of them for the account None,
    which is the person who runs commands on the server. Roles for one are granted for the corpus, or the
    campaign, that it is or is `within`. `column` is the one that names a row; pages offer rows to choose from
    only where it is "name".
    """

    title: str | Promise
    rows: Callable[..., QuerySet[Any]]
    pattern: str = NAME_PATTERN
    within: str = "corpus"
    column: str = "name"

    def find(self, name: Any, account: Any, roles: Iterable[str]) -> Model | None:
        """The row of that name that the account may use; None where there is none."""
        if isinstance(name, int) and name > LARGEST_ID:
            return None
        row: Model | None = self.rows(account, *roles).filter(**{self.column: name}).first()
        return row

    def names(self, account: Any, roles: Iterable[str]) -> Sequence[str]:
        """The names of the rows that the account may use, in order; what of it is not read is not loaded."""
        names: Any = self.rows(account, *roles).order_by(self.column).values_list(self.column, flat=True)
        return cast(Sequence[str], names)


@dataclass(frozen=True)
class Named:
    """A text or a number that names a thing of some `kind`; with `kind` None a name that nothing has yet."""

    kind: StoredKind | None = None
    max_length: int = 100

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if source is int:
            return core_schema.int_schema(ge=1)
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
    """How people are helped with a field: a `label`, and one line of `text`; both are translated lazily. A
    page shows so many `lines` of what may be long. With `only_commas` nothing else separates the texts of a
    list that a person types: they may hold spaces."""

    label: str | Promise
    text: str | Promise = ""
    lines: int = 1
    only_commas: bool = False

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        field_schema = dict(handler(schema))
        with translation.override("en"):
            words = [str(part).rstrip(".") for part in (self.label, self.text) if part]
        return field_schema | {"description": ". ".join(words) + "."}


@dataclass(frozen=True, eq=False)
class FileUpload:
    """A file: a command takes its path, pages and programs send it. Of one that is sent, `unpacked(path,
    most)` counts the bytes that it holds, at least where they are more than `most`. All files of a request
    lie in one folder."""

    most: int = 2**30
    unpacked: Callable[[Path, int], int] | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(
            Path, core_schema.str_schema(min_length=1), serialization=core_schema.to_string_ser_schema()
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "string", "format": "binary"}


@dataclass(frozen=True, eq=False)
class ServerFile:
    """A file that an operator put into `sources/FOLDER` of DATA_DIR, by its name there; for a command any
    file, by its path. `also()` are names that are no files."""

    folder: str
    endings: tuple[str, ...]
    also: Callable[[], Iterable[str]] = tuple

    def names(self) -> list[str]:
        """The names that a page offers."""
        paths = (Path(settings.DATA_DIR) / "sources" / self.folder).glob("[!.]*")
        # `NAME.ids.txt` lists what the rows of another file are of.
        files = (file.name for file in paths if file.is_file() and not file.name.endswith(".ids.txt"))
        return [*self.also(), *sorted(name for name in files if name.endswith(self.endings))]

    def path(self, name: str, *, by_path: bool) -> Path:
        """Where the file is; `by_path` where the caller may name any."""
        return Path(name) if by_path else (Path(settings.DATA_DIR) / "sources" / self.folder / name).resolve()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.str_schema(min_length=1, max_length=1000)
