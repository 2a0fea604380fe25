"""The documentation as a site: it builds, needs no other host, and obeys our Content-Security-Policy."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.product import REPOSITORY


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as by `make docs`: a broken link is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_pages_have_no_inline_code_and_ask_no_other_host(site: Path) -> None:
    problems = []
    for page in sorted(site.glob("*.html")):
        text = page.read_text(encoding="utf-8")
        inline = re.findall(
            r"<script(?![^>]*(?: src=| type=.?application/json))[^>]*>|<style\b| style=\"", text
        )
        foreign = re.findall(r'<(?:script|img|link|iframe)[^>]*(?:src|href)="?(?:https?:)?//[^>]*>', text)
        problems += [f"{page.name}: {address}" for address in (*inline, *foreign)]
    assert problems == []


def test_every_page_of_the_menu_is_there_and_can_be_searched(site: Path) -> None:
    pages = {page.stem for page in (REPOSITORY / "docs").glob("*.md")}
    assert pages <= {page.stem for page in site.glob("*.html")}
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert '"location":"trust.html#' in index


def test_templates_name_pages_that_exist() -> None:
    named = {
        name
        for folder in ("templates", "annotation", "evaluation")
        for file in (REPOSITORY / folder).rglob("*.html")
        for name in re.findall(r"block docs_page %}([\w.]+)", file.read_text(encoding="utf-8"))
    }
    assert len(named) > 10
    assert {name for name in named if not (REPOSITORY / "docs" / name).with_suffix(".md").is_file()} == set()
