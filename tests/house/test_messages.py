"""Messages of shared code fit every interface: no text names an option, a command, a page, a label, an
address or a field. Each interface adds its own names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest
from django.core.management import get_commands

from annotation.common.operations import all_operations, request_fields
from tests.house.product import REPOSITORY

SURFACES = re.compile(r"\w+/(api|web|management|migrations)/")
#: Pages with the questions themselves, on which workers tick boxes.
TASK_PAGES = "annotation/task_types/"
#: Two words or more; a single word is a name or a key.
TEXT = re.compile(r"\w\S*\s+\S*\w")
#: In templates: elements whose text is a label, and the texts in it.
LABELS = re.compile(r"<(h[1-3]|a|button|label|legend|summary|th)\b.*?>(.*?)</\1>", re.DOTALL)
TRANSLATED = re.compile(r"""\{% translate (?:"([^"]+)"|'([^']+)')""")


def texts_of(code: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module for users, with their lines and {} for values: all except docstrings."""
    nodes = list(ast.walk(ast.parse(code)))
    passed = {node.value for node in nodes if isinstance(node, ast.Expr)}
    passed |= {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in passed:
            text = node.value
        else:
            continue
        if TEXT.search(text):
            yield node.lineno, text


def labels() -> set[str]:
    """Return the texts of headings, buttons and fields of pages."""
    result = {str(item.title) for item in all_operations()}
    for operation in all_operations():
        result |= {str(field.label) for field in request_fields(operation.request).values()}
    for room in ("annotation", "evaluation", "templates"):
        for page in (REPOSITORY / room).rglob("*.html"):
            for _tag, inside in LABELS.findall(page.read_text(encoding="utf-8")):
                result |= {item or another for item, another in TRANSLATED.findall(inside)}
    return result


@cache
def forbidden() -> dict[str, re.Pattern[str]]:
    """Return what no text may contain: its sort -> how it is recognized."""
    ours = [
        name
        for name, app in get_commands().items()
        if str(app).partition(".")[0] in ("annotation", "evaluation", "config") and "_" in name
    ]
    fields = {
        name for operation in all_operations() for name in request_fields(operation.request) if "_" in name
    }
    called = sorted(map(re.escape, labels()), key=len, reverse=True)
    several = [name for name in called if " " in name]
    words = {
        "an option": r"(?<![\w-])--[a-z]",
        "a command": rf"manage\.py|\b(a|this|by) command\b|\b({'|'.join(ours)})\b",
        "a field": rf"(?<![\w.%(])({'|'.join(fields)})\b",
        "a label": rf"“({'|'.join(called)})”|\(({'|'.join(several)})\)",
        "a page": r"(?i)\b(on|in|see) (the|this|that|its|their|your) (page|form)s?\b|[’']s page\b"
        r"|\b(load|opened) (the|this|its) page|\b(shown|appear) below\b|\b(tick|press|click)ed\b"
        r"|\b(tick|press|click|untick) (the|that|this|on|a|“)",
        "an address": r"(?<!\w)/(api|v1|evaluation|operations|staff)/",
    }
    return {sort: re.compile(pattern) for sort, pattern in words.items()}


def named_in(text: str) -> list[str]:
    """Return the forbidden names in a text."""
    return [sort for sort, pattern in forbidden().items() if pattern.search(text)]


def below_the_surfaces() -> Iterator[tuple[str, str]]:
    """Yield every text of shared code, with its position."""
    for room in ("annotation", "evaluation", "models_core", "phrasebox"):
        for path in sorted((REPOSITORY / room).rglob("*.py")):
            index = path.relative_to(REPOSITORY).as_posix()
            if not SURFACES.match(index) and not index.startswith(TASK_PAGES):
                for line, text in texts_of(path.read_text(encoding="utf-8")):
                    yield f"{index}:{line}", text
    for operation in all_operations():
        yield operation.name, " ".join((operation.request.__doc__ or "").split())


def test_no_text_below_the_surfaces_names_an_option_a_command_a_page_or_a_field() -> None:
    texts = list(below_the_surfaces())
    invalid = {index: (text, named) for index, text in texts if (named := named_in(text))}
    assert len(texts) > 5000 and invalid == {}


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("give another name, or --replace", "an option"),
        ("the corpus has no tags: rank_tags makes some", "a command"),
        ("start it by manage.py serve", "a command"),
        ("expected trained_on as a list", "a field"),
        ("see “Control items” for the others", "a label"),
        ("mark them by hand (Open a batch)", "a label"),
        ("it is removed on its page", "a page"),
        ("tick that this is meant", "a page"),
        ("the progress is shown below", "a page"),
        ("ask for it at /api/v1/runs", "an address"),
    ],
)
def test_each_sort_would_be_recognized(text: str, sort: str) -> None:
    assert sort in named_in(text)
    assert [result for _, result in texts_of(f"def f():\n    'a docstring here'\n    raise E({text!r})")] == [
        text
    ]


def test_values_do_not_hide_what_is_around_them() -> None:
    code = "raise E(f'{name}: give --'\n    f'regions {name!r}')"
    assert [text for _, text in texts_of(code)] == ["{}: give --regions {}"]
