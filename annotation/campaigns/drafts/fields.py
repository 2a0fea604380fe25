"""The fields of the steps in which a campaign is opened: which there are, and how what was typed is read.

A field's name is that of the setting that it holds ("pay.hourly"), where it holds one. Everything is kept as
typed; reading it never fails, and says of each field what is wrong.
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

#: The steps, in their order.
STEPS: Final = ("corpus", "questions", "pay", "test", "votes", "preview", "open")
CORPUS_STEP, QUESTIONS_STEP, PAY_STEP, TEST_STEP, VOTES_STEP, PREVIEW_STEP, OPEN_STEP = STEPS
#: How workers enter: nothing, practice, a test from what is known already, one that the owner marks.
ENTRY_NONE, ENTRY_PRACTICE, ENTRY_KNOWN, ENTRY_MARKED = ENTRIES = ("none", "practice", "known", "marked")
#: Fields of steps that hold no setting.
STEP_FIELDS: Mapping[str, tuple[str, ...]] = {
    CORPUS_STEP: ("name", "split", "images", "tags"),
    QUESTIONS_STEP: ("tasks",),
    PAY_STEP: ("unpaid",),
    TEST_STEP: ("entry", "known"),
    OPEN_STEP: ("pilot", "open_to_all"),
}
#: The setting, or the table of settings, that a step shows -> the step.
_STEPS = {
    **dict.fromkeys(("boxes",), QUESTIONS_STEP),
    **dict.fromkeys(("pay.basis", "pay.currency", "pay.hourly", "pay.per_item"), PAY_STEP),
    **dict.fromkeys(("link_votes", "verification_votes", "flags_to_review"), VOTES_STEP),
    **dict.fromkeys(("answers", "page", "stop"), VOTES_STEP),
}


def settings_by_step(tasks: str) -> Mapping[str, tuple[SettingField, ...]]:
    """The settings that the steps show of campaigns of these tasks, by step, in the order of the pages."""
    by_step: dict[str, list[SettingField]] = {}
    for declared in setting_fields(tasks):
        step = _STEPS.get(declared.name.rpartition(".")[0]) or _STEPS.get(declared.name)
        if step is not None:
            by_step.setdefault(step, []).append(declared)
    return {step: tuple(settings) for step, settings in by_step.items()}


def fields_of_step(step: str, tasks: str) -> tuple[str, ...]:
    """The names of a step's fields."""
    return (
        *STEP_FIELDS.get(step, ()),
        *(declared.name for declared in settings_by_step(tasks).get(step, ())),
    )


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
    """The settings of `plain`; what they refuse becomes a problem of its field, and is left out."""
    problems: dict[str, str] = {}
    for _attempt in range(len(fields) + 1):
        try:
            return ReadSettings(settings_of_tasks(tasks, settings), problems)
        except CampaignError as error:
            name = error.setting if isinstance(error, SettingError) else ""
            if name not in fields or name in problems:
                # Nothing of the fields: settings that were imported and do not go together.
                return ReadSettings(settings_of({}), {**problems, "settings": str(error)})
            problems[name] = str(error).removeprefix("setting ")
            put_setting(settings, name, fields[name].default_value)
    return ReadSettings(settings_of({}), problems)


def typed_in(data: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """What a form sends of these fields, as a row can hold it; one that it leaves out is empty."""
    return {name: data.get(name, "").replace("\0", "")[:2000] for name in names}
