"""Tests that run a line, the nearest first, from the records of `tests.run --reach FOLDER`.

The folder contains two files for each lane of the run: `LANE.coverage`, the lines that each test ran
(coverage.py's data file, with a context per test), and `LANE.json`, the seconds of each test. Processes
started by tests are not recorded: a line that only they run has no tests here, and tests are then selected by
name and words.
"""

from __future__ import annotations

import ast
import json
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from coverage.numbits import numbits_to_nums

from tests.faults.draw import Fault

#: Seconds of tests, as recorded, that are run in one lane.
WORTH = 150.0
#: Tests that read templates and code as text, which no recorded line leads to.
HOUSE = "tests/house/"


@dataclass(frozen=True)
class Reach:
    """The lines that the tests of one lane run, and their times."""

    lane: str
    data: Path
    seconds: dict[str, float]

    def lines_by_test(self, path: str) -> dict[str, set[int]]:
        """Return the lines of a file that each test ran."""
        with closing(sqlite3.connect(self.data)) as database:
            rows = database.execute(
                "SELECT context.context, line_bits.numbits FROM line_bits"
                " JOIN context ON context.id = line_bits.context_id"
                " JOIN file ON file.id = line_bits.file_id"
                " WHERE file.path = ? OR file.path LIKE ?",
                [path, f"%/{path}"],
            ).fetchall()
        return {test: set(numbits_to_nums(bits)) for test, bits in rows if test in self.seconds}

    def breadth(self) -> dict[str, int]:
        """Return the number of files of which each test runs something."""
        with closing(sqlite3.connect(self.data)) as database:
            return dict(
                database.execute(
                    "SELECT context.context, COUNT(*) FROM line_bits"
                    " JOIN context ON context.id = line_bits.context_id GROUP BY 1"
                ).fetchall()
            )


def read_reach(folder: Path) -> list[Reach]:
    """Return the lanes recorded in `folder`, those on SQLite first."""
    lanes = []
    for file in folder.glob("*.json"):
        data = file.with_suffix(".coverage")
        if data.exists():
            lanes.append(Reach(file.stem, data, json.loads(file.read_text())))
    return sorted(lanes, key=lambda reach: (reach.lane.startswith("PostgreSQL"), reach.lane))


def nearest(fault: Fault, reach: Reach, repository: Path, breadth: dict[str, int]) -> list[str]:
    """Return the tests of a lane that may find `fault`, nearest first, within `WORTH` seconds."""
    if fault.function:
        tests = _of_line(fault, reach, repository) or _by_words(fault, reach, repository)
    else:
        tests = _of_template(fault, reach, repository)
    stem = Path(fault.path).stem.removesuffix(".html").strip("_")
    ordered = sorted(
        tests,
        key=lambda test: (
            not test.startswith(HOUSE),
            stem not in test.split("::")[0],
            breadth.get(test, 0) // 8,
            reach.seconds[test],
            test,
        ),
    )
    chosen, spent = [], 0.0
    for test in ordered:
        if spent + reach.seconds[test] <= WORTH:
            spent += reach.seconds[test]
            chosen.append(test)
    return chosen


def _of_line(fault: Fault, reach: Reach, repository: Path) -> set[str]:
    """Return tests that run the statement, or if that is unknown, the function. A decorator that rejects a
    request prevents recording of the function: then all tests of files that reach it are used."""
    tree = ast.parse((repository / fault.path).read_bytes())
    ran = reach.lines_by_test(fault.path)
    for lines in (_statement(tree, fault.line), _function(tree, fault.line)):
        if tests := {test for test, ran_lines in ran.items() if ran_lines & lines}:
            if not _decorates(tree, fault.line):
                return tests
            files = {test.split("::")[0] for test in tests}
            return {test for test in reach.seconds if test.split("::")[0] in files}
    return set()


def _decorates(tree: ast.AST, line: int) -> bool:
    return any(
        decorator.lineno <= line <= (decorator.end_lineno or line)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
    )


def _statement(tree: ast.AST, line: int) -> set[int]:
    """Return the lines of the innermost statement around a line; for a compound one, those before its
    body."""
    lines = {line}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef):
            last = node.end_lineno or node.lineno
            if body := getattr(node, "body", None):
                last = max(node.lineno, body[0].lineno - 1)
            if node.lineno <= line <= last:
                lines = set(range(node.lineno, last + 1))
    return lines


def _function(tree: ast.AST, line: int) -> set[int]:
    """Return the lines of the body of the innermost function around a line."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first <= line <= (node.end_lineno or line):
                lines = set(range(node.body[0].lineno, (node.end_lineno or line) + 1))
    return lines


def _of_template(fault: Fault, reach: Reach, repository: Path) -> set[str]:
    """Return tests that run code with the template's name, or with that of a template that includes it."""
    texts = {
        path.relative_to(repository / "templates").as_posix(): path.read_text()
        for path in (repository / "templates").rglob("*.html")
    }
    texts |= {
        path.relative_to(repository / "annotation").as_posix(): path.read_text()
        for path in (repository / "annotation" / "task_types").rglob("*.html")
    }
    names = {fault.path.removeprefix("templates/").removeprefix("annotation/")}
    while more := {t for t, text in texts.items() if any(f'"{n}"' in text for n in names)} - names:
        names |= more
    tests = {test for test in reach.seconds if test.startswith(HOUSE)}
    for package in ("annotation", "evaluation"):
        for file in (repository / package).rglob("*.py"):
            text = file.read_text()
            places = [text.count("\n", 0, text.index(f'"{n}"')) + 1 for n in names if f'"{n}"' in text]
            if places:
                ran, tree = reach.lines_by_test(file.relative_to(repository).as_posix()), ast.parse(text)
                for line in places:
                    lines = _statement(tree, line)
                    tests |= {test for test, ran_lines in ran.items() if ran_lines & lines}
    return tests


def _by_words(fault: Fault, reach: Reach, repository: Path) -> set[str]:
    """Return tests in files that contain the function's name, or are named after its module."""
    words = {fault.function.split(".")[-1].strip("_"), Path(fault.path).stem}
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, words))})\b")
    speak: dict[str, bool] = {}
    for test in reach.seconds:
        file = test.split("::")[0]
        if file not in speak:
            path = repository / file
            speak[file] = path.is_file() and bool(pattern.search(path.read_text()))
    return {test for test in reach.seconds if speak[test.split("::")[0]]}
