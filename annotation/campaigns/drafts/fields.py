"""The fields of the steps that open a campaign, and how their input is read.

A field has the name of its setting ("pay.hourly"), if it holds one. All input is stored as typed; reading
never fails, and returns the error of each field.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from annotation.campaigns.setting_fields import setting_fields
from annotation.common.operations import SettingField, put_setting
from annotation.protocol.campaign_settings import (
    CampaignError,
    CampaignSettings,
    SettingError,
    settings_of,
    settings_of_tasks,
)

#: The steps, in order.
STEPS: Final = ("corpus", "questions", "pay", "test", "votes", "preview", "open")
CORPUS_STEP, QUESTIONS_STEP, PAY_STEP, TEST_STEP, VOTES_STEP, PREVIEW_STEP, OPEN_STEP = STEPS
#: How workers start: without, with practice, with a test from existing gold, or with one that the owner
#: marks.
ENTRY_NONE, ENTRY_PRACTICE, ENTRY_KNOWN, ENTRY_MARKED = ENTRIES = ("none", "practice", "known", "marked")
#: Fields of steps that hold no setting.
STEP_FIELDS: Mapping[str, tuple[str, ...]] = {
    CORPUS_STEP: ("name", "split", "images", "tags"),
    QUESTIONS_STEP: ("tasks",),
    PAY_STEP: ("unpaid",),
    TEST_STEP: ("entry", "known"),
    OPEN_STEP: ("pilot", "open_to_all"),
}
#: The setting, or the table of settings, of a step -> the step.
_STEPS = {
    **dict.fromkeys(("boxes",), QUESTIONS_STEP),
    **dict.fromkeys(("pay.basis", "pay.currency", "pay.hourly", "pay.per_item"), PAY_STEP),
    **dict.fromkeys(("link_votes", "verification_votes", "flags_to_review"), VOTES_STEP),
    **dict.fromkeys(("answers", "page", "stop"), VOTES_STEP),
}


def settings_by_step(tasks: str) -> Mapping[str, tuple[SettingField, ...]]:
    """Return the settings displayed for campaigns of these tasks, by step, in the order of the pages."""
    by_step: dict[str, list[SettingField]] = {}
    for declared in setting_fields(tasks):
        step = _STEPS.get(declared.name.rpartition(".")[0]) or _STEPS.get(declared.name)
        if step is not None:
            by_step.setdefault(step, []).append(declared)
    return {step: tuple(settings) for step, settings in by_step.items()}


def fields_of_step(step: str, tasks: str) -> tuple[str, ...]:
    """Return the names of a step's fields."""
    return (
        *STEP_FIELDS.get(step, ()),
        *(declared.name for declared in settings_by_step(tasks).get(step, ())),
    )


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """Settings read from the fields, and errors by field; invalid values are replaced by defaults."""

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
    """Return the settings of `tasks`: those of `base`, replaced by what was `typed`.

    `tested`: whether work begins with a test or practice. `suggested`: values by field where neither has one.
    """
    typed_settings = deepcopy(dict(base))
    fields = {
        declared.name: declared for settings in settings_by_step(tasks).values() for declared in settings
    }
    for name, value in suggested.items():
        if name in fields and name not in typed:
            put_setting(typed_settings, name, value)
    for name, declared in fields.items():
        if name in typed:
            put_setting(typed_settings, name, declared.read(typed[name]))
    put_setting(typed_settings, "trust.qualification", tested)
    return _without_faults(tasks, typed_settings, fields)


def _without_faults(tasks: str, settings: dict[str, Any], fields: Mapping[str, SettingField]) -> ReadSettings:
    """Return the settings of `settings`; invalid values become errors of their fields, and are removed."""
    problems: dict[str, str] = {}
    for _attempt in range(len(fields) + 1):
        try:
            return ReadSettings(settings_of_tasks(tasks, settings), problems)
        except CampaignError as error:
            name = error.setting if isinstance(error, SettingError) else ""
            if name not in fields or name in problems:
                # No field's error: imported settings that contradict each other.
                return ReadSettings(settings_of({}), {**problems, "settings": str(error)})
            problems[name] = str(error).removeprefix("setting ")
            put_setting(settings, name, fields[name].default_value)
    return ReadSettings(settings_of({}), problems)


def typed_in(data: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return what a form submits for these fields, in a form that a row can store; missing ones are empty."""
    return {name: data.get(name, "").replace("\0", "")[:2000] for name in names}
