"""Cells of tables for spreadsheets, which treat some texts as formulas and run them.

For tables that are not read back: escaped texts differ from the originals.
"""

from typing import Any

#: The first characters of texts that a spreadsheet may run.
_RUN = ("=", "+", "-", "@", "\t", "\r", "\n")


def escape_formula(cell: Any) -> Any:
    """Return `cell`; a text that a spreadsheet would run gets an apostrophe in front, which marks it as text.

    Source: OWASP, "CSV Injection". Numbers stay numbers, also those that are written as text.
    """
    if not isinstance(cell, str) or not cell.lstrip(" ").startswith(_RUN):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
