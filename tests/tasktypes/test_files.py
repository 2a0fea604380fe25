"""Templates, signs and instructions are found in the folder of their kind, wherever it is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.template import TemplateDoesNotExist
from django.template.autoreload import reset_loaders
from django.template.loader import get_template, render_to_string

from annotation import instructions
from annotation.protocol import kinds
from annotation.task_types import discovery
from annotation.task_types.base import TASK_TYPES
from annotation.task_types.files import Signs

HERE = Path(discovery.__file__).parent
#: A package with one unregistered kind: only its files are looked up.
FILES = {
    "__init__.py": "",
    "smell/__init__.py": "",
    "smell/type.py": "raise AssertionError('found, and not imported')",
    "smell/task.html": "What does {{ picture }} smell of?",
    "smell/sign.svg": "<svg/>",
    "smell/instructions.txt": "Think\nof cheese.\n\nGood: a dog.",
    "smell/instructions.de.txt": "Denken Sie an Käse.\n\nGood: ein Hund.",
}


@pytest.fixture
def smell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a kind in a package that settings could name."""
    for name, text in FILES.items():
        file = tmp_path / "senses" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(discovery, "PACKAGES", [*discovery.PACKAGES])
    discovery.add_packages(["senses"])
    _forget()
    yield tmp_path / "senses" / "smell"
    _forget()


def _forget() -> None:
    """Clear what a process caches of another test's kinds."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "senses"]:
        del sys.modules[name]
    instructions._built_in.cache_clear()
    instructions._translated.cache_clear()
    reset_loaders()


@pytest.mark.parametrize("kind", kinds.names())
def test_each_kind_has_its_template_and_its_sign_in_its_folder(kind: str):
    type = TASK_TYPES.get(kind)
    template: Any = get_template(type.template)
    assert Path(template.origin.name) == HERE / kind / "task.html"
    assert finders.find(type.sign) == str(HERE / kind / "sign.svg")


def test_a_kind_of_another_package_is_found_as_well(smell: Path):
    assert render_to_string("task_types/smell/task.html", {"picture": "it"}) == "What does it smell of?"
    assert finders.find("annotation/signs/smell.svg") == str(smell / "sign.svg")
    assert finders.find("annotation/signs/smell.svg", find_all=True) == [str(smell / "sign.svg")]


@pytest.mark.parametrize(
    "name",
    [
        "task_types/nothing/task.html",
        "task_types/smell/nothing.html",
        "task_types/smell/../../../secret.html",
        "task_types/smell/",
        "task_types",
        "other/smell/task.html",
    ],
)
def test_a_template_that_no_folder_has_is_not_found(smell: Path, name: str):
    (smell.parents[1] / "secret.html").write_text("not for you")
    with pytest.raises(TemplateDoesNotExist):
        get_template(name)


def test_signs_are_all_that_is_public_of_a_folder(smell: Path):
    listed = {path: Path(storage.path(path)) for path, storage in Signs().list(None)}
    assert set(listed) == {f"annotation/signs/{kind}.svg" for kind in (*kinds.names(), "smell")}
    assert listed["annotation/signs/smell.svg"] == smell / "sign.svg"
    assert all(path.is_file() for path in listed.values())
    for path in ("annotation/signs/smell.py", "annotation/signs/nothing.svg", "smell/sign.svg", "smell.svg"):
        assert finders.find(path) is None, path
    ignored = {path for path, _storage in Signs().list(["*/smell.svg"])}
    assert set(listed) - ignored == {"annotation/signs/smell.svg"}


def test_a_sign_is_read_from_its_folder(smell: Path):
    _path, storage = next(result for result in Signs().list(()) if "smell" in result[0])
    with storage.open("annotation/signs/smell.svg") as file:
        assert file.read() == b"<svg/>"
    with pytest.raises(FileNotFoundError, match="no kind of question"):
        storage.open("annotation/signs/nothing.svg")


def test_a_folder_without_sign_lists_none(smell: Path):
    (smell / "sign.svg").unlink()
    assert "annotation/signs/smell.svg" not in {path for path, _storage in Signs().list(())}
    assert finders.find("annotation/signs/smell.svg") is None


def test_instructions_are_read_from_the_folder_in_each_language(smell: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kinds, "names", lambda: ("smell",))
    text = instructions.built_in_text("smell")
    assert (text.version, text.text) == (0, "Think of cheese.\n\nGood: a dog.")
    german = instructions.text_in_language(text, "de")
    assert (german.version, german.text) == (0, "Denken Sie an Käse.\n\nGood: ein Hund.")
    assert instructions.text_in_language(text, "fr") == text


def test_a_kind_without_instructions_says_which_file_is_missing(smell: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kinds, "names", lambda: ("smell", "taste"))
    (smell / "instructions.txt").unlink()
    for kind in ("smell", "taste"):
        with pytest.raises(instructions.CampaignError, match=f"'{kind}'.*instructions.txt"):
            instructions.built_in_text(kind)
