"""`manage.py check` names each missing part of a kind of question, and how to add it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.checks import Error
from django.template.autoreload import reset_loaders

from annotation.checks import task_types
from annotation.protocol.kinds import KINDS
from annotation.task_types import discovery
from annotation.task_types.base import TASK_TYPES
from annotation.task_types.practice import PRACTICE

#: A whole kind, as a site might add it: whether a picture shows a smile.
PARTS = {
    "__init__.py": "",
    "rules.py": """
from annotation.protocol.kinds import ABOUT_IMAGE, KINDS, Kind

KINDS.register("smile", Kind(key="smile", tasks="smiles", answers=("seen", "unseen"), about=ABOUT_IMAGE))
""",
    "type.py": """
from annotation.task_types.base import TASK_TYPES, Choice, TaskType


class Smile(TaskType):
    key = "smile"
    title = "Does somebody smile?"
    summary = "A picture: look for a smile."
    name = "smiles"
    question_words = "a smile?"
    answer_words = {"seen": "a smile", "unseen": "no smile"}
    choices = (Choice("seen", "Yes"), Choice("unseen", "No"))


TASK_TYPES.register(Smile.key, Smile())
""",
    "practice.py": """
from annotation.task_types.practice import PRACTICE, Practice, PracticeExample, PracticeItem

ITEM = PracticeItem("stage", "Both look at their instruments.", "unseen")
EXAMPLES = (PracticeExample(True, ITEM), PracticeExample(False, ITEM))
PRACTICE.register("smile", Practice("smile", (ITEM,), EXAMPLES))
""",
    "simulate.py": "",
    "task.html": '{% extends "annotation/tasks/task.html" %}{% block question %}Smile?{% endblock %}',
    "sign.svg": "<svg/>",
    "instructions.txt": "Look.",
    "instructions.de.txt": "Sehen Sie hin.",
}


@pytest.fixture
def smile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a whole kind, not loaded yet, in a package that settings could name."""
    folder = tmp_path / "added" / "smile"
    folder.mkdir(parents=True)
    (tmp_path / "added" / "__init__.py").touch()
    for name, text in PARTS.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(discovery, "PACKAGES", [*discovery.PACKAGES])
    discovery.add_packages(["added"])
    _forget()
    yield folder
    _forget()


def _forget() -> None:
    """Remove the kind that another test registered in this process."""
    for registry in (KINDS, TASK_TYPES, PRACTICE):
        registry._entries.pop("smile", None)
    for name in [name for name in sys.modules if name.partition(".")[0] == "added"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    reset_loaders()


def checked() -> list[Error]:
    """Return the check's errors for the kinds, loaded as at Django's start."""
    for part in ("rules", "type", "practice"):
        discovery.load_kind_modules(part)
    result = task_types(None)
    assert all(isinstance(error, Error) for error in result)
    return [error for error in result if isinstance(error, Error)]


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_our_own_kinds_lack_nothing():
    assert checked() == []


def test_a_whole_kind_of_another_package_lacks_nothing(smile: Path):
    assert checked() == []
    assert "smile" in KINDS and "smile" in TASK_TYPES and "smile" in PRACTICE


@pytest.mark.parametrize(
    ("part", "id"),
    [
        ("rules.py", "annotation.E001"),
        ("type.py", "annotation.E002"),
        ("practice.py", "annotation.E003"),
        ("simulate.py", "annotation.E004"),
        ("task.html", "annotation.E005"),
        ("sign.svg", "annotation.E006"),
        ("instructions.txt", "annotation.E007"),
        ("instructions.de.txt", "annotation.E007"),
    ],
)
def test_a_missing_part_is_the_one_error_and_says_what_to_write(smile: Path, part: str, id: str):
    (smile / part).unlink()
    (error,) = checked()
    assert error.id == id
    assert "'smile'" in error.msg and str(smile / part) in str(error.hint)


@pytest.mark.parametrize(
    ("part", "id"),
    [("rules", "annotation.E001"), ("type", "annotation.E002"), ("practice", "annotation.E003")],
)
def test_a_module_that_registers_nothing_is_named(smile: Path, part: str, id: str):
    (smile / f"{part}.py").write_text("")
    (error,) = [error for error in checked() if error.id == id]
    assert "not registered" in error.msg and str(smile / f"{part}.py") in str(error.hint)


def test_a_template_that_does_not_parse_is_named_with_its_fault(smile: Path):
    (smile / "task.html").write_text("{% if %}")
    (error,) = checked()
    assert error.id == "annotation.E005" and "task_types/smile/task.html" in error.msg
    assert "Unexpected end of expression" in error.msg


@pytest.mark.parametrize("name", ["instructions.txt", "instructions.de.txt"])
def test_empty_instructions_are_none(smile: Path, name: str):
    (smile / name).write_text("\n  \n")
    (error,) = checked()
    assert error.id == "annotation.E007" and name in error.msg


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "Does somebody smile?"', "", "no title"),
        ('summary = "A picture: look for a smile."', 'summary = ""', "no summary"),
        ('name = "smiles"', "", "no name"),
        ('question_words = "a smile?"', "", "no question_words"),
        (', "unseen": "no smile"', "", "no answer_words['unseen']"),
        ('answer_words = {"seen": "a smile", "unseen": "no smile"}', "", "['seen'], answer_words['unseen']"),
    ],
)
def test_a_label_that_staff_would_miss_is_named(smile: Path, old: str, new: str, message: str):
    change(smile / "type.py", old, new)
    (error,) = checked()
    assert (
        error.id == "annotation.E008" and message in error.msg and str(smile / "type.py") in str(error.hint)
    )


def test_a_kind_must_lie_in_a_folder_of_its_name(smile: Path):
    smile.rename(smile.with_name("grin"))
    result = checked()
    (lost,) = [error for error in result if error.id == "annotation.E009"]
    assert "'smile'" in lost.msg
    assert {error.id for error in result if "'grin'" in error.msg} == {
        "annotation.E001",
        "annotation.E002",
        "annotation.E003",
    }


def test_all_that_is_missing_is_named_at_once(smile: Path):
    for part in ("practice.py", "simulate.py", "sign.svg", "task.html", "instructions.de.txt"):
        (smile / part).unlink()
    assert [error.id for error in checked()] == [f"annotation.E00{number}" for number in (3, 4, 5, 6, 7)]
