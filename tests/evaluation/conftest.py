"""The real judgments, read once, and every cell computed once."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.reproduction.evidence import Evidence
from evaluation.reproduction.report import Report, reproduce


@pytest.fixture(scope="session")
def evidence(real_data: Path) -> Evidence:
    return Evidence.read(real_data / "flickr8k")


@pytest.fixture(scope="session")
def reproduced(evidence: Evidence) -> Report:
    return reproduce(evidence)
