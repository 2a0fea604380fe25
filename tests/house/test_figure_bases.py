"""Every table of figures states their basis."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path

from phrasebox.figure_tables import Table
from tests.house.product import REPOSITORY

#: Packages in which tables of figures are made.
PACKAGES = ("annotation", "studies", "evaluation", "models_core", "phrasebox")
HOME = Table.__module__


def calls_of(path: Path) -> Iterator[ast.Call]:
    """Yield the calls in a file that make a table of figures."""
    source = path.read_text(encoding="utf-8")
    if HOME not in source:  # it imports no table
        return
    tree = ast.parse(source)
    names = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == HOME
        for name in node.names
        if name.name == Table.__name__
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in names:
            yield node


def test_every_table_says_what_its_figures_are_of() -> None:
    calls = [
        (f"{path.relative_to(REPOSITORY)}:{call.lineno}", {field.arg: field.value for field in call.keywords})
        for package in PACKAGES
        for path in sorted((REPOSITORY / package).rglob("*.py"))
        for call in calls_of(path)
    ]
    without = [
        index
        for index, provided in calls
        if "basis" not in provided or ast.unparse(provided["basis"]) in ("None", "FigureBasis()")
    ]
    assert len(calls) > 25 and without == []
    (basis,) = (field for field in fields(Table) if field.name == "basis")
    assert basis.kw_only and basis.default is basis.default_factory is MISSING
