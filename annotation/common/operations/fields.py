"""Markers in the annotations of a request's fields: what a string refers to, its choices, and help texts.
pydantic checks them, and includes them in the JSON schema."""

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

#: The pattern of names.
NAME_PATTERN = r"^[-a-zA-Z0-9_]+$"


@dataclass(frozen=True, eq=False)
class StoredKind:
    """A kind of stored object that requests refer to, such as a run.

    `rows(account, *roles)` are those that an account may use with its roles; all of them for the account
    None, which is a command on the server. Roles for an object are granted for the corpus, or the campaign,
    that it is or is `within`. `column` is the column with its name; pages offer rows as choices only if it is
    "name".
    """

    title: str | Promise
    rows: Callable[..., QuerySet[Any]]
    pattern: str = NAME_PATTERN
    within: str = "corpus"
    column: str = "name"

    def find(self, name: Any, account: Any, roles: Iterable[str]) -> Model | None:
        """Return the row of that name that the account may use; None if there is none."""
        if isinstance(name, int) and name > LARGEST_ID:
            return None
        row: Model | None = self.rows(account, *roles).filter(**{self.column: name}).first()
        return row

    def names(self, account: Any, roles: Iterable[str]) -> Sequence[str]:
        """Return the names of the rows that the account may use, in order; a lazy sequence that loads only
        what is read."""
        names: Any = self.rows(account, *roles).order_by(self.column).values_list(self.column, flat=True)
        return cast(Sequence[str], names)


@dataclass(frozen=True)
class Named:
    """A string or a number that refers to an object of some `kind`; with `kind` None, a new name."""

    kind: StoredKind | None = None
    max_length: int = 100

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if source is int:
            return core_schema.int_schema(ge=1)
        pattern = NAME_PATTERN if self.kind is None else self.kind.pattern
        return core_schema.str_schema(pattern=pattern, max_length=self.max_length)


@dataclass(frozen=True, eq=False)
class OneOf:
    """A string out of `choices()`: value -> its title, or None for no separate title. `none`: the title of
    the empty choice, where that is allowed."""

    choices: Callable[[], Mapping[str, Any]]
    none: str | Promise = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self.choices()))


@dataclass(frozen=True)
class Help:
    """Help for a field: a `label`, and one line of `text`; both are translated lazily. Long texts get an
    input of several `lines`. With `only_commas`, only commas separate the entries of a typed list: they may
    contain spaces."""

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
    """A file: a command gets its path, pages and programs upload it. For an upload, `unpacked(path, most)`
    counts the bytes that it contains, or returns any number above `most`. All files of a request are in one
    folder."""

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
    file, by its path. `also()` are further names, which are not files."""

    folder: str
    endings: tuple[str, ...]
    also: Callable[[], Iterable[str]] = tuple

    def names(self) -> list[str]:
        """Return the names that a page offers."""
        paths = (Path(settings.DATA_DIR) / "sources" / self.folder).glob("[!.]*")
        # `NAME.ids.txt` lists the ids of another file's rows.
        files = (file.name for file in paths if file.is_file() and not file.name.endswith(".ids.txt"))
        return [*self.also(), *sorted(name for name in files if name.endswith(self.endings))]

    def path(self, name: str, *, by_path: bool) -> Path:
        """Return the path of the file; with `by_path` the caller may give any path."""
        return Path(name) if by_path else (Path(settings.DATA_DIR) / "sources" / self.folder / name).resolve()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.str_schema(min_length=1, max_length=1000)
