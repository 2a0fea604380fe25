"""Made-up findings, for tests of their presentation."""

from __future__ import annotations

from evaluation.report_data.directions import DirectionTable, MeasuredFigure, SystemFigures
from phrasebox.figure_basis import FigureBasis

BASIS = FigureBasis(cases="queries", counted=100, out_of=100)


def a_direction(
    systems: dict[str, tuple[float, float]], *, direction: str = "annotation", curves: bool = True
) -> DirectionTable:
    """Return findings of 100 queries, from system -> (R@10, R-precision)."""

    def figure(value: float) -> MeasuredFigure:
        return MeasuredFigure(
            value, value - 0.05, value + 0.05, None, 100, 10, 0.9, interval="bootstrap", images=100
        )

    system_figures = [
        SystemFigures(
            run=f"{name}-run",
            system=name,
            label=name,
            missing=0,
            candidates=500,
            figures={"R@10": figure(result), "R-precision": figure(precise)},
            curves={"R": [result * k / 10 for k in range(1, 11)], "S": [precise] * 10} if curves else {},
            ranks=[round(100 * result), 0, 0, 0, 0, 0, 0, 0, 100 - round(100 * result)]
            if curves
            else [0] * 9,
        )
        for name, (result, precise) in systems.items()
    ]
    return DirectionTable(direction, BASIS, [], "", ["R@10", "R-precision"], system_figures, [])
