"""The parts of a kind's own template, for pages that put them into a frame of their own."""

from dataclasses import dataclass

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from annotation.web.annotator.task_page import TaskPage

#: The parts of a kind's own template, and what stands between them, as `_parts.html` has it.
_PARTS, _BETWEEN = "annotation/tasks/_parts.html", "<!-- next part -->"


@dataclass(frozen=True, slots=True)
class TaskParts:
    """What a kind's own template says: scripts and styles, picture, question, fields, buttons."""

    modules: SafeString
    picture: SafeString
    question: SafeString
    editor: SafeString
    choices: SafeString


def parts_of_task(request: HttpRequest, task_page: TaskPage) -> TaskParts:
    """The parts of the kind's template, which its author wrote for a task's frame."""
    whole = render_to_string(task_page.type.template, {"task": task_page, "around": _PARTS}, request)
    # The template escaped what is not its own.
    return TaskParts(*(mark_safe(part.strip()) for part in whole.split(_BETWEEN)))
