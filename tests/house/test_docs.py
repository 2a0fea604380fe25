"""Links of the docs: every page is in the index and links back to it, and no link is broken."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.product import REPOSITORY

INDEX = REPOSITORY / "docs" / "index.md"
OTHERS = [page for page in sorted(INDEX.parent.glob("*.md")) if page != INDEX]
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", INDEX, *OTHERS]
#: Maximum number of lines of the README, so that it is read to its end.
LONGEST_README = 120

_FENCE = re.compile(r"^ *(```+|~~~+).*?^ *\1 *$", re.M | re.S)
_CODE = re.compile(r"(`+).+?\1")
_LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*\]\(([^()\s]+)\)|!\[[^\]]*\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.M)
_TOP = "annotation|evaluation|models_core|config|phrasebox|scenes|studies|tests|templates|static"
#: A file, a folder or a module of the product; a part in capitals is a placeholder.
_CODE_PATH = re.compile(rf"`((?:{_TOP})(?:[./][\w-]+)+)/?`")
#: A placeholder, and a file of data.
_VARIABLE = re.compile(r"\b[A-Z]{2,}\b|\.sqlite3$")
_NAME_IN_CODE = re.compile(rf"`([\w.]+)` in `((?:{_TOP})(?:[./][\w-]+)+)`")


def links(text: str) -> Iterator[str]:
    """Yield the targets of a page's links and pictures, outside examples of code."""
    for match in _LINK.finditer(_CODE.sub("code", _FENCE.sub("", text))):
        yield match[1] or match[2]


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub makes of a page's headings."""
    names: list[str] = []
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        plain_value = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        stored = "".join(
            sign for sign in plain_value if sign in " -_" or unicodedata.category(sign)[0] in "LN"
        ).replace(" ", "-")
        names.append(stored if stored not in names else f"{stored}-{names.count(stored)}")
    return set(names)


def broken(page: Path) -> list[str]:
    """Return a page's relative links without a file, or without a heading in it."""
    invalid = []
    for link in links(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            invalid.append(link)
    return invalid


def exists(path: str) -> bool:
    """Return whether a path, a module, or a name in a module (`package.module.name`) is in the product."""
    if "/" in path or "." not in path:
        return (REPOSITORY / path).exists()
    *folders, name = path.split(".")
    within = REPOSITORY.joinpath(*folders)
    if (within / name).is_dir() or (within / f"{name}.py").is_file():
        return True
    file = within / "__init__.py" if within.is_dir() else within.with_suffix(".py")
    return file.is_file() and re.search(rf"\b{name}\b", file.read_text("utf-8")) is not None


def missing_code(text: str) -> list[str]:
    """Return the paths, modules and names of code in a text that do not exist."""
    missing = [path for path in _CODE_PATH.findall(text) if not (_VARIABLE.search(path) or exists(path))]
    for name, path in _NAME_IN_CODE.findall(text):
        module = path.removesuffix(".py").replace("/", ".")
        if name.isidentifier() and exists(path) and not exists(f"{module}.{name}"):
            missing.append(f"{name} in {path}")
    return missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_that_a_page_names_exists(page: Path) -> None:
    assert missing_code(page.read_text(encoding="utf-8")) == []


def test_missing_code_is_named() -> None:
    text = "`annotation/protocol`, `annotation/formats/NAME.py`, `after_all` in `annotation.protocol.trust`"
    assert missing_code(text + ", `annotation/queue/gone.py`") == [
        "annotation/queue/gone.py",
        "after_all in annotation.protocol.trust",
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert broken(page) == []


def test_every_page_is_in_the_index_once_and_leads_back_to_it() -> None:
    entries = re.findall(r"^- \[[^\]]+\]\(([^()#/]+)\)", INDEX.read_text(encoding="utf-8"), re.M)
    assert sorted(entries) == [page.name for page in OTHERS]
    unlinked = [page.name for page in OTHERS if INDEX.name not in links(page.read_text(encoding="utf-8"))]
    assert unlinked == []
    assert "docs/index.md" in links((REPOSITORY / "README.md").read_text(encoding="utf-8"))


def test_the_readme_can_be_read_to_its_end_and_lists_its_parts() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < LONGEST_README
    headings = re.findall(r"^## (.+)$", text, re.M)
    contents = text[: text.index("\n## ")]
    assert [name for name in headings if not anchors(f"# {name}") <= {*_anchors_linked(contents)}] == []


def _anchors_linked(text: str) -> Iterator[str]:
    """Yield the headings of the same page that a text links."""
    return (link.removeprefix("#") for link in links(text) if link.startswith("#"))


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# One\n\n## A `name`: of two\n\n## One\n\n```\n# no heading\n```\n")
    page = tmp_path / "page.md"
    page.write_text(
        "# Here\n[a](there.md#a-name-of-two) [b](there.md#one-1) [c](#here) [d](https://example.org/x)\n"
        "`[code](nowhere.md)`\n```\n[code](nowhere.md)\n```\n"
    )
    assert broken(page) == []
    page.write_text("[a](gone.md) ![b](gone.png) [c](there.md#two) [d](#here) [e](there.md#no-heading)\n")
    assert broken(page) == ["gone.md", "gone.png", "there.md#two", "#here", "there.md#no-heading"]
