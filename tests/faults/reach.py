"""A pytest plug-in: record which lines each test runs (`--reach FILE`), for `nearest`.

It writes FILE.coverage, coverage.py's data with a context per test, and FILE.json, each test's seconds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

PACKAGES = ("annotation", "evaluation", "models_core", "config", "scenes")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reach", type=Path, metavar="FILE", help="Record there what each test runs")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Begin before the first import of recorded modules."""
    if (file := early_config.known_args_namespace.reach) is not None:
        early_config.pluginmanager.register(Recorder(file), "reach-recorder")


class Recorder:
    """Records from now until the session ends."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seconds: dict[str, float] = {}
        # Python 3.12's faster measurement cannot distinguish tests.
        self._coverage = coverage.Coverage(
            data_file=str(file.with_name(f"{file.name}.coverage")), config_file=False, source=PACKAGES
        )
        self._coverage.set_option("run:core", "ctrace")
        self._coverage.set_option("run:relative_files", True)
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._coverage.switch_context(item.nodeid)
        began = time.monotonic()
        try:
            return (yield)
        finally:
            self._seconds[item.nodeid] = round(time.monotonic() - began, 3)
            self._coverage.switch_context("")

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        self._file.with_name(f"{self._file.name}.json").write_text(json.dumps(self._seconds, indent=0))
