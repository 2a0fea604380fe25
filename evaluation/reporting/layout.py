"""A report as files: JSON without NaN, tables as LaTeX and CSV, and cells for a page."""

import json
from collections.abc import Mapping
from typing import Any

from evaluation.figures.base import Plot
from evaluation.report_data.tables import Titled
from evaluation.reporting.document import REPORT_DEFINITION, ReportDocument, Section
from phrasebox.figure_tables import Marked, Table, as_csv, as_latex


def report_json(report: ReportDocument, sections: list[Section]) -> str:
    """Return everything: inputs, findings, and sections. Raises ValueError for a number that JSON does not
    have."""
    document = {
        "report": report.name,
        "definition": REPORT_DEFINITION,
        "inputs": report.inputs,
        "findings": report.findings(),
        "sections": [_section(section) for section in sections],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def table_files(titled: Titled) -> dict[str, str]:
    """Return a table's files by path within the report's folder."""
    remarks = [titled.title, titled.note]
    comments = "".join(f"% {' '.join(text.split())}\n" for text in remarks if text)
    return {
        f"tables/{titled.key}.tex": f"{comments}{as_latex(titled.table)}\n",
        f"tables/{titled.key}.csv": f"{as_csv(titled.raw or titled.table)}\n",
    }


def cells(table: Table) -> dict[str, Any]:
    """Return a table for a page: `head`, `rows` of cells (text, mark, weight, whether a number), `basis`."""
    numeric = table.numeric()
    rows = []
    for row in table.rows:
        texts = table.rounded([cell.value if isinstance(cell, Marked) else cell for cell in row])
        rows.append(
            [
                {
                    "text": text,
                    "mark": cell.mark if isinstance(cell, Marked) else "",
                    "weight": cell.weight if isinstance(cell, Marked) else "",
                    "number": number,
                }
                for text, cell, number in zip(texts, row, numeric, strict=True)
            ]
        )
    return {
        "head": [{"text": name, "number": number} for name, number in zip(table.head, numeric, strict=True)],
        "rows": rows,
        "basis": table.basis.as_dict(),
    }


def _section(section: Section) -> Mapping[str, Any]:
    return {
        "title": section.title,
        "remarks": list(section.remarks),
        "tables": [
            {"key": item.key, "title": item.title, "note": item.note, **cells(item.table)}
            for item in section.tables
        ],
        "figures": [_plot(item) for item in section.plots],
    }


def _plot(plot: Plot) -> Mapping[str, Any]:
    return {"key": plot.key, "title": plot.title, "sentence": plot.sentence, **cells(plot.data)}
