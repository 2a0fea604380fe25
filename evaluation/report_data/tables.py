"""The tables of a report, in the form of the papers where papers have them.

Shares are in per cent in tables for reading; `tidy` has every figure unrounded, one per line.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.report_data.directions import DirectionTable, MeasuredFigure
from evaluation.report_data.judging import JudgingSummary
from evaluation.report_data.orders import OrderAgreement
from phrasebox.agreement.estimates import ALIKE, BOOTSTRAP, FEW_CLUSTERS, Estimate, few_clusters_remark
from phrasebox.agreement.shares import WILSON
from phrasebox.figure_basis import FigureBasis
from phrasebox.figure_tables import Cell, Marked, Table
from phrasebox.metrics.table import METRICS

#: The explanation of marks and emphasis, below every table that has them.
_MARKS = "* p <= 0.1, ** p <= 0.05, *** p <= 0.01 against {baseline}, adjusted by Holm for {tests} tests."
EMPHASIS = (
    "Bold: the best; underlined: not significantly different from it by the paired bootstrap "
    "({level}, unadjusted)."
)
#: The explanation of figures at best; these are no upper bound.
AT_BEST = (
    "At best: unjudged items within the cut-off count as relevant, those beyond it do not. R of "
    "R-precision is as judged. Shares in per cent."
)


@dataclass(frozen=True, slots=True)
class Titled:
    """A table with its file name, title and remarks; `raw` is the table for CSV, if that is a different
    one."""

    key: str
    title: str
    note: str
    table: Table
    raw: Table | None = None


def figures(direction: DirectionTable, *, judged: bool, level: float) -> Titled:
    """Return systems by measures, marked against the baseline, as in Tables 3 and 4 of Hodosh et al. 2013."""
    deepest = max(
        (figure.judged_at for system in direction.systems for figure in system.figures.values()), default=0
    )
    head = ["system", *direction.measures, *([f"judged@{deepest}"] if judged else [])]
    rows: list[list[Cell]] = []
    for system in direction.systems:
        figures_row = [system.figures[name] for name in direction.measures]
        rows.append(
            [
                system.label,
                *(
                    Marked(_in_percent(name, figure.value), figure.mark, figure.weight)
                    for name, figure in zip(direction.measures, figures_row, strict=True)
                ),
                *(
                    [_percent(next(figure.judged for figure in figures_row if figure.judged_at == deepest))]
                    if judged
                    else []
                ),
            ]
        )
    tests = sum(test.p is not None for test in direction.tests)
    note = ["Shares in per cent; ranks count from 1."]
    if judged:
        note.append("Unjudged items count as not relevant.")
    if any(figure.weight for system in direction.systems for figure in system.figures.values()):
        note.append(EMPHASIS.format(level=level_text(level)))
    if tests:
        note.append(_MARKS.format(baseline=direction.baseline, tests=tests))
    note += direction.remarks
    return Titled(
        key=f"figures-{direction.direction}",
        title=f"Results, {direction.direction}: {direction.basis.counted:,} {direction.basis.cases}",
        note=" ".join(note),
        table=Table(head, rows, places=dict.fromkeys(head, 1), basis=direction.basis),
        raw=tidy(direction),
    )


def intervals(direction: DirectionTable, *, level: float, resamples: int) -> Titled:
    """Return the same figures with their intervals."""
    rows: list[list[Cell]] = [
        [system.label, *(_interval(name, system.figures[name]) for name in direction.measures)]
        for system in direction.systems
    ]
    return Titled(
        key=f"intervals-{direction.direction}",
        title=f"Intervals, {direction.direction}",
        note=" ".join([_kinds(direction, level, resamples), "Shares in per cent.", *_few_images(direction)]),
        table=Table(["system", *direction.measures], rows, basis=direction.basis),
    )


def _few_images(direction: DirectionTable) -> list[str]:
    """Return a remark on intervals from few images; empty where there is none."""
    if not any(figure.remark for system in direction.systems for figure in system.figures.values()):
        return []
    text = (
        f"In round brackets: the number of images, if the bootstrap draws fewer than "
        f"{FEW_CLUSTERS} and may be "
        "too narrow"
    )
    return [f"{text}; 'all alike', if every resample gave the same value."]


def _kinds(direction: DirectionTable, level: float, resamples: int) -> str:
    """Return which measures have which kind of interval."""
    drawn = {
        kind: [
            name
            for name in direction.measures
            if any(system.figures[name].interval == kind for system in direction.systems)
        ]
        for kind in (WILSON, BOOTSTRAP)
    }
    sentences = []
    if drawn[WILSON]:
        sentences.append(
            f"{level_text(level)} Wilson intervals with the effective number of queries, as queries of one "
            "image are correlated: "
        )
        sentences[-1] += f"{', '.join(drawn[WILSON])}."
    if drawn[BOOTSTRAP]:
        sentences.append(
            f"{level_text(level)} intervals from {resamples:,} bootstrap resamples of the images: "
        )
        sentences[-1] += f"{', '.join(drawn[BOOTSTRAP])}."
    return " ".join(sentences)


def bounds(direction: DirectionTable) -> Titled | None:
    """Return the figures with unjudged items within the cut counted as relevant; None if these are the
    same.

    They are no upper bound: the cut of R-precision depends on what is judged, and recall ignores items beyond
    the cut.
    """
    measures = [
        name
        for name in direction.measures
        if any(
            figure.at_best is not None and figure.value is not None and figure.at_best > figure.value
            for figure in (system.figures[name] for system in direction.systems)
        )
    ]
    if not measures:
        return None
    head = ["system", *(word for name in measures for word in (name, f"{name} at best"))]
    rows: list[list[Cell]] = []
    for system in direction.systems:
        row: list[Cell] = [system.label]
        for name in measures:
            figure = system.figures[name]
            row += [_in_percent(name, figure.value), _in_percent(name, figure.at_best)]
        rows.append(row)
    return Titled(
        key=f"bounds-{direction.direction}",
        title=f"If unjudged items within the cut-off were relevant, {direction.direction}",
        note=AT_BEST,
        table=Table(head, rows, places=dict.fromkeys(head, 1), basis=direction.basis),
    )


def tests(direction: DirectionTable) -> Titled | None:
    """Return every tested pair."""
    if not direction.tests:
        return None
    head = ["system", "against", "measure", "difference", "test", "p", "adjusted p", "mark", "remark"]
    rows: list[list[Cell]] = [
        [
            *(
                test.label,
                direction.baseline,
                test.measure,
                _in_percent(test.measure, test.difference),
                test.test,
            ),
            *(_p(test.p), _p(test.adjusted), test.mark, test.reason),
        ]
        for test in direction.tests
    ]
    raw: list[list[Cell]] = [
        [
            *(test.label, direction.baseline, test.measure, test.difference, test.test),
            *(test.p, test.adjusted, test.mark, test.reason),
        ]
        for test in direction.tests
    ]
    return Titled(
        key=f"tests-{direction.direction}",
        title=f"Tests, {direction.direction}",
        note="Differences of shares are in percentage points. p values are adjusted by Holm over this table.",
        table=_without_empty(Table(head, rows, places={"difference": 1}, basis=direction.basis)),
        raw=Table(head, raw, basis=direction.basis),
    )


def tidy(direction: DirectionTable) -> Table:
    """Return every figure of a direction, one per line, unrounded; shares from 0 to 1."""
    head = ["direction", "run", "system", "measure", "value", "low", "high", "at best", "queries"]
    head += ["judged at", "judged", "missing", "candidates", "mark", "emphasis"]
    head += ["interval", "images", "remark"]
    rows: list[list[Cell]] = [
        [
            *(direction.direction, system.run, system.system, name),
            *(
                figure.value,
                figure.low,
                figure.high,
                figure.at_best,
                figure.queries,
                figure.judged_at,
                figure.judged,
            ),
            *(system.missing, system.candidates, figure.mark, figure.weight),
            *(figure.interval, figure.images, figure.remark),
        ]
        for system in direction.systems
        for name, figure in system.figures.items()
    ]
    return Table(head, rows, basis=direction.basis)


def orders(agreements: Sequence[OrderAgreement], *, basis: FigureBasis) -> Titled | None:
    """Return rank correlations, as in Table 7 of Hodosh et al. 2013; `basis` is that of the figures."""
    if not agreements:
        return None
    head = [
        "direction",
        "by originals",
        "by judgments",
        "systems",
        "Spearman's rho",
        "Kendall's tau",
        "remark",
    ]
    rows: list[list[Cell]] = [
        [
            agreement.direction,
            agreement.originals,
            agreement.judged,
            agreement.systems,
            agreement.rho,
            agreement.tau,
            agreement.reason,
        ]
        for agreement in agreements
    ]
    return Titled(
        key="orders",
        title="Do originals rank systems as judgments do?",
        note="tau is tau-b. Lower median ranks are better, so agreement with them shows as negative values.",
        table=_without_empty(
            Table(head, rows, places={"Spearman's rho": 2, "Kendall's tau": 2}, basis=basis)
        ),
        raw=Table(head, rows, basis=basis),
    )


def coefficients(judging: JudgingSummary, *, level: float) -> Titled:
    """Return the agreement of the judges."""
    head = ["coefficient", "value", "low", "high", "pairs", "remark"]
    rows: list[list[Cell]] = [
        [name, estimate.value, estimate.low, estimate.high, estimate.items, estimate.reason]
        for name, estimate in judging.coefficients.items()
    ]
    return Titled(
        key="coefficients",
        title="Agreement of the judges",
        note=f"Low and high: {level_text(level)} interval from bootstrap resamples of the images. Remarks "
        "say why a figure is missing, or concern its interval.",
        table=_without_empty(Table(head, rows, basis=judging.basis)),
        raw=Table(head, rows, basis=judging.basis),
    )


def metadata_table(key: str, title: str, rows: Sequence[tuple[str, Cell]], *, basis: FigureBasis) -> Titled:
    """Return a table of names and values."""
    return Titled(key, title, "", Table(["", "value"], [list(row) for row in rows], basis=basis))


def level_text(level: float) -> str:
    """Return a confidence level as reports write it: 0.995 is 99.5%."""
    return f"{100 * level:g}%"


def figure_text(name: str, figure: MeasuredFigure) -> str:
    """Return a figure with its interval, for a sentence; a share in per cent."""
    sign = " %" if METRICS.find(name).measure.unit == "share" else ""
    value, low, high = (_in_percent(name, number) for number in (figure.value, figure.low, figure.high))
    if value is None or low is None or high is None:
        return f"{value:.1f}{sign}" if value is not None else "no value"
    return f"{value:.1f}{sign} ({low:.1f} to {high:.1f}{f'; {figure.remark}' if figure.remark else ''})"


def interval_text(estimate: Estimate) -> str:
    """Return a figure with its interval, for a sentence."""
    if estimate.value is None:
        return f"undefined ({estimate.reason})"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]" + (
        f" ({estimate.reason})" if estimate.reason else ""
    )


def _without_empty(table: Table) -> Table:
    """Remove columns that are empty in every row."""
    filled = [column for column in range(len(table.head)) if any(row[column] != "" for row in table.rows)]
    return Table(
        [table.head[column] for column in filled],
        [[row[column] for column in filled] for row in table.rows],
        table.places,
        basis=table.basis,
    )


def _interval(name: str, figure: MeasuredFigure) -> str:
    value, low, high = (_in_percent(name, number) for number in (figure.value, figure.low, figure.high))
    if value is None:
        return "-"
    if low is None or high is None:
        return f"{value:.1f}"
    return bracketed(value, low, high, images=figure.images, remark=figure.remark)


def bracketed(value: float, low: float, high: float, *, images: int, remark: str) -> str:
    """Return a figure with its interval for a cell, with a short form of its remark."""
    short = (
        [f"{images} image{'' if images == 1 else 's'}"]
        if images < FEW_CLUSTERS and few_clusters_remark(images) in remark
        else []
    )
    short += ["all alike"] if ALIKE in remark else []
    return f"{value:.1f} [{low:.1f}, {high:.1f}]" + (f" ({', '.join(short)})" if short else "")


def _in_percent(name: str, value: float | None) -> float | None:
    """Return a figure for tables for reading: shares in per cent."""
    return _percent(value) if METRICS.find(name).measure.unit == "share" else value


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _p(value: float | None) -> Cell:
    return None if value is None else ("< 0.0001" if value < 0.0001 else f"{value:.4f}")
