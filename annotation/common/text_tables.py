"""Tables in plain text, as a terminal shows them."""

from __future__ import annotations

from typing import Any


def plain_table(head: list[str], rows: list[list[Any]]) -> str:
    """A plain-text table; numbers to the right, floats to three places."""

    def cell(value: Any) -> str:
        return f"{value:.3f}" if isinstance(value, float) else str(value)

    lines = [head] + [[cell(v) for v in row] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    numeric = [all(isinstance(row[i], int | float) for row in rows) and bool(rows) for i in range(len(head))]

    def laid(line: list[str]) -> str:
        return "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()

    return "\n".join(
        [laid(lines[0]), "  ".join("-" * w for w in widths), *[laid(line) for line in lines[1:]]]
    )
