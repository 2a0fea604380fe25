"""The settings of campaigns as form fields: those of each task, and their labels."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from annotation.common.operations import SettingField
from annotation.protocol.boxes import BoxLimits
from annotation.protocol.campaign_settings import settings_of_tasks
from annotation.protocol.counted import number_type
from annotation.protocol.kinds import is_counted, is_page, kind_of, kinds_of_tasks, model_kinds
from annotation.protocol.merging import MergeRules
from annotation.protocol.model_annotators import ModelAnnotatorSettings
from annotation.protocol.paging import PagingSettings
from annotation.protocol.state import ImageSettings, SavingSettings
from annotation.protocol.trust_settings import TrustSettings
from annotation.protocol.work import LeaseSettings, PaySettings, StopSettings
from annotation.task_types.wording import kind_in_words
from models_core.checked_fields import field_rules, value_rule

#: The prefix of the pay for an answer to a question of a kind.
ITEM_PAY: Final = "pay.per_item."
#: The tables of settings by name ("" is the top level), in the order of pages, with their titles.
_TITLES: Mapping[str, str | Promise] = {
    "": _("Questions, and when they are settled"),
    "limits": _("Limits of a chain"),
    "merging": _("When boxes are merged"),
    "saving": _("Fewer questions than the paper asks"),
    "answers": _("Answers to a question"),
    "page": _("Contents of a page"),
    "trust": _("Trust in workers"),
    "lease": _("How long a task stays assigned"),
    "pay": _("Pay"),
    "stop": _("Stop rules"),
    "model_annotator": _("Boxes that a model annotator proposes"),
}
#: Settings of the top level that also matter to questions outside of chains.
_OF_ALL = ("flags_to_review",)
_RECORDS: Mapping[str, Any] = {
    "": ImageSettings,
    "limits": BoxLimits,
    "merging": MergeRules,
    "saving": SavingSettings,
    "page": PagingSettings,
    "trust": TrustSettings,
    "lease": LeaseSettings,
    "pay": PaySettings,
    "stop": StopSettings,
    "model_annotator": ModelAnnotatorSettings,
}
#: Labels of settings whose line of help is no label.
_LABELS: Mapping[str, str | Promise] = {
    "boxes": _("Boxes are asked for"),
    "pay.basis": _("Workers are paid"),
    "pay.currency": _("Currency"),
    "pay.hourly": _("An hour earns"),
}
#: Titles of choices of settings; others are displayed unchanged.
_CHOICES: Mapping[str, Mapping[str, str | Promise]] = {
    "boxes": {
        "pictured": _("of images with a picture"),
        "always": _("of all images"),
        "never": _("of none: phrases are only linked"),
    },
    "pay.basis": {"item": _("by the answer"), "hour": _("by the hour"), "none": _("not at all")},
}


def setting_fields(tasks: str) -> tuple[SettingField, ...]:
    """Return the settings of campaigns of these tasks, table by table."""
    kinds, defaults = kinds_of_tasks(tasks), settings_of_tasks(tasks, {}).flat()
    return tuple(table_field for table in _tables(kinds) for table_field in _fields(table, kinds, defaults))


def _tables(kinds: tuple[str, ...]) -> Iterator[str]:
    chained = any(not is_counted(kind) for kind in kinds)
    needed = {
        **dict.fromkeys(("limits", "merging", "saving"), chained),
        "answers": any(kind_of(kind).numbers for kind in kinds),
        "page": any(map(is_page, kinds)),
        "model_annotator": bool(model_kinds(kinds)),
    }
    return (name for name in _TITLES if needed.get(name, True))


def _fields(table: str, kinds: tuple[str, ...], defaults: Mapping[str, Any]) -> Iterator[SettingField]:
    group = _TITLES[table]
    if table == "answers":
        numbers = {name: declared for kind in kinds for name, declared in kind_of(kind).numbers.items()}
        for name, number in numbers.items():
            yield SettingField(
                name=f"answers.{name}",
                rule=value_rule(number_type(number)),
                default=defaults.get(f"answers.{name}", number.default),
                label=_lazy(number.help) or name,
                group=group,
                source=number.source,
            )
        return
    rules, chained = field_rules(_RECORDS[table]), any(not is_counted(kind) for kind in kinds)
    for declared in fields(_RECORDS[table]):
        name, rule = f"{table}.{declared.name}".removeprefix("."), rules[declared.name]
        if name == ITEM_PAY.rstrip("."):
            assert rule.element is not None
            for kind in kinds:
                label = format_lazy(_("Pay of an answer: {kind}"), kind=kind_in_words(kind))
                yield SettingField(
                    name=f"{ITEM_PAY}{kind}", rule=rule.element, default=0.0, label=label, group=group
                )
        elif declared.name not in _RECORDS and (chained or table or name in _OF_ALL):
            yield SettingField(
                name=name,
                rule=rule,
                default=defaults[name],
                label=_LABELS.get(name) or _lazy(rule.help) or name,
                group=group,
                choices=_CHOICES.get(name, {}),
                source=declared.metadata.get("source", ""),
            )


def _lazy(help_text: str) -> str | Promise:
    """Return a line of help for translation, which is marked for translators where it is defined."""
    return _(help_text) if help_text else ""
