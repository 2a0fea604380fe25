"""Every example in the docs runs, and prints the output shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.phrasebox.examples import NOT_RUN, blocks, run_module, run_page

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [
    page
    for page in (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md")))
    if any(True for _ in blocks(page.read_text(encoding="utf-8")))
]
#: Pages with blocks that need something that only a reader has, and the number of these blocks.
NOT_RUN_ON: dict[str, int] = {}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the examples' files."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page: Path) -> None:
    assert run_page(page) or page.name in NOT_RUN_ON


@pytest.mark.parametrize("module", ["metrics", "agreement", "significance", "formats", "kernels"])
def test_the_examples_of_a_module_run(module: str) -> None:
    assert run_module(f"phrasebox.{module}")


@pytest.mark.parametrize("package", ["metrics", "agreement", "significance"])
def test_the_examples_of_what_is_computed_run(package: str) -> None:
    """Those in the docstrings of measures, coefficients and tests; most of their modules have some."""
    folder = REPOSITORY / "phrasebox" / package
    run = {
        file.stem: run_module(f"phrasebox.{package}.{file.stem}")
        for file in folder.glob("*.py")
        if file.stem != "__init__"
    }
    assert 2 * sum(map(bool, run.values())) > len(run), run


def test_no_page_has_examples_that_are_not_run_but_those_we_know_of() -> None:
    totals = {
        page.name: sum(bool(block.reason) for block in blocks(page.read_text(encoding="utf-8")))
        for page in PAGES
    }
    assert {name: number for name, number in totals.items() if number} == NOT_RUN_ON


def page_of(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


def test_an_example_that_prints_something_else_fails(folder: Path) -> None:
    with pytest.raises(AssertionError, match=r"page\.md.*line 5"):
        run_page(page_of(folder, "Two.\n\n```python\n>>> one = 1\n>>> one + 1\n3\n```\n"))


def test_an_example_that_raises_fails_at_its_line(folder: Path) -> None:
    with pytest.raises(NameError) as raised:
        run_page(page_of(folder, "```python\nfine = 1\n```\n\n```python\nfine + 1\nmissing\n```\n"))
    assert raised.traceback[-1].lineno == 6  # counted from 0


def test_a_plain_block_is_an_example_where_it_shows_what_it_prints(folder: Path) -> None:
    text = "```\n$ ls\n```\n\n```sh\npython\n```\n\n    ```\n    >>> 1\n    1\n    ```\n"
    assert [(block.line, block.code) for block in blocks(text)] == [(10, ">>> 1\n1\n")]


def test_the_blocks_of_a_page_share_their_names(folder: Path) -> None:
    parts = ("one = 1", ">>> one + 1\n2\n>>> two = 2", "assert two == 2")
    assert run_page(page_of(folder, "".join(f"```python\n{part}\n```\n" for part in parts))) == 3


def test_a_block_that_is_not_run_says_why(folder: Path) -> None:
    page = page_of(folder, f"{NOT_RUN} it needs a server.*\n\n```python\nmissing\n```\n")
    assert [block.reason for block in blocks(page.read_text())] == ["it needs a server."]
    assert run_page(page) == 0
    with pytest.raises(ValueError, match="line 2: say why"):
        run_page(page_of(folder, f"{NOT_RUN}*\n```python\nmissing\n```\n"))


def test_a_block_that_never_ends_is_named(folder: Path) -> None:
    with pytest.raises(ValueError, match="line 1: this block never ends"):
        run_page(page_of(folder, "```python\n1\n"))
