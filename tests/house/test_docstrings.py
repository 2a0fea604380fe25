"""All public modules, classes, functions and methods have a docstring."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

#: Packages whose public names all have a docstring.
HELD = ("annotation", "config", "evaluation", "models_core", "phrasebox", "scenes")
Public = ast.FunctionDef | ast.ClassDef


def public(path: Path) -> Iterator[tuple[str, Public]]:
    """Yield the public functions, classes and methods that a file defines, by name; a class's names are
    dotted."""
    inner: list[tuple[str, ast.Module | Public]] = [("", ast.parse(path.read_text()))]
    while inner:
        of, tree = inner.pop()
        if isinstance(tree, ast.FunctionDef):
            continue  # names inside functions are not public
        for node in tree.body:
            # A class Meta or Command is defined by Django, and needs no docstring.
            reported = isinstance(node, ast.ClassDef) and node.name in ("Meta", "Command")
            if isinstance(node, Public) and not node.name.startswith("_"):
                name = f"{of}.{node.name}" if of else node.name
                inner.append((name, node))
                if not reported:
                    yield name, node


def undocumented(package: str) -> list[str]:
    """Return public names of a package without a docstring, of their own or of the overridden method."""
    result = []
    for path in sorted((REPOSITORY / package).rglob("*.py")):
        where = path.relative_to(REPOSITORY)
        if "migrations" in where.parts:
            continue
        module = ".".join(where.with_suffix("").parts).removesuffix(".__init__")
        for name, node in public(path):
            if not ast.get_docstring(node) and not ("." in name and inherited(module, name)):
                result.append(f"{module}.{name}")
    return result


def inherited(module: str, name: str) -> str | None:
    """Return the docstring that a method inherits from the class whose method it overrides."""
    owner, _, method = name.rpartition(".")
    kind = importlib.import_module(module)
    for part in owner.split("."):
        kind = getattr(kind, part)
    above = (vars(base).get(method) for base in inspect.getmro(kind)[1:])  # type: ignore[arg-type]
    return next((item.__doc__ for item in above if item is not None and item.__doc__), None)


@pytest.mark.parametrize("package", HELD)
def test_every_public_name_says_what_it_is(package: str):
    assert undocumented(package) == []


def test_a_name_without_a_docstring_is_found(tmp_path: Path):
    file = tmp_path / "x.py"
    file.write_text(
        "def told():\n    '''Yes.'''\n"
        "def bare(): ...\n"
        "class C:\n    def m(self): ...\n    def _p(self): ...\n"
    )
    assert {name for name, node in public(file) if not ast.get_docstring(node)} == {"bare", "C", "C.m"}
