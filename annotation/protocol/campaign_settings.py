"""Settings of a campaign as records, and their conversion from plain data (a TOML file, a stored
campaign)."""

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
    """An unknown setting or an invalid value: `setting` is its name, such as "pay.hourly"."""

    def __init__(self, setting: str, message: str) -> None:
        self.setting = setting
        super().__init__(message)


#: Tables of a campaign's settings besides the protocol's own.
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
    """All settings of a campaign: its questions about images, trust in workers, payment and end, model
    annotators."""

    protocol: ImageSettings = ImageSettings()
    trust: TrustSettings = TrustSettings()
    lease: LeaseSettings = LeaseSettings()
    pay: PaySettings = PaySettings()
    stop: StopSettings = StopSettings()
    answers: AnswerSettings = AnswerSettings()
    page: PagingSettings = PagingSettings()
    model_annotator: ModelAnnotatorSettings = ModelAnnotatorSettings()

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON data, for `settings_of`."""
        tables = {name: _to_dict(getattr(self, name)) for name in _TABLES}
        values: dict[str, Any] = json.loads(json.dumps({**asdict(self.protocol), **tables}))
        return values

    def flat(self) -> dict[str, Any]:
        """Return every setting by name as plain data: "link_votes", "pay.hourly"."""
        flat: dict[str, Any] = {}
        for name, value in self.as_dict().items():
            if name in _TABLES or is_dataclass(getattr(self.protocol, name, None)):
                flat.update({f"{name}.{key}": setting for key, setting in value.items()})
            else:
                flat[name] = value
        return flat


def as_toml(settings: CampaignSettings) -> str:
    """Return the settings that differ from the defaults as TOML, for `settings_of`."""
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
    """Return settings from plain data (a TOML file, a stored campaign); missing ones have defaults.

    Raises CampaignError for an unknown name or an invalid value, naming it.
    """
    try:
        text = json.dumps(values)
    except (TypeError, ValueError):  # values that no row can have, such as dates of TOML
        return _read_settings(values)
    return settings_from(text)


@lru_cache(maxsize=256)
def settings_from(text: str) -> CampaignSettings:
    """Return `settings_of` the JSON text of a row; recent results are cached."""
    return _read_settings(json.loads(text))


def _read_settings(values: Mapping[str, Any]) -> CampaignSettings:
    numbers = dict(values)
    tables = {name: _build(kind, numbers.pop(name, {}), name) for name, kind in _TABLES.items()}
    for name, kind in (("limits", BoxLimits), ("merging", MergeRules), ("saving", SavingSettings)):
        if name in numbers:
            numbers[name] = _build(kind, numbers[name], name)
    return CampaignSettings(_build(ImageSettings, numbers, ""), **tables)


def settings_of_tasks(tasks: str, values: Mapping[str, Any]) -> CampaignSettings:
    """Like `settings_of`, with the defaults of campaigns of these tasks."""
    kind, tables = only_kind(tasks), dict(values)
    for table, usual in kind.usual.items() if kind is not None else ():
        numbers = tables.get(table, {})
        if isinstance(numbers, Mapping):  # otherwise `settings_of` raises
            tables[table] = {**usual, **numbers}
    return settings_of(tables)


def _to_dict(record: Any) -> dict[str, Any]:
    """Return a table of settings as plain data."""
    return record.as_dict() if isinstance(record, AnswerSettings) else asdict(record)


def _names(kind: type[Any]) -> list[str]:
    """Return the names of a table's settings."""
    return [*settings_numbers()] if kind is AnswerSettings else [field.name for field in fields(kind)]


def _build(kind: type[_T], values: Any, table: str) -> _T:
    """Return a settings record from one table of plain data. Raises CampaignError naming table and
    setting."""
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
    """Convert lists to tuples, as records have them."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
