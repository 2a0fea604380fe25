"""System checks for errors that would otherwise appear only in use.

A kind of question is complete if its folder has every part (`annotation.task_types.discovery`); likewise a
corpus format that a site adds (`annotation.formats.base`). Declarations of formats and kinds of jobs must be
true. Each missing part is an error with its own id, which names the file to write. `annotation.apps` imports
this module only when Django runs its checks.

`manage.py check --tag registries` runs only these checks, and those of `evaluation.checks`.
"""

import inspect
import sys
from collections.abc import Iterator, Sequence
from inspect import Parameter
from itertools import islice
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.template import TemplateDoesNotExist, TemplateSyntaxError
from django.template.loader import get_template

from annotation import formats
from annotation.formats.base import ALL_CONTENTS, FORMAT_FOLDERS, SAMPLE_FOLDER, Format
from annotation.jobs import registry as jobs
from annotation.protocol.kinds import KINDS, kind_of, names
from annotation.task_types import discovery
from annotation.task_types.base import TASK_TYPES
from annotation.task_types.files import SIGN
from annotation.task_types.practice import PRACTICE
from phrasebox.registry import Registry

#: Modules that register something under the kind's name when Django starts: the registry, the error's id, and
#: a description.
MODULES: dict[str, tuple[Registry[Any], str, str]] = {
    "rules": (KINDS, "E001", "its answers, and how they are graded"),
    "type": (TASK_TYPES, "E002", "what it shows, and how it reads an answer"),
    "practice": (PRACTICE, "E003", "items to practise on, a good and a bad example"),
}
#: Labels that a task type must have.
LABELS = ("title", "summary", "name", "question_words")
#: The description of a plug-in and its sources.
README = "README.md"
#: Maximum number of images that are read of a sample.
MOST_OF_SAMPLE = 100
_FORMAT, _JOB = "format", "job kind"


def task_types(app_configs: Sequence[Any] | None, **options: Any) -> list[CheckMessage]:
    """Check that every kind of question has all its parts, in a folder of its name."""
    folders = {name.rpartition(".")[2]: path for name, path in discovery.folders()}
    messages: list[CheckMessage] = []
    for kind in sorted({*folders, *names(), *TASK_TYPES.keys()}):
        if kind in folders:
            messages += _lacking(kind, folders[kind])
        else:
            hint = "name the folder as the kind, and its package in TASK_TYPE_PACKAGES"
            messages.append(_error("E009", kind, "lies in no folder of that name", hint))
    return messages


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
        if not holds_text(file):
            hint = f"write {file}: what workers are told, paragraph by paragraph"
            yield _error("E007", kind, f"has no {file.name}", hint)
    yield from _labels(kind, folder)


def _template(kind: str, folder: Path) -> Iterator[Error]:
    """Yield an error if the template is missing or invalid."""
    name = TASK_TYPES.get(kind).template if kind in TASK_TYPES else f"task_types/{kind}/task.html"
    try:
        get_template(name)
    except (TemplateDoesNotExist, TemplateSyntaxError) as error:
        hint = f"write {folder / 'task.html'}, so that it parses"
        yield _error("E005", kind, f"has no template {name} that can be shown: {error}", hint)


def _labels(kind: str, folder: Path) -> Iterator[Error]:
    """Yield an error for each missing label of the type."""
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


def corpus_formats(app_configs: Sequence[Any] | None, **options: Any) -> list[CheckMessage]:
    """Check that every corpus format reads or writes as declared, and that a site's own format has all its
    parts."""
    folders = {name.rpartition(".")[2]: path for name, path in FORMAT_FOLDERS.folders()}
    known = formats.FORMATS
    messages: list[CheckMessage] = []
    for key in sorted({*folders, *known.keys()}):
        format = known.get(key) if key in known else None
        if key in folders:
            messages += _lacking_of_format(key, format, folders[key])
        if format is not None:
            messages += _unsaid_by_format(key, format)
    return messages


def _lacking_of_format(key: str, format: Format | None, folder: Path) -> Iterator[Error]:
    """Yield errors for the parts that the folder of a format lacks."""
    file, sample = folder / f"{FORMAT_FOLDERS.module}.py", folder / SAMPLE_FOLDER
    if not file.is_file():
        yield _error("E010", key, f"has no {file.name}", f"write {file}: how it is read and written", _FORMAT)
    elif format is None:
        hint = f"register it under {key!r} in {file}"
        yield _error("E011", key, f"is not registered by its {file.name}", hint, _FORMAT)
    if not holds_text(folder / README):
        hint = f"write {folder / README}: what its files hold, and what they cannot say"
        yield _error("E012", key, f"has no {README}", hint, _FORMAT)
    hint = f"put a small corpus into {sample}, as it is read or written"
    if not sample.is_dir() or not any(sample.iterdir()):
        yield _error("E013", key, f"has no {SAMPLE_FOLDER}", hint, _FORMAT)
    elif format is not None and (format.reads or format.reads_layers):
        try:
            read = format.read if format.reads else format.read_layer
            images = list(islice(read(sample), MOST_OF_SAMPLE))
            problem = "" if images else "it holds no image"
        except Exception as error:  # a format under development may raise anything
            problem = f"{type(error).__name__}: {error}"
        if problem:
            yield _error("E014", key, f"has a {SAMPLE_FOLDER} that cannot be read: {problem}", hint, _FORMAT)


