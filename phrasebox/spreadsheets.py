"""Cells of tables that people open in a spreadsheet, which takes some texts for formulas and runs them.

For tables that nobody reads back: what is written there is not what was said.
"""

from typing import Any

#: How a text begins that a spreadsheet may run.
_RUN = ("=", "+", "-", "@", "\t", "\r", "\n")


def escape_formula(cell: Any) -> Any:
    """`cell`, a text that a spreadsheet would run behind an apostrophe, by which it takes it for text.

    Source: OWASP, "CSV Injection". Numbers stay numbers, also those that are written as text.
    """
    if not isinstance(cell, str) or not cell.lstrip(" ").startswith(_RUN):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
