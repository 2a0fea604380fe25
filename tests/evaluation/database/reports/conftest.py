"""A good and a bad system in both directions, qrels, and reports of them without figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotation.common.operations import OperationContext
from evaluation.services.reports import building
from evaluation.services.reports.request import ReportRequest
from evaluation.services.runs.files import RunImport, import_run
from tests.evaluation.database.conftest import matrix_file

IMAGES = [f"{key}.jpg" for key in "abc"]
CAPTIONS = [f"{image}#2" for image in IMAGES]
ODD = "the_bad & <worst> 50%"
QUICK = {"rounds": 200, "resamples": 50}
ImportRuns = Callable[..., list[str]]


@pytest.fixture
def add_runs(corpus: str, tmp_path: Path) -> ImportRuns:
    """Import a system's scores as two runs, one per direction."""

    def brought(name: str, scores: Any, system: str = "") -> list[str]:
        file = matrix_file(tmp_path, name, scores, IMAGES, CAPTIONS)
        names = {"annotation": f"{name}-a", "search": f"{name}-s"}
        for direction, run in names.items():
            import_run(
                RunImport(
                    name=run,
                    corpus=corpus,
                    file=file,
                    format="scores",
                    direction=direction,
                    system=system or name,
                ),
                *(),
                OperationContext(),
            )
        return list(names.values())

    return brought


@pytest.fixture
def runs(add_runs: ImportRuns) -> list[str]:
    """`good` ranks originals first, the other system last."""
    return [*add_runs("good", np.eye(3)), *add_runs("bad", -np.eye(3) + np.arange(3) / 10, ODD)]


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not draw figures, which take most of the time; tests of figures draw them."""
    monkeypatch.setattr(building, "as_svg", lambda plot: f"<svg>{plot.key}</svg>")
    monkeypatch.setattr(building, "as_pdf", lambda plot: plot.key.encode())


@pytest.fixture
def drawn_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw only the figure of judgments; tests.evaluation.figures draws each kind."""
    svg, pdf = building.as_svg, building.as_pdf
    monkeypatch.setattr(
        building, "as_svg", lambda plot: svg(plot) if plot.kind == "judgments" else f"<svg>{plot.key}</svg>"
    )
    monkeypatch.setattr(
        building, "as_pdf", lambda plot: pdf(plot) if plot.kind == "judgments" else plot.key.encode()
    )


@pytest.fixture
def drawn() -> None:
    """Draw every figure."""


def request_of(runs: list[str], **also: Any) -> ReportRequest:
    return ReportRequest(**{"name": "r", "qrels": "q", "runs": runs, **QUICK, **also})


def built(report_request: ReportRequest) -> dict[str, Any]:
    building.build_report(report_request, OperationContext())
    return report_json()


def report_json(name: str = "r") -> dict[str, Any]:
    def never(constant: str) -> None:
        raise AssertionError(f"{constant} is not valid JSON")

    return json.loads((building.report_folder(name) / "report.json").read_text(), parse_constant=never)