def _unsaid_by_format(key: str, format: Format) -> Iterator[Error]:
    """Yield errors if a format has no title, is registered under another name, or differs from its
    declaration."""
    where = f"in {source_of(type(format))}"
    if getattr(format, "key", "") != key:
        hint = f"register it under its key, {where}"
        yield _error("E015", key, f"calls itself {getattr(format, 'key', '')!r}", hint, _FORMAT)
    for statement, missing in (
        ("title", not getattr(format, "title", "")),
        ("docstring", not type(format).__doc__ and sys.flags.optimize < 2),
    ):
        if missing:
            yield _error("E016", key, f"has no {statement}", f"say what it is, {where}", _FORMAT)
    if not (format.reads or format.writes or format.reads_layers):
        hint = f"set reads, writes or reads_layers to True {where}"
        yield _error("E017", key, "neither reads nor writes, so that nobody is offered it", hint, _FORMAT)
    for flag, method, says, does in (
        ("reads", "read", format.reads, type(format).read is not Format.read),
        ("writes", "write", format.writes, type(format).write is not Format.write),
        ("reads_layers", "read_layer", format.reads_layers, _has_read_layer(format)),
    ):
        if says != does:
            fault = f"says {flag} = {says}, and has {'a' if does else 'no'} method {method}"
            yield _error("E017", key, fault, f"make both agree {where}", _FORMAT)
    if unknown := sorted(set(format.says) - ALL_CONTENTS):
        hint = f"choose of {', '.join(sorted(ALL_CONTENTS))}, {where}"
        yield _error("E018", key, f"says {', '.join(unknown)}, which no record holds", hint, _FORMAT)


def _has_read_layer(format: Format) -> bool:
    """Whether a format has a `read_layer`: its own, or the default of formats that read corpora with
    layers."""
    own = type(format).read_layer is not Format.read_layer
    return own or (format.reads_layers and format.reads)


def job_kinds(app_configs: Sequence[Any] | None, **options: Any) -> list[CheckMessage]:
    """Check that every kind of job, in every app, has a title, can be called, and rejects by exceptions."""
    known = jobs.every_job_kind()
    return [error for key in known.keys() for error in _lacking_of_job(key, known.get(key))]


def _lacking_of_job(key: str, kind: Any) -> Iterator[Error]:
    """Yield errors of one kind of job; `kind` is a `jobs.registry.Kind`."""
    where = f"in {source_of(kind.work)}"
    if not str(kind.title).strip():
        yield _error("E019", key, "has no title", f"say what pages call it, {where}", _JOB)
    not_errors = [
        error
        for error in kind.expected_errors
        if not (isinstance(error, type) and issubclass(error, Exception))
    ]
    if not_errors:
        hint = f"name exception classes as expected_errors, {where}"
        yield _error("E020", key, f"refuses by {', '.join(map(repr, not_errors))}, no exception", hint, _JOB)
    if fault := _signature_error_of_work(kind):
        hint = f"let it take the progress, then its request or, after *, its arguments, {where}"
        yield _error("E021", key, fault, hint, _JOB)


def _signature_error_of_work(kind: Any) -> str:
    """Return why the work of a kind of job cannot be called by its registry, or ""."""
    by_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    placed = [
        parameter.name
        for parameter in inspect.signature(kind.work).parameters.values()
        if parameter.kind in by_place
    ]
    if not placed:
        return "takes no progress"
    return f"takes {', '.join(placed[1:])} by position" if placed[1:] else ""


def source_of(thing: Any) -> str:
    """Return the file that defines a class or function; the module's name, or its repr, if no file is
    known."""
    try:
        return inspect.getsourcefile(thing) or thing.__module__
    except TypeError:
        return str(getattr(thing, "__module__", None) or thing)


def holds_text(file: Path) -> bool:
    """Whether a file exists and is not empty."""
    return file.is_file() and bool(file.read_text(encoding="utf-8").strip())


def _error(number: str, key: str, says: str, hint: str, what: str = "kind") -> Error:
    return Error(f"the {what} {key!r} {says}", hint=hint, id=f"annotation.{number}")
