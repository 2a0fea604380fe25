"""What the house says about itself is so."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.product import REPOSITORY


def test_operation_lists_every_variable_that_the_settings_read() -> None:
    settings = (REPOSITORY / "config/settings.py").read_text()
    read = set(re.findall(r'(?:environ\.get|_one_of|_number)\(\s*"([A-Z_]+)"', settings))
    table = set(re.findall(r"^\| `([A-Z_]+)` \|", (REPOSITORY / "docs/operation.md").read_text(), re.M))
    assert read == table and "DATABASE_URL" in read


def test_nothing_but_the_settings_reads_the_environment() -> None:
    rooms = ("annotation", "evaluation", "models_core", "config")
    files = {path for room in rooms for path in (REPOSITORY / room).rglob("*.py")}
    readers = {
        path.relative_to(REPOSITORY).as_posix()
        for path in files
        if re.search(r"os\.(environ\.get|environ\[|getenv)", path.read_text())
    }
    # DEMO_SERVE and DEMO_PORT are asked by the demonstration alone, and are no settings of the product.
    assert readers - {"config/management/commands/demo.py"} == {"config/settings.py"}


def test_make_alone_prints_every_target() -> None:
    text = (REPOSITORY / "Makefile").read_text()
    targets = re.search(r"^\.PHONY: (.+)$", text, re.M)
    assert targets
    said = subprocess.run(["make"], cwd=REPOSITORY, capture_output=True, text=True).stdout
    assert set(targets[1].split()) == set(re.findall(r"^  ([a-z-]+) ", said, re.M))


def copy_makefile(folder: Path) -> None:
    """The Makefile in `folder`, with nothing to install."""
    shutil.copy(REPOSITORY / "Makefile", folder)
    for name in ("requirements.txt", "constraints.txt"):
        (folder / name).touch()


@pytest.mark.parametrize("python", ["/nowhere/python", "/bin/false"])
def test_without_a_python_that_is_new_enough_make_says_which_were_tried(python: str, tmp_path: Path) -> None:
    copy_makefile(tmp_path)
    done = subprocess.run(["make", "demo", f"PYTHONS={python}"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"Python 3.11 or newer is needed; tried: {python}. Name one:" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_what_is_installed_is_not_installed_again(tmp_path: Path) -> None:
    copy_makefile(tmp_path)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@" >> calls\n')
    python.chmod(0o755)

    def calls() -> list[str]:
        subprocess.run(["make", "demo"], cwd=tmp_path, check=True, capture_output=True)
        return [line.split()[1] for line in (tmp_path / "calls").read_text().splitlines()]

    assert calls() == ["pip", "demo"]
    assert calls() == ["pip", "demo", "demo"]
    (tmp_path / "requirements.txt").touch()
    assert calls() == ["pip", "demo", "demo", "pip", "demo"]
