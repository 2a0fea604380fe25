"""Fields of the steps as forms show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.campaigns.drafts import fields
from annotation.campaigns.drafts.reading import DraftPlan
from annotation.task_types.base import TranslatableText
from annotation.web.staff.wording import kind_in_words
from models_core.checked_fields import FieldRule

#: What choices of settings are called, by the setting's name; others are shown as they are.
CHOICES_IN_WORDS: Mapping[str, Mapping[str, TranslatableText]] = {
    "boxes": {
        "pictured": gettext_lazy("of images with a picture"),
        "always": gettext_lazy("of all images"),
        "never": gettext_lazy("of none: phrases are only linked"),
    },
    "pay.basis": {
        "item": gettext_lazy("by the answer"),
        "hour": gettext_lazy("by the hour"),
        "none": gettext_lazy("not at all"),
    },
}
#: Settings whose line of help is no name for a field.
FIELD_LABELS: Mapping[str, TranslatableText] = {
    "boxes": gettext_lazy("Boxes are asked for"),
    "pay.basis": gettext_lazy("Workers are paid"),
    "pay.currency": gettext_lazy("Currency"),
    "pay.hourly": gettext_lazy("An hour earns"),
}
#: The input of a form for each sort of field.
_INPUTS = {"integer": "number", "number": "number", "date": "date"}
#: Bounds from which on a number has none to speak of.
_ENDLESS = 10**6


@dataclass(frozen=True, slots=True)
class FormField:
    """A field: HTML's words for what it holds ("" for none), what stands in it, and what is wrong with it.

    `input`: "number", "date", "text", "area", "select", "tick". `choices`: value and words.
    """

    name: str
    label: TranslatableText
    input: str
    value: str
    wrong: str = ""
    hint: TranslatableText = ""
    choices: tuple[tuple[str, TranslatableText], ...] = ()
    needed: bool = False


def setting_form_fields(plan: DraftPlan, step: str) -> dict[str, FormField]:
    """The settings of a step, by name, as fields."""
    return {
        field.name: _of_setting(plan, field)
        for field in fields.setting_fields(plan.tasks)
        if field.step == step
    }


def _of_setting(plan: DraftPlan, field: fields.SettingField) -> FormField:
    name, rule = field.name, field.rule
    label = FIELD_LABELS.get(name) or (
        _(field.help) if field.help else kind_in_words(name.removeprefix(fields.ITEM_PAY))
    )
    words = CHOICES_IN_WORDS.get(name, {})
    input_ = "select" if rule.choices else _INPUTS.get(rule.sort, "text")
    return FormField(
        name,
        label,
        input_,
        own_value(plan, name, fields.shown_value(plan.settings, name)),
        plan.problems.get(name, ""),
        choices=tuple((choice, words.get(choice, choice)) for choice in rule.choices),
        hint=_expected(rule),
        needed=not rule.optional and not name.startswith(fields.ITEM_PAY) and name != "pay.hourly",
    )


def _expected(rule: FieldRule) -> str:
    """The bounds of a number, where they say something."""
    if rule.least is None or rule.most is None or rule.most >= _ENDLESS:
        return ""
    return f"{rule.least:.15g} – {rule.most:.15g}"


def own_value(plan: DraftPlan, name: str, otherwise: str = "") -> str:
    """What was typed into a field, else what holds."""
    typed: str = plan.draft.fields.get(name, otherwise)
    return typed


def own_field(
    plan: DraftPlan, name: str, label: TranslatableText, hint: TranslatableText = "", *, input_: str = "text"
) -> FormField:
    """A field that holds no setting."""
    return FormField(name, label, input_, own_value(plan, name), plan.problems.get(name, ""), hint)
