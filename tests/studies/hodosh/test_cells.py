"""When a cell agrees with the published value."""

from __future__ import annotations

import pytest

from studies.hodosh.cells import COUNT, KAPPA, PERCENT, PrintedCell, tally


def cell(printed: float, ours: float | None, unit: str) -> PrintedCell:
    return PrintedCell(
        "Table 1", "row", "column", printed, ours, unit, "family", why="" if ours else "not published"
    )


@pytest.mark.parametrize(
    ("printed", "ours", "unit", "within"),
    [
        (0.70, 0.72, KAPPA, True),
        (0.70, 0.6799, KAPPA, False),
        (50.0, 48.0, PERCENT, True),
        (50.0, 52.1, PERCENT, False),
        (100, 105, COUNT, True),
        (100, 106, COUNT, False),
        (1000, 980, COUNT, True),
        (1000, 979, COUNT, False),
    ],
)
def test_tolerances(printed: float, ours: float, unit: str, within: bool) -> None:
    assert cell(printed, ours, unit).within is within


def test_what_cannot_be_had_is_not_counted() -> None:
    result = tally([cell(0.5, 0.5, KAPPA), cell(0.5, 0.6, KAPPA), cell(0.5, None, KAPPA)])
    assert (result.cells, result.within, result.share) == (2, 1, 0.5)
    assert result.worst == pytest.approx(5)
    assert result.mean == pytest.approx(2.5)


def test_nothing_counted_is_no_share() -> None:
    assert tally([]).share == 0
