"""Tables of figures in every layout: rounding, absent figures, marks, and characters that LaTeX reads."""

from __future__ import annotations

import csv
import io

import pytest

from annotation.common.registry import UnknownName
from evaluation.formats.figure_tables import LAYOUTS, Marked, Table, as_csv, as_latex, as_text, finite_or_none

TABLE = Table(
    ["run", "R@1", "median rank", "n"],
    [
        ["a_b & c", Marked(0.51237, "***"), 52.5, 10],
        ["plain", Marked(0.1), None, 7],
        ["none", Marked(None), float("nan"), 7],
    ],
    places={"median rank": 1},
)


def test_text_rounds_and_puts_digits_under_digits() -> None:
    assert as_text(TABLE).splitlines() == [
        "run           R@1  median rank   n",
        "-------  --------  -----------  --",
        "a_b & c  0.512***         52.5  10",
        "plain    0.100               -   7",
        "none         -               -   7",
    ]


def test_csv_keeps_every_digit_and_has_marks_beside() -> None:
    rows = list(csv.reader(io.StringIO(as_csv(TABLE))))
    assert rows == [
        ["run", "R@1", "R@1 mark", "median rank", "n"],
        ["a_b & c", "0.51237", "***", "52.5", "10"],
        ["plain", "0.1", "", "", "7"],
        ["none", "", "", "", "7"],
    ]


def test_csv_quotes_what_holds_a_comma() -> None:
    assert as_csv(Table(["run"], [["a, b"]])) == 'run\n"a, b"'


def test_latex_raises_marks_and_escapes_names() -> None:
    assert as_latex(TABLE).splitlines() == [
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
    assert as_latex(Table([r"\~^&%$#_{}"], [])).splitlines()[2] == (
        r"\textbackslash{}\textasciitilde{}\textasciicircum{}\&\%\$\#\_\{\} \\"
    )


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="row 1 has 1 cells; expected 2"):
        Table(["a", "b"], [["x"]])


def test_an_unknown_layout_lists_what_exists() -> None:
    with pytest.raises(UnknownName, match="unknown table layout 'xml'; known: csv, latex, text"):
        LAYOUTS.get("xml")


@pytest.mark.parametrize(
    ("value", "expected"), [(0.5, 0.5), (float("nan"), None), (float("inf"), None), (None, None)]
)
def test_json_has_numbers_or_null(value: float | None, expected: float | None) -> None:
    assert finite_or_none(value) == expected


def test_a_spreadsheet_runs_nothing_that_somebody_wrote() -> None:
    said = as_csv(
        Table(["=run", "n"], [["=HYPERLINK(1)", -1.5], ["@SUM(A1)", 2], [" +cmd|x", 0], ["-1.5", 1]])
    )
    assert said.splitlines() == ["'=run,n", "'=HYPERLINK(1),-1.5", "'@SUM(A1),2", "' +cmd|x,0", "-1.5,1"]
    table = Table(["run"], [["=1+1"]])
    assert as_latex(table).count("=1+1") == as_text(table).count("=1+1") == 1 and "'" not in as_text(table)
