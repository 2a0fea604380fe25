"""Tables of figures as text, CSV, LaTeX or plain data.

A figure that does not exist is None: "-" in text and LaTeX, empty in CSV, null in JSON. Text and LaTeX round
to each column's decimal places; CSV and JSON do not. A mark of significance follows its figure in text and
LaTeX, and has its own column in CSV.
"""

import csv
import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from phrasebox.figure_basis import FigureBasis
from phrasebox.registry import Registry
from phrasebox.spreadsheets import escape_formula

_ESCAPED = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    }
)
#: The sign of a negative number, which would be typeset as a hyphen.
_MINUS = re.compile(r"(?<![\w.-])-(?=\d)")

Weight = Literal["", "best", "near"]

_WEIGHED = {"best": r"\textbf{%s}", "near": r"\underline{%s}"}


@dataclass(frozen=True, slots=True)
class Marked:
    """A figure with its mark of significance, which may be empty.

    `weight`: the "best" of its column is bold in LaTeX, and one that is "near" it, not significantly
    different, is underlined.
    """

    value: float | None
    mark: str = ""
    weight: Weight = ""


Cell = str | int | float | Marked | None


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows; `places` are the decimal places of floats by column, 3 by default.

    `basis` describes what the figures are based on, and `notes` are further remarks: lines below a table in
    text, comments above one in LaTeX. CSV has a column "basis". Raises ValueError for a row of another
    length.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    places: dict[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()
    basis: FigureBasis = field(kw_only=True)

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, start=1):
            if len(row) != len(self.head):
                raise ValueError(
                    f"row {number} has {len(row)} cells; expected {len(self.head)}, as in the header"
                )

    @property
    def remarks(self) -> list[str]:
        """The sentences of the basis, then the notes."""
        return [*self.basis.lines(), *self.notes]

    def rounded(self, row: Sequence[Cell]) -> list[str]:
        """Return the cells of a row as people read them."""
        return [_rounded(cell, self.places.get(name, 3)) for name, cell in zip(self.head, row, strict=True)]

    def cells(self, row: Sequence[Cell]) -> list[tuple[str, str]]:
        """Return the cells of a row as people read them, each with its mark apart."""
        marks = [cell.mark if isinstance(cell, Marked) else "" for cell in row]
        bare = [cell.value if isinstance(cell, Marked) else cell for cell in row]
        return list(zip(self.rounded(bare), marks, strict=True))

    def numeric(self) -> list[bool]:
        """Which columns hold numbers, and are right-aligned."""
        return [
            bool(self.rows) and not any(isinstance(row[column], str) for row in self.rows)
            for column in range(len(self.head))
        ]


def as_text(table: Table) -> str:
    """Lay out the columns with spaces."""
    lines = [list(table.head), *(table.rounded(row) for row in table.rows)]
    # Digits are aligned: a figure without a mark has spaces in its place.
    for column, wide in enumerate(_marks(table)):
        for line, row in zip(lines[1:], table.rows, strict=True):
            line[column] += " " * (wide - _mark_width(row[column]))
    widths = [max(len(line[column]) for line in lines) for column in range(len(table.head))]
    right = table.numeric()

    def laid(line: list[str]) -> str:
        cells = zip(line, widths, right, strict=True)
        return "  ".join(
            text.rjust(width) if number else text.ljust(width) for text, width, number in cells
        ).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([laid(lines[0]), rule, *(laid(line) for line in lines[1:]), *table.remarks])


def as_csv(table: Table) -> str:
    """Return comma-separated values, unrounded; a column with marks has a column "NAME mark" beside it.

    It is for people and their spreadsheets, so texts are escaped against being run as formulas.
    """
    marked = [wide > 0 for wide in _marks(table)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head: list[str] = []
    for name, has in zip(table.head, marked, strict=True):
        head += [name, f"{name} mark"] if has else [name]
    basis = " ".join(table.basis.lines())
    writer.writerow(map(escape_formula, [*head, "basis"]))
    for row in table.rows:
        cells: list[str | int | float] = []
        for cell, has in zip(row, marked, strict=True):
            value = cell.value if isinstance(cell, Marked) else cell
            cells.append("" if _absent(value) else value)  # type: ignore[arg-type]
            if has:
                cells.append(cell.mark if isinstance(cell, Marked) else "")
        writer.writerow(map(escape_formula, [*cells, basis]))
    return out.getvalue().removesuffix("\n")


def as_latex(table: Table) -> str:
    """Return a tabular environment of booktabs, which a comment above it requests; marks are raised."""
    columns = "".join("r" if number else "l" for number in table.numeric())
    lines = [[name.translate(_ESCAPED) for name in table.head]]
    for row in table.rows:
        line = []
        for cell, name in zip(row, table.head, strict=True):
            mark = cell.mark if isinstance(cell, Marked) else ""
            value = cell.value if isinstance(cell, Marked) else cell
            text = _rounded(value, table.places.get(name, 3)).translate(_ESCAPED)
            text = _MINUS.sub("$-$", text)
            if isinstance(cell, Marked) and cell.weight:
                text = _WEIGHED[cell.weight] % text
            line.append(f"{text}$^{{{mark}}}$" if mark else text)
        lines.append(line)
    body = [" & ".join(line) + r" \\" for line in lines]
    return "\n".join(
        [
            "% Needs \\usepackage{booktabs}.",
            *(f"% {' '.join(note.split())}" for note in table.remarks),
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            body[0],
            r"\midrule",
            *body[1:],
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


LAYOUTS: Registry[Callable[[Table], str]] = Registry("table layout")
LAYOUTS.register("text", as_text)
LAYOUTS.register("csv", as_csv)
LAYOUTS.register("latex", as_latex)


def finite_or_none(value: float | None) -> float | None:
    """Return the figure, or None if it is not finite: JSON has no NaN."""
    return None if _absent(value) or value is None or math.isinf(value) else float(value)


def _absent(cell: str | float | None) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _rounded(cell: Cell, places: int) -> str:
    if isinstance(cell, Marked):
        return _rounded(cell.value, places) + cell.mark
    if cell is None or _absent(cell):
        return "-"
    return f"{cell:.{places}f}" if isinstance(cell, float) else str(cell)


def _mark_width(cell: Cell) -> int:
    return len(cell.mark) if isinstance(cell, Marked) else 0


def _marks(table: Table) -> list[int]:
    """Return the length of the longest mark of each column."""
    return [max((_mark_width(row[n]) for row in table.rows), default=0) for n in range(len(table.head))]
