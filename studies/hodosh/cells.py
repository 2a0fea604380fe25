"""A printed figure next to ours, and whether the two agree.

Tolerances: 0.02 for coefficients and scores (unit `kappa`: kappa, alpha, rho, tau, mean BLEU), two points for
percentages, 2 % of the printed value or 5 items, whichever is more, for counts.
"""

from collections.abc import Iterable
from dataclasses import dataclass

KAPPA = "kappa"
PERCENT = "%"
COUNT = "count"

#: A difference of exactly the tolerance is within it, whatever its last binary digit.
_ROUNDING = 1e-9


def tolerance(printed: float, unit: str) -> float:
    """How far from `printed` a figure may lie."""
    if unit == KAPPA:
        return 0.02
    if unit == PERCENT:
        return 2.0
    return max(5.0, 0.02 * abs(printed))


@dataclass(frozen=True, slots=True)
class PrintedCell:
    """One printed figure. `ours` is None if it cannot be computed; `why` is the reason.

    `family` groups the cells that one convention changes together; `note` is a remark on a cell with a
    figure. `again` names the cell that counts for this printed figure, if it is printed a second time or has
    several figures of ours: this one is displayed but not counted.
    """

    table: str
    row: str
    column: str
    printed: float
    ours: float | None
    unit: str
    family: str
    why: str = ""
    note: str = ""
    again: str = ""

    @property
    def strain(self) -> float | None:
        """The difference in units of the tolerance: at most 1 is within it."""
        if self.ours is None:
            return None
        return abs(self.ours - self.printed) / tolerance(self.printed, self.unit)

    @property
    def within(self) -> bool | None:
        """Whether ours is within the tolerance of the printed figure; None if it cannot be computed."""
        strain = self.strain
        return None if strain is None else strain <= 1 + _ROUNDING


@dataclass(frozen=True, slots=True)
class CellTally:
    """Cells that have a figure, those within tolerance, and their mean and largest strain."""

    cells: int
    within: int
    mean: float
    worst: float

    @property
    def share(self) -> float:
        """The share of cells within tolerance; 0 of none."""
        return self.within / self.cells if self.cells else 0.0


def tally(cells: Iterable[PrintedCell]) -> CellTally:
    """Count `cells`, excluding those that cannot be computed."""
    had = [cell for cell in cells if cell.ours is not None]
    strains = [cell.strain or 0.0 for cell in had]
    return CellTally(
        cells=len(had),
        within=sum(bool(cell.within) for cell in had),
        mean=sum(strains) / len(strains) if strains else 0.0,
        worst=max(strains, default=0.0),
    )
