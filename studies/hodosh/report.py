"""All printed figures next to ours, and the results of other conventions.

A family is a function that yields cells and the names of the conventions it reads. Under an alternative only
the families that read the changed convention are computed again, and only their cells are shown.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

from studies.hodosh.cells import CellTally, PrintedCell, tally
from studies.hodosh.conventions import ALTERNATIVES, CHOSEN_CONVENTIONS, Conventions
from studies.hodosh.evidence import Evidence
from studies.hodosh.sections import (
    alpha,
    best_kappas,
    crowd_against_experts,
    crowd_section,
    filters,
    nonzero,
    relevant_pairs,
    vocabulary,
)
from studies.hodosh.tables import table_2, table_7, table_10, tables_8_and_9

_CONTENT = frozenset({"stop_words", "stemmed", "lemmatised"})
_WORDS = _CONTENT | {"bleu_of_content"}
_REFERENCES = frozenset({"other_reference"})
_STRICT = frozenset({"strict"})
_UNJUDGED = frozenset({"unjudged_in_kappa", "unjudged_in_precision"})

Steps = list[tuple[str, Conventions]]
Watch = Callable[[Steps], Iterable[tuple[str, Conventions]]]
Compute = Callable[[Evidence, Conventions], Iterator[PrintedCell]]

#: In the order of the report.
FAMILIES: Mapping[Compute, frozenset[str]] = {
    table_2: _WORDS,
    table_7: frozenset({"tau"}),
    tables_8_and_9: _WORDS | _REFERENCES | _STRICT | {"header"},
    table_10: _UNJUDGED | _STRICT,
    vocabulary: frozenset({"stop_words"}),
    alpha: frozenset(),
    nonzero: _CONTENT,
    best_kappas: _WORDS | _REFERENCES | _STRICT,
    filters: _WORDS | _STRICT,
    crowd_section: _CONTENT | _STRICT,
    crowd_against_experts: _UNJUDGED | _STRICT,
    relevant_pairs: frozenset({"rule", "originals"}),
}


@dataclass(frozen=True, slots=True)
class Alternative:
    """One family of cells under one other convention."""

    convention: str
    family: str
    cells: tuple[PrintedCell, ...]
    chosen: CellTally
    alternative: CellTally


@dataclass(frozen=True, slots=True)
class ReproductionReport:
    """All cells under the chosen conventions, and the families that alternatives change."""

    conventions: Conventions
    cells: tuple[PrintedCell, ...]
    alternatives: tuple[Alternative, ...]

    @property
    def counted(self) -> tuple[PrintedCell, ...]:
        """The cells of which each stands for a printed figure of its own."""
        return tuple(cell for cell in self.cells if not cell.again)

    @property
    def tally(self) -> CellTally:
        """Cells that have a figure, counted and checked against the tolerance."""
        return tally(self.counted)


def reproduce(evidence: Evidence, *, watch: Watch = iter) -> ReproductionReport:
    """Compute every cell, and every family again under each alternative that concerns it.

    `watch` passes the alternatives on and may show how far they are.
    """
    chosen = {compute: tuple(compute(evidence, CHOSEN_CONVENTIONS)) for compute in FAMILIES}
    alternatives: list[Alternative] = []
    for name, conventions in watch(list(ALTERNATIVES.items())):
        changed = _changed(conventions)
        for compute, reads in FAMILIES.items():
            if not changed & reads:
                continue
            before, after = _by_family(chosen[compute]), _by_family(compute(evidence, conventions))
            alternatives += [
                Alternative(name, family, cells, tally(before[family]), tally(cells))
                for family, cells in after.items()
                if cells != before[family]
            ]
    return ReproductionReport(
        CHOSEN_CONVENTIONS, tuple(cell for cells in chosen.values() for cell in cells), tuple(alternatives)
    )


def cells_of(evidence: Evidence, conventions: Conventions) -> list[PrintedCell]:
    """All cells under one set of conventions."""
    return [cell for compute in FAMILIES for cell in compute(evidence, conventions)]


def _changed(conventions: Conventions) -> set[str]:
    return {
        entry.name
        for entry in fields(conventions)
        if getattr(conventions, entry.name) != getattr(CHOSEN_CONVENTIONS, entry.name)
    }


def _by_family(cells: Iterator[PrintedCell] | tuple[PrintedCell, ...]) -> dict[str, tuple[PrintedCell, ...]]:
    cells_of_family: dict[str, list[PrintedCell]] = {}
    for cell in cells:
        cells_of_family.setdefault(cell.family, []).append(cell)
    return {family: tuple(members) for family, members in cells_of_family.items()}
