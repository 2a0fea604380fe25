"""The project's statements about itself are true."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from pathlib import Path

import polib  # type: ignore[import-untyped]
import pytest

from tests.house.product import REPOSITORY


def test_operation_lists_every_variable_that_the_settings_read() -> None:
    settings = (REPOSITORY / "config/settings.py").read_text()
    read = set(re.findall(r'(?:environ\.get|_one_of|_number|_packages)\(\s*"([A-Z_]+)"', settings))
    table = set(re.findall(r"^\| `([A-Z_]+)` \|", (REPOSITORY / "docs/operation.md").read_text(), re.M))
    assert read == table and "DATABASE_URL" in read


def test_nothing_but_the_settings_reads_the_environment() -> None:
    rooms = ("annotation", "evaluation", "models_core", "config", "scenes")
    files = {path for room in rooms for path in (REPOSITORY / room).rglob("*.py")}
    readers = {
        path.relative_to(REPOSITORY).as_posix()
        for path in files
        if re.search(r"os\.(environ\.get|environ\[|getenv)", path.read_text())
    }
    # DEMO_SERVE and DEMO_PORT are read by the demonstration only, and are not settings of the product;
    # torchrun tells each of its processes its rank by variables.
    others = {"config/management/commands/demo.py", "models_core/processes.py"}
    assert readers - others == {"config/settings.py"}


def test_make_alone_prints_every_target() -> None:
    text = (REPOSITORY / "Makefile").read_text()
    targets = re.search(r"^\.PHONY: (.+)$", text, re.M)
    assert targets
    stdout = subprocess.run(["make"], cwd=REPOSITORY, capture_output=True, text=True).stdout
    assert set(targets[1].split()) == set(re.findall(r"^  ([a-z-]+) ", stdout, re.M))


def copy_makefile(folder: Path) -> None:
    """Copy the Makefile to `folder`, with nothing to install."""
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

    first = ["pip", "pip", "demo"]  # torch by itself, then everything else
    assert calls() == first
    assert calls() == [*first, "demo"]
    (tmp_path / "requirements.txt").touch()
    assert calls() == [*first, "demo", "pip", "demo"]


#: Words that the pages and commands of annotation once used, and their replacements.
DIALECT = {
    r"known (item|answer)": "control item, gold answer",
    r"taken? off|let(s)? back\b": "suspended, reinstated",
    r"seen to\b|sees? to\b": "handled",
    r"\bgo(es)? on\b": "continue, resume, retry",
    r"\bin hand\b|in your hands|hand(s|ed)? out": "assigned, in progress",
    r"stands? (already|here|there|twice|before)|stood there": "already exists, appears",
    r"\banew\b": "again",
    r"who comes|has come\b|nobody (came|has come)": "joined, participant",
    r"lets? nobody in|let in\b": "is no longer valid",
    r"taken? back": "revoked, withdrawn, undone",
    r"for good\b|mean it\b": "permanently; tick the box to confirm",
    r"on probation": "warm-up",
    r"known to be": "has the gold answer",
    r"(image|images) behind": "out of date for",
    r"brought up to|bring it up": "update",
    r"\bbeware\b": "warning",
    r"erase (me|yourself)|yourself erased|stored of you": "delete my account, your data",
    r"wrote it down": "created the draft",
    r"mean the same\b": "refer to the same thing",
    r"makes no sense to": "does not understand",
    r"to be meant\b": "is too small",
    r"whom to trust": "trust in workers",
    r"folded anew": "computed again",
    r"hangs? on\b": "depends on, belongs to",
}


def say_plainly(path: Path) -> list[str]:
    """Return the strings of a module for users: all except docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hidden = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in hidden
    ]


def test_neither_pages_nor_commands_speak_the_old_dialect() -> None:
    catalog = polib.pofile(str(REPOSITORY / "locale/de/LC_MESSAGES/django.po"))
    spoken = [
        text
        for entry in catalog
        for text in (entry.msgid, entry.msgid_plural)
        if any("evaluation/" not in index for index, _ in entry.occurrences)
    ]
    for path in sorted((REPOSITORY / "annotation/management/commands").glob("*.py")):
        spoken += say_plainly(path)
    result = {
        text: better
        for text in spoken
        for dialect, better in DIALECT.items()
        if re.search(dialect, text, re.IGNORECASE)
    }
    assert len(spoken) > 1500 and result == {}


def test_the_dialect_would_be_found() -> None:
    for text in ("Take off", "It stands there already", "Known items right", "Who comes", "Go on here"):
        assert any(re.search(dialect, text, re.IGNORECASE) for dialect in DIALECT), text
