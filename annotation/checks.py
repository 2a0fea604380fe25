"""System checks: what would break only when a worker met it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, register
from django.template import TemplateDoesNotExist, TemplateSyntaxError
from django.template.loader import get_template

from annotation.protocol.kinds import names
from annotation.task_types.base import TASK_TYPES


@register(Tags.templates)
def task_types(app_configs: Sequence[Any] | None, **options: Any) -> list[CheckMessage]:
    """Every question that a campaign can ask has a task type, and every type a template that reads."""
    found: list[CheckMessage] = []
    for kind in names():
        if kind not in TASK_TYPES:
            found.append(
                Error(
                    f"the question {kind!r} has no task type",
                    hint=f"add annotation/task_types/{kind}/type.py",
                    id="annotation.E001",
                )
            )
    for type in TASK_TYPES:
        try:
            get_template(type.template)
        except (TemplateDoesNotExist, TemplateSyntaxError) as error:
            found.append(
                Error(
                    f"the template {type.template} of task type {type.key!r} cannot be loaded: {error}",
                    hint=f"write templates/{type.template}",
                    obj=type,
                    id="annotation.E002",
                )
            )
    return found
