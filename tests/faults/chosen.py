"""A pytest plug-in: run only the tests that a file lists, in its order (`--chosen FILE`)."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--chosen", type=Path, metavar="FILE", help="A test's id on each line")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (file := config.getoption("--chosen")) is not None:
        index = {test: number for number, test in enumerate(file.read_text().splitlines())}
        items[:] = sorted((item for item in items if item.nodeid in index), key=lambda i: index[i.nodeid])
