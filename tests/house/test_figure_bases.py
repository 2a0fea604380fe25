"""No table of figures is without what its figures are of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path

from evaluation.formats.figure_tables import Table
from tests.house.product import REPOSITORY

#: Where tables of figures are made.
PACKAGES = ("annotation", "studies", "evaluation", "models_core", "phrasebox")
HOME = Table.__module__


def made(path: Path) -> Iterator[ast.Call]:
    """The calls in a file that make a table of figures."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {
        one.asname or one.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == HOME
        for one in node.names
        if one.name == Table.__name__
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in names:
            yield node


def test_every_table_says_what_its_figures_are_of() -> None:
    calls = [
        (f"{path.relative_to(REPOSITORY)}:{call.lineno}", {one.arg: one.value for one in call.keywords})
        for package in PACKAGES
        for path in sorted((REPOSITORY / package).rglob("*.py"))
        for call in made(path)
    ]
    without = [
        place
        for place, given in calls
        if "basis" not in given or ast.unparse(given["basis"]) in ("None", "FigureBasis()")
    ]
    assert len(calls) > 25 and without == []
    (basis,) = (one for one in fields(Table) if one.name == "basis")
    assert basis.kw_only and basis.default is basis.default_factory is MISSING
