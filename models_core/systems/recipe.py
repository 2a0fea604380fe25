"""The definition of a system: how captions and images are described, the method, and its settings.

Source: Hodosh et al. 2013, sections 3 and 4.1.3; Gong et al. 2014.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, cast

from pydantic import Field

from models_core.checked_fields import BadField, check_fields, read_fields
from models_core.estimators.base import CAPTION_VIEW, IMAGE_VIEW, Form, Method, method_named
from models_core.estimators.discovery import load_methods
from models_core.systems.side_settings import SIDE_SETTINGS, CaptionForm

load_methods()

#: Table of a recipe -> the kind of item that it describes.
_SIDES = {"text": CAPTION_VIEW, "image": IMAGE_VIEW}
#: The form in which a method takes captions -> how they are read, if not as lemmas.
_READ_AS: Mapping[Form, CaptionForm] = {
    "words": "words",
    "edges": "edges",
    "tags": "tags",
    "phrases": "words",
    "given": "names",
}


class BadRecipe(ValueError):
    """The recipe is invalid, or unknown; the message is one line with the remedy."""


class BadRecipeSetting(BadRecipe):
    """A setting that does not exist, or has an invalid value: `setting` is its name, as "text.captions"."""

    def __init__(self, setting: str, message: str) -> None:
        self.setting = setting
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Recipe:
    """A system: `text` and `image` have the types that its method takes (`SIDE_SETTINGS`), `settings` has the
    method's own type; None stands for their defaults. Raises BadRecipe."""

    name: Annotated[str, Field(description="What the system is called")]
    method: Annotated[str, Field(description="How captions and images are compared")] = "kcca"
    text: Any = None
    image: Any = None
    settings: Any = None
    printed: Annotated[str, Field(description="What its paper's table calls it; empty for one's own")] = ""

    def __post_init__(self) -> None:
        try:
            check_fields(self)
            kind = method_named(self.method)
            for table, type_ in _tables(kind).items():
                attribute = table if table in _SIDES else "settings"
                if getattr(self, attribute) is None:
                    object.__setattr__(self, attribute, type_())
                elif not isinstance(getattr(self, attribute), type_):
                    raise BadField(
                        table, getattr(self, attribute), f"{type_.__name__}, as {self.method} takes"
                    )
            kind.check(self.text, self.image)
        except BadField as error:
            raise _bad_recipe(self.name, error, "") from None

    @property
    def kind(self) -> Method:
        """The method."""
        return method_named(self.method)

    @property
    def tables(self) -> dict[str, Any]:
        """Its settings by table of a recipe file."""
        return {
            table: getattr(self, table if table in _SIDES else "settings") for table in _tables(self.kind)
        }

    @property
    def chooses(self) -> bool:
        """Whether it chooses settings on held-out images: other recipes need none."""
        return self.kind.selects and self.kind.chooses(self.settings)

    @property
    def reads(self) -> CaptionForm:
        """The form in which its text's side reads captions."""
        return _READ_AS.get(self.kind.takes[CAPTION_VIEW], "lemmas")

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, which `of_dict` reads."""
        parts = {
            "name": self.name,
            "method": self.method,
            "text": asdict(self.text),
            "image": asdict(self.image),
            self.kind.table: asdict(self.settings),
            "printed": self.printed,
        }
        return cast(dict[str, Any], json.loads(json.dumps(parts)))

    @property
    def digest(self) -> str:
        """SHA-256 of everything that the system depends on, without its names."""
        parts = {key: value for key, value in self.as_dict().items() if key not in ("name", "printed")}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def of_dict(name: str, document: Mapping[str, Any], base: Recipe | None = None) -> Recipe:
    """Return the recipe `name` from plain data, with missing values from `base`. Raises BadRecipe, naming
    what is wrong."""
    method = document.get("method", base.method if base else "kcca")
    try:
        kind = method_named(method)
    except BadField as error:
        raise _bad_recipe(name, error, "") from None
    tables = _tables(kind)
    values: dict[str, Any] = {"method": method}
    for key, value in document.items():
        if key == "printed":
            values[key] = value
        elif key not in ("name", "method") and key not in tables:
            known = ", ".join(tables)
            raise BadRecipeSetting(key, f"recipe {name!r} has {key!r}; known: extends, name, method, {known}")
    for table, type_ in tables.items():
        attribute = table if table in _SIDES else "settings"
        start = getattr(base, attribute) if base else None
        start = start if isinstance(start, type_) else _checked_record(name, table, type_, {})
        values[attribute] = _side(name, table, document[table], start) if table in document else start
    values.setdefault("printed", "")
    return Recipe(name, **values)


def _tables(kind: Method) -> dict[str, type]:
    """Return the tables of a recipe of this method, and the type of each."""
    sides = {table: SIDE_SETTINGS[of][kind.takes[of]] for table, of in _SIDES.items()}
    return {**sides, kind.table: kind.settings}


def _side(name: str, side: str, values: object, base: Any) -> Any:
    held = {field.name: getattr(base, field.name) for field in dataclasses.fields(base)}
    if not isinstance(values, Mapping):
        known = ", ".join(held)
        raise BadRecipeSetting(side, f"recipe {name!r}: {side} is {values!r}; expected a table of {known}")
    for key in values:
        if key not in held:
            where = f"{side}.{key}"
            raise BadRecipeSetting(where, f"recipe {name!r} has {where}; known: {', '.join(held)}")
    return _checked_record(name, side, type(base), {**held, **values})


def _checked_record(name: str, side: str, type_: type, values: Mapping[str, Any]) -> Any:
    try:
        return type_(**read_fields(type_, values)) if values else type_()
    except BadField as error:
        raise _bad_recipe(name, error, f"{side}.") from None


def _bad_recipe(name: str, error: BadField, where: str) -> BadRecipe:
    setting = f"{where}{error.name}"
    return BadRecipeSetting(
        setting, f"recipe {name!r}: {setting} is {error.value}; expected {error.expected}"
    )
