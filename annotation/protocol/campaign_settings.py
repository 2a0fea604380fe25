"""What a campaign may set, as records; and from plain data (a TOML file, a stored campaign)."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import lru_cache
from typing import Any, TypeVar

from annotation.protocol.boxes import BoxLimits
from annotation.protocol.counted import AnswerSettings
from annotation.protocol.kinds import only_kind, settings_numbers
from annotation.protocol.merging import MergeRules
from annotation.protocol.model_annotators import ModelAnnotatorSettings
from annotation.protocol.paging import PagingSettings
from annotation.protocol.state import ImageSettings, SavingSettings
from annotation.protocol.trust_settings import TrustSettings
from annotation.protocol.work import LeaseSettings, PaySettings, StopSettings
from models_core.checked_fields import BadField, toml_value
from phrasebox.errors import PhraseboxError

_T = TypeVar("_T")


class CampaignError(PhraseboxError):
    """A campaign that cannot be opened or run; one line with the remedy."""


class SettingError(CampaignError):
    """A setting that does not exist, or cannot be so: `setting` is its name, as "pay.hourly"."""

    def __init__(self, setting: str, message: str) -> None:
        self.setting = setting
        super().__init__(message)


#: The tables of a campaign's settings beside the protocol's own.
_TABLES: dict[str, Any] = {
    "trust": TrustSettings,
    "lease": LeaseSettings,
    "pay": PaySettings,
    "stop": StopSettings,
    "answers": AnswerSettings,
    "page": PagingSettings,
    "model_annotator": ModelAnnotatorSettings,
}


@dataclass(frozen=True, slots=True)
class CampaignSettings:
    """All that a campaign may set: how images are asked about, whom it trusts, how work is paid and
    ends, and what a model annotator does."""

    protocol: ImageSettings = ImageSettings()
    trust: TrustSettings = TrustSettings()
    lease: LeaseSettings = LeaseSettings()
    pay: PaySettings = PaySettings()
    stop: StopSettings = StopSettings()
    answers: AnswerSettings = AnswerSettings()
    page: PagingSettings = PagingSettings()
    model_annotator: ModelAnnotatorSettings = ModelAnnotatorSettings()

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON data from which `settings_of` makes the same settings."""
        tables = {name: _to_dict(getattr(self, name)) for name in _TABLES}
        values: dict[str, Any] = json.loads(json.dumps({**asdict(self.protocol), **tables}))
        return values

    def flat(self) -> dict[str, Any]:
        """Every setting by its name, plain: "link_votes", "pay.hourly"."""
        flat: dict[str, Any] = {}
        for name, value in self.as_dict().items():
            if name in _TABLES or is_dataclass(getattr(self.protocol, name, None)):
                flat.update({f"{name}.{key}": setting for key, setting in value.items()})
            else:
                flat[name] = value
        return flat


def as_toml(settings: CampaignSettings) -> str:
    """The settings that differ from the defaults, as a TOML text from which the same are read."""
    values, usual = settings.as_dict(), CampaignSettings().as_dict()
    changed = {name: value for name, value in values.items() if value != usual[name]}
    lines = [
        f"{name} = {toml_value(value)}" for name, value in changed.items() if not isinstance(value, dict)
    ]
    for name, table in changed.items():
        if isinstance(table, dict):
            changes = [(key, value) for key, value in table.items() if value != usual[name].get(key)]
            lines += [
                "",
                f"[{name}]",
                *(f"{key} = {toml_value(value)}" for key, value in changes if value is not None),
            ]
    return "\n".join(lines).strip()


def settings_of(values: Mapping[str, Any]) -> CampaignSettings:
    """Settings from plain data (a TOML file, a stored campaign); absent ones are defaults.

    Raises CampaignError on an unknown name or a value that cannot be, naming it.
    """
    numbers = dict(values)
    tables = {name: _build(kind, numbers.pop(name, {}), name) for name, kind in _TABLES.items()}
    for name, kind in (("limits", BoxLimits), ("merging", MergeRules), ("saving", SavingSettings)):
        if name in numbers:
            numbers[name] = _build(kind, numbers[name], name)
    return CampaignSettings(_build(ImageSettings, numbers, ""), **tables)


def settings_of_tasks(tasks: str, values: Mapping[str, Any]) -> CampaignSettings:
    """`settings_of` a campaign of these tasks: where `values` say nothing, what its kind usually sets."""
    kind, tables = only_kind(tasks), dict(values)
    for table, usual in kind.usual.items() if kind is not None else ():
        numbers = tables.get(table, {})
        if isinstance(numbers, Mapping):  # else it is refused as a setting
            tables[table] = {**usual, **numbers}
    return settings_of(tables)


def _to_dict(record: Any) -> dict[str, Any]:
    """A table of settings as plain data."""
    return record.as_dict() if isinstance(record, AnswerSettings) else asdict(record)


def _names(kind: type[Any]) -> list[str]:
    """The names that a table of settings has."""
    return [*settings_numbers()] if kind is AnswerSettings else [field.name for field in fields(kind)]


def _build(kind: type[_T], values: Any, table: str) -> _T:
    """A settings record from one table of plain data; CampaignError names the table and the culprit."""
    if not isinstance(values, Mapping):
        raise SettingError(table, f"setting {table!r} is {values!r}; expected a table")
    known = sorted(_names(kind)) + ([] if table else [*_TABLES])
    if unknown := sorted(set(values) - set(known)):
        where = f" of [{table}]" if table else ""
        message = f"unknown setting {unknown[0]!r}{where}; known: {', '.join(known)}"
        raise SettingError(f"{table}.{unknown[0]}" if table else unknown[0], message)
    try:
        return kind(**{name: _tuples(value) for name, value in values.items()})
    except ValueError as error:
        prefix = f"{table}." if table else ""
        setting = f"{prefix}{error.name}" if isinstance(error, BadField) else table
        raise SettingError(setting, f"setting {prefix}{error}") from error


def _tuples(value: Any) -> Any:
    """Lists as the tuples that records have in their place."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


@lru_cache(maxsize=256)
def settings_from(text: str) -> CampaignSettings:
    """`settings_of` the JSON text that a row holds; what was parsed lately is not parsed again."""
    return settings_of(json.loads(text))
