"""Results and errors as plain text for terminals. Errors say more there, since users of commands may see all
rows of a kind; pages, the API and jobs give only the reason."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar


def pages_text(filling: Mapping[str, Any], remedy: str) -> list[str]:
    """Return a line about what pages of pairs lack, from the numbers of `protocol.paging.Filling`, with the
    remedy; else none."""
    if not filling.get("missing"):
        return []
    lacking = (
        f"pages lack {filling['missing']} captions: too few filtered pairs are of the images asked about"
    )
    whom = f"{filling['short_blocks']} of {filling['blocks']} images have fewer than fit, or are missing"
    return [f"{lacking}; {whom}", remedy]


def text_table(head: list[str], rows: list[list[Any]]) -> str:
    """Return a plain-text table; numbers right-aligned, floats with three decimals."""

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


E = TypeVar("E", bound=Exception)


def with_known(error: E, names: Iterable[str]) -> E:
    """Return `error`, which will list the existing `names` in the error message of a command."""
    error.add_note("; known: " + (", ".join(names) or "none"))
    return error


def for_terminal(error: Exception) -> str:
    """Return the message of `error`, with the existing names."""
    return "".join([str(error), *getattr(error, "__notes__", [])])
