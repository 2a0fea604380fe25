"""System checks: what would break only when a worker met it.

A kind of question is whole where its folder has every part (`annotation.task_types.discovery`). Each missing
one is an error of its own id, which names the file to write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.template import TemplateDoesNotExist, TemplateSyntaxError
from django.template.loader import get_template

from annotation.common.registry import Registry
from annotation.protocol.kinds import KINDS, kind_of, names
from annotation.task_types import discovery
from annotation.task_types.base import TASK_TYPES
from annotation.task_types.files import SIGN
from annotation.task_types.practice import PRACTICE

#: Modules that register something under the kind's name when Django starts: where, the error's id, and what
#: they hold.
MODULES: dict[str, tuple[Registry[Any], str, str]] = {
    "rules": (KINDS, "E001", "its answers, and how they are graded"),
    "type": (TASK_TYPES, "E002", "what it shows, and how it reads an answer"),
    "practice": (PRACTICE, "E003", "items to practise on, a good and a bad example"),
}
#: What a task type says in words.
LABELS = ("title", "summary", "name", "question_words")


@register(Tags.templates)
def task_types(app_configs: Sequence[Any] | None, **options: Any) -> list[CheckMessage]:
    """Every kind of question has all its parts, in a folder of its name."""
    folders = {name.rpartition(".")[2]: path for name, path in discovery.folders()}
    found: list[CheckMessage] = []
    for kind in sorted({*folders, *names(), *TASK_TYPES.keys()}):
        if kind in folders:
            found += _lacking(kind, folders[kind])
        else:
            hint = "name the folder as the kind, and its package in TASK_TYPE_PACKAGES"
            found.append(_error("E009", kind, "lies in no folder of that name", hint))
    return found


def _lacking(kind: str, folder: Path) -> Iterator[Error]:
    for part, (registry, id, holds) in MODULES.items():
        file = folder / f"{part}.py"
        if not file.is_file():
            yield _error(id, kind, f"has no {file.name}", f"write {file}: {holds}")
        elif kind not in registry and discovery.can_load(folder, part):
            hint = f"register it under {kind!r} in {file}"
            yield _error(id, kind, f"is not registered by its {file.name}", hint)
    if not (folder / "simulate.py").is_file():
        hint = f"write {folder / 'simulate.py'}: how simulated workers answer it"
        yield _error("E004", kind, "has no simulate.py", hint)
    yield from _template(kind, folder)
    if not (folder / SIGN).is_file():
        yield _error("E006", kind, f"has no {SIGN}", f"draw {folder / SIGN}: what stands for it in lists")
    for language, _name in settings.LANGUAGES:
        file = folder / discovery.instructions_file("" if language == settings.LANGUAGE_CODE else language)
        if not file.is_file() or not file.read_text(encoding="utf-8").strip():
            hint = f"write {file}: what workers are told, paragraph by paragraph"
            yield _error("E007", kind, f"has no {file.name}", hint)
    yield from _labels(kind, folder)


def _template(kind: str, folder: Path) -> Iterator[Error]:
    """An error where the template is not there, or does not parse."""
    name = TASK_TYPES.get(kind).template if kind in TASK_TYPES else f"task_types/{kind}/task.html"
    try:
        get_template(name)
    except (TemplateDoesNotExist, TemplateSyntaxError) as error:
        hint = f"write {folder / 'task.html'}, so that it parses"
        yield _error("E005", kind, f"has no template {name} that can be shown: {error}", hint)


def _labels(kind: str, folder: Path) -> Iterator[Error]:
    """An error where the type does not say in words what it is, asks and was answered."""
    if kind not in TASK_TYPES:
        return
    type = TASK_TYPES.get(kind)
    missing = [label for label in LABELS if not getattr(type, label, "")]
    answers = kind_of(kind).answers if kind in KINDS else ()
    words = getattr(type, "answer_words", {})
    missing += [f"answer_words[{answer!r}]" for answer in answers if not words.get(answer)]
    if missing:
        hint = f"say it in {folder / 'type.py'}, in words that gettext translates"
        yield _error("E008", kind, f"has no {', '.join(missing)}", hint)


def _error(number: str, kind: str, says: str, hint: str) -> Error:
    return Error(f"the kind {kind!r} {says}", hint=hint, id=f"annotation.{number}")
