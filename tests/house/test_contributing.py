"""Follow CONTRIBUTING's steps: write what each step names, and check that the rest is reported as missing.

The parts come from the examples under `tests/plugged_in`, and go to an empty folder of a package that
settings could name. After each step `manage.py check` names the parts of the later steps only; after the last
step, none. `test_plug_in.py` of each kind tests that such a plug-in works.
"""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.core.checks import CheckMessage, run_checks
from django.template.autoreload import reset_loaders

from annotation.checks import corpus_formats, task_types
from annotation.formats import FORMATS
from annotation.formats.base import FORMAT_FOLDERS
from annotation.protocol.kinds import KINDS
from annotation.task_types import discovery
from annotation.task_types.base import TASK_TYPES
from annotation.task_types.practice import PRACTICE
from evaluation.checks import lacking_measures
from phrasebox.metrics.table import METRIC_FOLDERS, METRICS
from phrasebox.registry import Registry
from tests.house.product import manage
from tests.plug_ins import FOLDER, HERE

TEXT = (FOLDER.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def steps(heading: str) -> tuple[str, list[list[str]]]:
    """Return the example's folder, and the parts of it that each numbered step of a section names at its
    start."""
    section = TEXT.split(f"## {heading}\n")[1].split("\n## ")[0]
    (example,) = re.findall(r"`tests/plugged_in/(\w+)`", section)
    there = {path.name for path in (FOLDER / example).iterdir()}
    numbered = re.findall(r"^\d\. (.*(?:\n   .*)*)", section, re.M)
    named = [re.findall(r"`([\w.]+)/?`", step) for step in numbered]
    return example, [[name for name in names if name in there] for names in named]


def task_type_messages() -> list[CheckMessage]:
    for part in ("rules", "type", "practice"):
        discovery.load_kind_modules(part)
    return task_types(None)


def format_messages() -> list[CheckMessage]:
    FORMAT_FOLDERS.load()
    return corpus_formats(None)


def measure_messages() -> list[CheckMessage]:
    METRIC_FOLDERS.load()
    return list(lacking_measures())


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty package that all three settings name; its registrations are removed afterwards."""
    folder = tmp_path / "written_here"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(discovery, "PACKAGES", [*discovery.PACKAGES, folder.name])
    for folders in (FORMAT_FOLDERS, METRIC_FOLDERS):
        monkeypatch.setattr(folders, "packages", [folder.name])
    registries: list[Registry] = [KINDS, TASK_TYPES, PRACTICE, FORMATS]
    for registry in registries:
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    for name in ("_by_name", "_by_key"):
        monkeypatch.setattr(METRICS, name, dict(getattr(METRICS, name)))
    reset_loaders()
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == folder.name]:
        del sys.modules[name]
    reset_loaders()


@pytest.mark.parametrize(
    ("heading", "find"),
    [
        ("Add a task type", task_type_messages),
        ("Add a corpus format", format_messages),
        ("Add a metric", measure_messages),
    ],
)
def test_the_steps_are_all_that_is_to_be_done(
    package: Path, heading: str, find: Callable[[], list[CheckMessage]]
) -> None:
    example, named = steps(heading)
    folder = package / example
    folder.mkdir()
    (folder / "__init__.py").touch()
    left = [name for names in named for name in names]
    # The steps name everything in the example.
    assert {path.name for path in (FOLDER / example).iterdir()} - {*left} <= {"__init__.py", "__pycache__"}
    for names in named:
        assert names, "a step that writes nothing"
        for name in names:
            write(FOLDER / example / name, folder / name)
            left.remove(name)
        importlib.invalidate_caches()
        reset_loaders()
        assert sorted(_requested_parts(find(), folder)) == sorted(left)


def write(part: Path, there: Path) -> None:
    """Copy a part of the example to another package."""
    if part.is_dir():
        shutil.copytree(part, there)
    else:
        there.write_text(part.read_text().replace(HERE, there.parents[1].name))


def _requested_parts(errors: list[CheckMessage], folder: Path) -> list[str]:
    """Return the parts of the folder that the errors request."""
    matches = [re.findall(rf"{re.escape(str(folder))}/([\w.]+\w)", str(error.hint)) for error in errors]
    assert all(len(names) == 1 for names in matches), errors
    return [names[0] for names in matches]


#: Prints what a process knows of the examples, what the checks find, and what they had to import.
PROBE = """
import importlib, sys
from django.core.management import call_command
importlib.import_module("config.urls")
from annotation.formats import FORMATS
from annotation.jobs.registry import job_kind_named
from annotation.protocol.kinds import KINDS
from phrasebox.metrics import METRICS
job_kind_named("refresh_layer")
before = {*sys.modules}
call_command("check", tags=["registries"])
print("caption_fluency" in KINDS, "caption_blocks" in FORMATS, METRICS.find("WP@2").name)
heavy = {"numpy", "scipy", "numba", "matplotlib", "torch", "pyarrow", "cv2", "PIL", "sklearn", "nltk"}
print(sorted(name for name in {*sys.modules} - before if name.partition(".")[0] in heavy))
"""


def test_settings_name_the_packages_and_what_the_pages_need_is_all_that_the_checks_load(
    tmp_path: Path,
) -> None:
    """A process of its own, since settings are read once: seconds, most of them for the pages."""
    provided = dict.fromkeys(("TASK_TYPE_PACKAGES", "FORMAT_PACKAGES", "METRIC_PACKAGES"), HERE)
    root = str(FOLDER.parents[1])
    done = manage(tmp_path, "shell", "--no-imports", "-c", PROBE, fresh=True, PYTHONPATH=root, **provided)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "System check identified no issues (0 silenced).",
        "True True weighted precision@2",
        "[]",
    ]


def test_every_registry_is_whole() -> None:
    assert run_checks(tags=["registries"]) == []
