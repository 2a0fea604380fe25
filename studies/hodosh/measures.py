"""Common parts of the tables: scores of the experts' pairs, kappa against the experts, cells."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from phrasebox.agreement.estimates import Estimate
from phrasebox.agreement.thresholds import Retrieval, retrieval, sweep
from studies.hodosh import printed
from studies.hodosh.cells import PERCENT, PrintedCell
from studies.hodosh.conventions import Conventions, UnjudgedConvention
from studies.hodosh.evidence import REFERENCES, Evidence, ExpertScores

#: Smaller than any difference of two scores: implements "=" at the top of a scale if comparisons are strict.
_HAIR = 1e-6


@dataclass(frozen=True, slots=True)
class PrintedFigure:
    """A printed figure: table, row and column, value and unit, and the family that varies with it."""

    table: str
    row: str
    column: str
    value: float
    unit: str
    family: str


def cell_of(estimate: Estimate, figure: PrintedFigure, *, note: str = "", again: str = "") -> PrintedCell:
    """Return a cell from an estimate, in per cent if that is the unit."""
    ours = None if estimate.value is None else estimate.value * (100 if figure.unit == PERCENT else 1)
    return PrintedCell(
        figure.table,
        figure.row,
        figure.column,
        figure.value,
        ours,
        figure.unit,
        figure.family,
        why=estimate.reason,
        note=note,
        again=again,
    )


def expert_row(threshold: float) -> str:
    """Return the heading of a row in the tables."""
    return f"expert {'=' if threshold == printed.EXPERT[0] else '>='} {threshold:g}"


def references_of(name: str, conventions: Conventions) -> tuple[int, ...]:
    """Return the numbers of the captions in a set of references."""
    return REFERENCES.get(name, (conventions.other_reference,))


def bleu_and_rouge(
    evidence: Evidence, references: str, conventions: Conventions
) -> tuple[ExpertScores, ExpertScores]:
    """Return both scores of each pair that experts graded."""
    numbers = references_of(references, conventions)
    pairs = evidence.experts.images, evidence.experts.captions
    return (
        evidence.bleu_overlap(numbers, conventions).precision(*pairs),
        evidence.content_overlap(numbers, conventions).recall(*pairs),
    )


def top(threshold: float, conventions: Conventions) -> float:
    """Return the threshold at the top of a scale, where the paper has "=" in any convention."""
    return threshold - _HAIR if conventions.strict else threshold


def against_experts(
    evidence: Evidence, scores: ExpertScores, columns: Sequence[float], conventions: Conventions
) -> tuple[tuple[Estimate, ...], ...]:
    """Return kappa of the experts' mean grades, a row for each of EXPERT, against `scores` cut at
    `columns`."""
    rows = (top(printed.EXPERT[0], conventions), *printed.EXPERT[1:])
    swept = sweep(evidence.experts.means, scores, rows=rows, columns=columns, strict=conventions.strict)
    return swept.kappa


def lay_scores(evidence: Evidence, unjudged: UnjudgedConvention) -> ExpertScores:
    """Return the crowd's share of yes on the experts' pairs; NaN if a pair is skipped."""
    if unjudged == "left out":
        return evidence.lay
    original = evidence.experts.images == evidence.experts.captions
    instead = original if unjudged == "originals relevant" else np.zeros_like(original)
    return np.where(np.isnan(evidence.lay), instead.astype(np.float64), evidence.lay)


def lay_against_experts(evidence: Evidence, threshold: float, conventions: Conventions) -> Retrieval:
    """Return precision and recall of the crowd at 0.66 for pairs with expert grades of at least
    `threshold`."""
    return retrieval(
        lay_scores(evidence, conventions.unjudged_in_precision),
        evidence.experts.means,
        at=printed.LAY_RELEVANT,
        truth_at=top(threshold, conventions) if threshold == printed.EXPERT[0] else threshold,
        strict=conventions.strict,
    )
