"""Commands whose result is a report of figures: tables, below what is to be known about them."""

from collections.abc import Callable, Mapping
from typing import Any

from annotation.common.operations import CommandLine
from evaluation.formats.figure_tables import LAYOUTS, Table


def report_command(
    *positional: str,
    remarks: Callable[[dict[str, Any]], str],
    tables: Callable[[dict[str, Any]], Mapping[str, Table] | Table],
) -> CommandLine:
    """The command whose result has a `report`: its tables by their titles, in text below the remarks."""

    def titled(result: Any) -> Mapping[str, Table]:
        result_tables = tables(result.report)
        return {"": result_tables} if isinstance(result_tables, Table) else result_tables

    def text(result: Any) -> str:
        parts = [f"{title}\n{LAYOUTS.get('text')(table)}".strip() for title, table in titled(result).items()]
        return "\n\n".join([remarks(result.report), *parts])

    def in_layout(name: str) -> Callable[[Any], str]:
        return lambda result: "\n\n".join(map(LAYOUTS.get(name), titled(result).values()))

    layouts = {name: in_layout(name) for name in ("csv", "latex")}
    return CommandLine(positional, text=text, layouts=layouts)
