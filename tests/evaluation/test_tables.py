"""Tables of figures in every layout: rounding, missing figures, marks, and characters with a meaning in
LaTeX."""

from __future__ import annotations

import csv
import io

import pytest

from phrasebox.figure_basis import FigureBasis
from phrasebox.figure_tables import (
    LAYOUTS,
    Cell,
    Marked,
    Table,
    as_csv,
    as_latex,
    as_text,
    finite_or_none,
)
from phrasebox.registry import UnknownName

BASIS = FigureBasis(cases="queries", counted=9, out_of=10, pool="q version 2", notes=("Simulated.",))
TABLE = Table(
    ["run", "R@1", "median rank", "n"],
    [
        ["a_b & c", Marked(0.51237, "***"), 52.5, 10],
        ["plain", Marked(0.1), None, 7],
        ["none", Marked(None), float("nan"), 7],
    ],
    places={"median rank": 1},
    notes=["Marks: ***."],
    basis=BASIS,
)
NONE = FigureBasis()


def test_text_rounds_and_puts_digits_under_digits() -> None:
    assert as_text(TABLE).splitlines() == [
        "run           R@1  median rank   n",
        "-------  --------  -----------  --",
        "a_b & c  0.512***         52.5  10",
        "plain    0.100               -   7",
        "none         -               -   7",
        "Queries: 9 of 10.",
        "Pool: q version 2.",
        "Simulated.",
        "Marks: ***.",
    ]


def test_csv_keeps_every_digit_and_has_marks_beside() -> None:
    rows = list(csv.reader(io.StringIO(as_csv(TABLE))))
    basis = "Queries: 9 of 10. Pool: q version 2. Simulated."
    assert rows == [
        ["run", "R@1", "R@1 mark", "median rank", "n", "basis"],
        ["a_b & c", "0.51237", "***", "52.5", "10", basis],
        ["plain", "0.1", "", "", "7", basis],
        ["none", "", "", "", "7", basis],
    ]


def test_csv_quotes_what_holds_a_comma() -> None:
    assert as_csv(Table(["run"], [["a, b"]], basis=NONE)) == 'run,basis\n"a, b",'


def test_latex_raises_marks_and_escapes_names() -> None:
    assert as_latex(TABLE).splitlines() == [
        r"% Needs \usepackage{booktabs}.",
        "% Queries: 9 of 10.",
        "% Pool: q version 2.",
        "% Simulated.",
        "% Marks: ***.",
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"run & R@1 & median rank & n \\",
        r"\midrule",
        r"a\_b \& c & 0.512$^{***}$ & 52.5 & 10 \\",
        r"plain & 0.100 & - & 7 \\",
        r"none & - & - & 7 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_latex_escapes_every_special_character() -> None:
    assert as_latex(Table([r"\~^&%$#_{}"], [], basis=NONE)).splitlines()[3] == (
        r"\textbackslash{}\textasciitilde{}\textasciicircum{}\&\%\$\#\_\{\} \\"
    )


def test_a_minus_is_a_minus_in_latex() -> None:
    cells: list[Cell] = [-0.25, -3, Marked(-1.5, "*", "best"), "-0.1 [-2.0, 0.5]", "run-1", None]
    row = as_latex(Table(list("abcdef"), [cells], basis=NONE)).splitlines()[5]
    assert row == (r"$-$0.250 & $-$3 & \textbf{$-$1.500}$^{*}$ & $-$0.1 [$-$2.0, 0.5] & run-1 & - \\")


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="row 1 has 1 cells; expected 2"):
        Table(["a", "b"], [["x"]], basis=NONE)


def test_an_unknown_layout_lists_what_exists() -> None:
    with pytest.raises(UnknownName, match="unknown table layout 'xml'; known: csv, latex, text"):
        LAYOUTS.get("xml")


@pytest.mark.parametrize(
    ("value", "expected"), [(0.5, 0.5), (float("nan"), None), (float("inf"), None), (None, None)]
)
def test_json_has_numbers_or_null(value: float | None, expected: float | None) -> None:
    assert finite_or_none(value) == expected


def test_a_spreadsheet_runs_nothing_that_somebody_wrote() -> None:
    message = as_csv(
        Table(
            ["=run", "n"],
            [["=HYPERLINK(1)", -1.5], ["@SUM(A1)", 2], [" +cmd|x", 0], ["-1.5", 1]],
            basis=FigureBasis(notes=("=1",)),
        )
    )
    lines = ["'=run,n,basis", "'=HYPERLINK(1),-1.5,'=1", "'@SUM(A1),2,'=1", "' +cmd|x,0,'=1", "-1.5,1,'=1"]
    assert message.splitlines() == lines
    table = Table(["run"], [["=1+1"]], basis=NONE)
    assert as_latex(table).count("=1+1") == as_text(table).count("=1+1") == 1 and "'" not in as_text(table)
