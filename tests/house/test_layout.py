"""The layout: only their own folders name kinds of questions, and packages have a maximum size."""

from __future__ import annotations

import ast
import functools
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotation.protocol import kinds

REPOSITORY = Path(__file__).resolve().parents[2]
APPS = ("annotation", "evaluation")
#: Files that may name a kind of question, and why.
NAMES_KINDS = {
    "annotation/protocol/questions.py": "the six of the chain and their keys: the paper's workflow",
    "annotation/protocol/image.py": "wires the chain",
    "annotation/protocol/gold.py": "what gold answers to the six of the chain",
    "annotation/protocol/state.py": "the chain's settings, by question",
    "annotation/models/queue.py": "the condition of an index, as a migration has it",
    "annotation/datasets/bundles/check.py": "stands alone: it can ask nobody",
}
#: Words that are names of kinds, and also have another meaning in these files.
ELSEWHERE = {("relevance", "evaluation/"): "a column of qrels, and the tasks of a campaign"}
PRODUCT = ("annotation", "config", "evaluation", "models_core", "phrasebox")
MODULES, LINES = 20, 3_500
#: Packages that may be larger, and why.
LARGER = {
    "annotation/protocol": "the papers' rules are one package (docs/architecture.md)",
    "annotation/management/commands": "Django finds commands in one folder",
}


@functools.cache
def _tree(file: Path) -> ast.Module:
    """Return the file's syntax tree, parsed once."""
    return ast.parse(file.read_text(encoding="utf-8"))


@functools.cache
def _nodes(tree: ast.Module) -> list[ast.AST]:
    """Return all nodes of a syntax tree, visited once."""
    return list(ast.walk(tree))


def _sources() -> Iterator[tuple[str, ast.Module]]:
    for app in APPS:
        for file in sorted((REPOSITORY / app).rglob("*.py")):
            name = file.relative_to(REPOSITORY).as_posix()
            if "/migrations/" not in name:
                yield name, _tree(file)


def _named(tree: ast.Module, words: set[str]) -> Iterator[tuple[int, str]]:
    """Yield (line, word) of each named kind: as a text, or by its constant."""
    nodes = _nodes(tree)
    imported = {
        id(node) for item in nodes if isinstance(item, ast.Import | ast.ImportFrom) for node in item.names
    }
    for node in nodes:
        if id(node) in imported:
            continue
        word = ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            word = node.value
        elif isinstance(node, ast.Name):
            word = node.id.lower() if node.id.isupper() else ""
        elif isinstance(node, ast.Attribute):
            word = node.attr.lower() if node.attr.isupper() else ""
        if word in words:
            yield getattr(node, "lineno", 0), word


def test_a_kind_of_question_is_named_in_its_folder_alone() -> None:
    words = set(kinds.names())
    result = []
    for name, tree in _sources():
        if name in NAMES_KINDS or name.startswith("annotation/task_types/"):
            continue
        for line, word in _named(tree, words):
            if not any(word == known and name.startswith(where) for known, where in ELSEWHERE):
                result.append(f"{name}:{line}: {word}")
    assert not result, "ask annotation.protocol.kinds for what sets the kind apart:\n" + "\n".join(result)


def test_a_folder_of_a_kind_names_no_kind_but_its_own_and_those_of_the_chain() -> None:
    chain = {kind.key for kind in kinds.all_kinds() if not kind.counted}
    folders = {kind.key for kind in kinds.all_kinds()}
    result = []
    for name, tree in _sources():
        parts = name.split("/")
        if parts[:2] != ["annotation", "task_types"]:
            continue
        value = {parts[2]} if parts[2] in folders else set()
        others = set(kinds.names()) - value - (chain if value & chain else set())
        result += [f"{name}:{line}: {word}" for line, word in _named(tree, others)]
    assert not result, "\n".join(result)


@pytest.mark.parametrize("app", APPS)
def test_no_package_holds_more_than_one_can_survey(app: str) -> None:
    modules, lines = defaultdict[str, int](int), defaultdict[str, int](int)
    for file in (REPOSITORY / app).rglob("*.py"):
        package = file.parent.relative_to(REPOSITORY).as_posix()
        if "/migrations" in package:
            continue
        modules[package] += file.name != "__init__.py"
        lines[package] += len(file.read_text(encoding="utf-8").splitlines())
    over = [
        f"{package}: {modules[package]} modules, {lines[package]} lines"
        for package in sorted(modules)
        if package not in LARGER and (modules[package] > MODULES or lines[package] > LINES)
    ]
    assert not over, f"more than {MODULES} modules or {LINES} lines; divide them:\n" + "\n".join(over)
    assert all((REPOSITORY / package).is_dir() for package in LARGER), "an exception for what is gone"


#: A function with more parameters takes a record, which has one name and one description.
MOST_PARAMETERS = 8


@pytest.mark.parametrize("package", [*PRODUCT, "scenes"])
def test_no_function_takes_more_than_eight_parameters(package: str) -> None:
    over = []
    for file in sorted((REPOSITORY / package).rglob("*.py")):
        if "migrations" in file.parts:
            continue
        for node in _nodes(_tree(file)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                provided = node.args
                names = [item.arg for item in (*provided.posonlyargs, *provided.args, *provided.kwonlyargs)]
                names += [item.arg for item in (provided.vararg, provided.kwarg) if item is not None]
                number = len(names) - (names[:1] in (["self"], ["cls"]))
                if number > MOST_PARAMETERS:
                    over.append(f"{file.relative_to(REPOSITORY)}:{node.lineno}: {node.name} takes {number}")
    assert not over, "let it take a record:\n" + "\n".join(over)


#: Public names that more than one module defines, and why.
SHARED_NAMES = {
    "Box": "the row of the protocol's record",
    "Chain": "the row of the protocol's record",
    "Mention": "the row of the protocol's record",
    "Judgment": "the row of the protocol's record",
    "Ruling": "the row of the protocol's record",
    "RULES": "what each kind's folder hands to the registry",
    "KIND": "what each figure's file hands to the registry",
    "plot": "what each figure's file hands to the registry",
    "register": "Django looks for template tags under this name",
    "urlpatterns": "Django looks for addresses under this name",
}


def _public(tree: ast.Module) -> Iterator[str]:
    """Yield the public names that a module defines, without imports."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (
                name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)
            )


@pytest.mark.parametrize(("packages", "exceptions"), [(PRODUCT, SHARED_NAMES), (("scenes",), {})])
def test_a_public_name_is_defined_in_one_module(
    packages: tuple[str, ...], exceptions: dict[str, str]
) -> None:
    homes = defaultdict[str, set[str]](set)
    for package in packages:
        for file in (REPOSITORY / package).rglob("*.py"):
            where = file.relative_to(REPOSITORY).as_posix()
            if "/migrations/" in where or "/management/commands/" in where:
                continue
            for name in _public(_tree(file)):
                if not name.startswith("_"):
                    homes[name].add(where)
    shared = {name: sorted(result) for name, result in homes.items() if len(result) > 1}
    values = {name: result for name, result in shared.items() if name not in exceptions}
    assert not values, "give each its own name:\n" + "\n".join(
        f"{name}: {', '.join(values[name])}" for name in values
    )
    assert set(exceptions) == set(shared), "an exception that is none"
