"""The parts of a kind's own template, which its author wrote for a task's frame, for other frames."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from annotation.web.annotator.task_page import TaskPage
from annotation.web.annotator.task_place import TaskPlace

#: The template that puts the parts one after the other, and what stands between two of them.
_PARTS, BETWEEN = "annotation/tasks/_parts.html", "<!-- next part -->"


@dataclass(frozen=True, slots=True)
class Parts:
    """What a kind's own template says: scripts and styles, picture, question, fields, buttons."""

    modules: SafeString
    picture: SafeString
    question: SafeString
    editor: SafeString
    choices: SafeString


def template_parts(request: HttpRequest, place: TaskPlace, shown: TaskPage) -> Parts:
    """The parts of the template of the place's kind, for what is `shown`."""
    whole = render_to_string(place.type.template, {"desk": shown, "around": _PARTS}, request)
    # The template escaped what is not its own.
    return Parts(*(mark_safe(part.strip()) for part in whole.split(BETWEEN)))
