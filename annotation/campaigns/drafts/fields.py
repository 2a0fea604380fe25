"""The fields of the steps in which a campaign is opened: which there are, and how what was typed is read.

A field's name is that of the setting that it holds ("pay.hourly"), where it holds one. Everything is kept as
typed; reading it never fails, and says of each field what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _

from annotation.protocol.campaign_settings import (
    CampaignError,
    CampaignSettings,
    settings_of,
    settings_of_tasks,
)
from annotation.protocol.kinds import is_counted, is_page, kind_of, kinds_of_tasks, settings_numbers
from annotation.protocol.paging import PagingSettings
from annotation.protocol.setting_types import WholeFromOne
from annotation.protocol.state import ImageSettings
from annotation.protocol.work import PaySettings, StopSettings
from models_core.checked_fields import FieldRule, field_rules, value_rule

#: The steps, in their order.
STEPS: Final = ("corpus", "questions", "pay", "test", "votes", "preview", "open")
CORPUS_STEP, QUESTIONS_STEP, PAY_STEP, TEST_STEP, VOTES_STEP, PREVIEW_STEP, OPEN_STEP = STEPS
#: How workers enter: nothing, practice, a test from what is known already, one that the owner marks.
ENTRY_NONE, ENTRY_PRACTICE, ENTRY_KNOWN, ENTRY_MARKED = ENTRIES = ("none", "practice", "known", "marked")
#: Fields of steps that hold no setting.
OWN_FIELDS: Mapping[str, tuple[str, ...]] = {
    CORPUS_STEP: ("name", "split", "images", "tags"),
    QUESTIONS_STEP: ("tasks",),
    PAY_STEP: ("unpaid",),
    TEST_STEP: ("entry", "known"),
    OPEN_STEP: ("pilot", "open_to_all"),
}
ITEM_PAY = "pay.per_item."
_NAMED = re.compile(r"^setting (\S+) is ")
_COUNTS = {"integer": int, "number": float}


@dataclass(frozen=True, slots=True)
class SettingField:
    """A setting as a field: its name, its step, what it may hold. `help` is marked for translators."""

    name: str
    step: str
    rule: FieldRule
    help: str

    def read(self, text: str) -> Any:
        """What was typed, as the settings take it; None for nothing. Raises ValueError on no number."""
        text = text.strip()
        if not text:
            return None
        return _COUNTS[self.rule.sort](text) if self.rule.sort in _COUNTS else text


def setting_fields(tasks: str) -> tuple[SettingField, ...]:
    """The settings that campaigns of these tasks set by the steps, in the order of the pages."""
    return tuple(_fields(kinds_of_tasks(tasks)))


def fields_of_step(step: str, tasks: str) -> tuple[str, ...]:
    """The names of a step's fields."""
    return (
        *OWN_FIELDS.get(step, ()),
        *(field.name for field in setting_fields(tasks) if field.step == step),
    )


def _fields(kinds: tuple[str, ...]) -> Iterator[SettingField]:
    images, pay, stop = field_rules(ImageSettings), field_rules(PaySettings), field_rules(StopSettings)
    chained = any(not is_counted(kind) for kind in kinds)
    if chained:
        yield SettingField("boxes", QUESTIONS_STEP, images["boxes"], images["boxes"].help)
    for name in ("basis", "currency", "hourly"):
        yield SettingField(f"pay.{name}", PAY_STEP, pay[name], pay[name].help)
    each = pay["per_item"].each
    assert each is not None
    for kind in kinds:
        yield SettingField(f"{ITEM_PAY}{kind}", PAY_STEP, each, "")
    if chained:
        for name in ("link_votes", "verification_votes"):
            yield SettingField(name, VOTES_STEP, images[name], images[name].help)
    whole = value_rule(WholeFromOne)
    for name, number in settings_numbers().items():
        if any(name in kind_of(kind).numbers for kind in kinds):
            yield SettingField(f"answers.{name}", VOTES_STEP, whole, number.help)
    if any(map(is_page, kinds)):
        for name, rule in field_rules(PagingSettings).items():
            yield SettingField(f"page.{name}", VOTES_STEP, rule, rule.help)
    yield SettingField(
        "flags_to_review", VOTES_STEP, images["flags_to_review"], images["flags_to_review"].help
    )
    for name, rule in stop.items():
        yield SettingField(f"stop.{name}", VOTES_STEP, rule, rule.help)


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """Settings as the fields give them, and what is wrong, by field; what is wrong is at its default."""

    settings: CampaignSettings
    problems: Mapping[str, str]


def read_typed_settings(
    tasks: str,
    base: Mapping[str, Any],
    typed: Mapping[str, str],
    *,
    tested: bool,
    suggested: Mapping[str, Any],
) -> ReadSettings:
    """The settings of `tasks`: those of `base`, with what was `typed` in their place.

    `tested`: whether work begins with a test or practice. `suggested`: by field, what holds where neither
    says anything.
    """
    plain, problems = deepcopy(dict(base)), dict[str, str]()
    fields = {field.name: field for field in setting_fields(tasks)}
    for name, value in suggested.items():
        if name in fields and name not in typed:
            put(plain, name, value)
    for name, field in fields.items():
        if name not in typed:
            continue
        try:
            value = field.read(typed[name])
        except ValueError:
            problems[name] = _("“%(given)s” is no number: %(expected)s.") % {
                "given": typed[name].strip()[:60],
                "expected": field.rule.expected,
            }
            continue
        if value is None and not field.rule.optional:
            if name.startswith(ITEM_PAY) or name == "pay.hourly":
                value = 0.0
            else:
                problems[name] = _("This is needed: %(expected)s.") % {"expected": field.rule.expected}
                continue
        put(plain, name, value)
    put(plain, "trust.qualification", tested)
    return _without_faults(tasks, plain, problems, fields)


def _without_faults(
    tasks: str, plain: dict[str, Any], problems: dict[str, str], fields: Mapping[str, SettingField]
) -> ReadSettings:
    """The settings of `plain`; what they refuse becomes a problem of its field, and is left out."""
    usual = settings_of_tasks(tasks, {}).flat()
    for _attempt in range(len(fields) + 1):
        try:
            return ReadSettings(settings_of_tasks(tasks, plain), problems)
        except CampaignError as error:
            named = _NAMED.match(str(error))
            name = named[1] if named else ""
            if name not in fields or name in problems:
                # Nothing of the fields: settings that were imported and do not go together.
                return ReadSettings(settings_of({}), {**problems, "settings": str(error)})
            problems[name] = str(error).removeprefix("setting ")
            put(plain, name, usual.get(name, 0.0))
    return ReadSettings(settings_of({}), problems)


def put(plain: dict[str, Any], name: str, value: Any) -> None:
    """Set a setting of plain data by its name, "pay.per_item.KIND" included."""
    *tables, last = name.split(".")
    for table in tables:
        plain = plain.setdefault(table, {})
    plain[last] = value


def shown_value(settings: CampaignSettings, name: str) -> str:
    """A setting as its field shows it."""
    if name.startswith(ITEM_PAY):
        amount = settings.pay.per_item.get(name.removeprefix(ITEM_PAY), 0.0)
        return f"{amount:.15g}" if amount else ""
    value = settings.flat()[name]
    if value is None:
        return ""
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def typed_in(data: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """What a form sends of these fields, as a row can hold it; one that it leaves out is empty."""
    return {name: data.get(name, "").replace("\0", "")[:2000] for name in names}
