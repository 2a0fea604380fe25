"""The cells of Tables 2, 7, 8, 9 and 10 of Hodosh et al. 2013, computed under given conventions."""

from collections.abc import Iterator

from phrasebox.agreement.estimates import Estimate
from phrasebox.significance.tables import kendall, spearman
from studies.hodosh import printed
from studies.hodosh.cells import KAPPA, PERCENT, PrintedCell
from studies.hodosh.conventions import Conventions
from studies.hodosh.evidence import REFERENCES, Evidence
from studies.hodosh.measures import (
    PrintedFigure,
    against_experts,
    bleu_and_rouge,
    cell_of,
    expert_row,
    lay_against_experts,
    lay_scores,
    top,
)
from studies.hodosh.printed_systems import AUTOMATIC, COLUMN_OF_DIRECTION, HUMAN


def table_2(evidence: Evidence, conventions: Conventions) -> Iterator[PrintedCell]:
    """Yield the random row: the score of a random caption is the mean over all pairs."""
    means = {
        "BLEU": evidence.bleu_overlap(REFERENCES["R5"], conventions).all_precisions().mean(),
        "ROUGE": evidence.content_overlap(REFERENCES["R5"], conventions).all_recalls().mean(),
    }
    for column, value in printed.PRINTED_RANDOM.items():
        if column in means:
            yield PrintedCell("Table 2", "Random", column, value, float(means[column]), KAPPA, "Table 2")
        else:
            why = "the random pairs that experts graded are not marked in the published file"
            yield PrintedCell("Table 2", "Random", column, value, None, KAPPA, "Table 2", why=why)


def table_7(evidence: Evidence, conventions: Conventions) -> Iterator[PrintedCell]:
    """Yield correlations of system rankings, from the printed Tables 11 and 12."""
    halves = (
        # Column of AUTOMATIC and of HUMAN within a direction: S@k is compared with R@k, R-precision with all
        # four.
        ("Table 7(a)", printed.TABLE_7A, [(0, 0), (1, 1), (2, 2)]),
        ("Table 7(b)", printed.TABLE_7B, [(0, 3), (1, 3), (2, 3), (3, 3)]),
    )
    for table, rows, places in halves:
        for (row, values), (automatic, human) in zip(rows.items(), places, strict=True):
            ours: list[tuple[str, Estimate]] = []
            for direction, first in COLUMN_OF_DIRECTION.items():
                automatic_values, human_values = AUTOMATIC[:, first + automatic], HUMAN[:, first + human]
                ours.append((f"{direction} rho", spearman(automatic_values, human_values)))
                ours.append(
                    (f"{direction} tau", kendall(automatic_values, human_values, variant=conventions.tau))
                )
            for (column, estimate), figure in zip(ours, values, strict=True):
                yield cell_of(estimate, PrintedFigure(table, row, column, figure, KAPPA, table))


def tables_8_and_9(evidence: Evidence, conventions: Conventions) -> Iterator[PrintedCell]:
    """Yield kappa of BLEU and ROUGE against the experts, for four sets of references."""
    for block in printed.BLOCKS:
        bleu, rouge = bleu_and_rouge(evidence, block.references, conventions)
        for name, scores, headed, first in (("BLEU", bleu, block.bleu, 0), ("ROUGE", rouge, block.rouge, 3)):
            used = [_used(block.references, name, threshold, conventions) for threshold in headed]
            kappas = against_experts(evidence, scores, used, conventions)
            literal = against_experts(evidence, scores, headed, conventions)
            for row, threshold in enumerate(printed.EXPERT):
                for column, head in enumerate(headed):
                    note = ""
                    if used[column] != head:
                        value = literal[row][column].value
                        at_head = "undefined" if value is None else f"{value:.3f}"
                        note = f"computed at {used[column]:g}; at {head:g} as headed it is {at_head}"
                    yield cell_of(
                        kappas[row][column],
                        PrintedFigure(
                            block.table,
                            f"{block.references}, {expert_row(threshold)}",
                            f"{name} >= {head:g}",
                            block.kappas[row][first + column],
                            KAPPA,
                            f"{block.table}, {block.references}, {name}",
                        ),
                        note=note,
                    )


def _used(references: str, name: str, headed: float, conventions: Conventions) -> float:
    """Return the threshold of a column: its heading, except for the misprinted one."""
    misprinted = (references, headed) == printed.MISPRINTED_HEADER and name == "BLEU"
    return conventions.header if misprinted else headed


def table_10(evidence: Evidence, conventions: Conventions) -> Iterator[PrintedCell]:
    """Yield lay judges against experts: (a) kappa, (b) precision, recall and F1."""
    lay = lay_scores(evidence, conventions.unjudged_in_kappa)
    cut = [top(printed.LAY[0], conventions), *printed.LAY[1:]]
    kappas = against_experts(evidence, lay, cut, conventions)
    for row, threshold in enumerate(printed.EXPERT):
        for column, head in enumerate(printed.LAY):
            yield cell_of(
                kappas[row][column],
                PrintedFigure(
                    "Table 10(a)",
                    expert_row(threshold),
                    f"lay {'=' if column == 0 else '>='} {head:g}",
                    printed.TABLE_10A[row][column],
                    KAPPA,
                    "Table 10(a)",
                ),
            )
    for threshold, values in zip(printed.EXPERT_10B, printed.TABLE_10B, strict=True):
        measured = lay_against_experts(evidence, threshold, conventions)
        estimates = (measured.precision, measured.recall, measured.f1)
        for name, estimate, value in zip(("precision", "recall", "F1"), estimates, values, strict=True):
            yield cell_of(
                estimate,
                PrintedFigure("Table 10(b)", expert_row(threshold), name, value, PERCENT, "Table 10(b)"),
            )
