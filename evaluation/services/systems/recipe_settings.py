"""The settings of a recipe, each as a field."""

from dataclasses import fields

from annotation.common.operations import SettingField
from models_core.checked_fields import field_rules
from models_core.systems.recipe import Recipe


def recipe_settings(recipe: Recipe) -> tuple[SettingField, ...]:
    """What trainings may change of a recipe, table by table; defaults are the recipe's."""
    return tuple(
        SettingField(
            name=f"{table}.{setting.name}",
            rule=rules[setting.name],
            default=getattr(record, setting.name),
            label=rules[setting.name].help or setting.name,
            group=f"{recipe.name}: {table}",
        )
        for table, record in recipe.tables.items()
        for rules in [field_rules(type(record))]
        for setting in fields(record)
    )
