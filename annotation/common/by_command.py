"""Refusals that say more in a terminal: the command that helps, and the names that there are.

Pages, the API and jobs show the reason alone: their readers may not see all rows of a kind.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

_KNOWN = "; known: "

E = TypeVar("E", bound=Exception)


def by_command(error: E, command: str) -> E:
    """`error`, which will name `command` where a command is refused; its own text does not."""
    error.add_note(command)
    return error


def with_known(error: E, names: Iterable[str]) -> E:
    """`error`, which will list the `names` that there are where a command is refused."""
    error.add_note(_KNOWN + (", ".join(names) or "none"))
    return error


def for_terminal(error: Exception) -> str:
    """What `error` says, with the names that there are and the commands that help."""
    notes = getattr(error, "__notes__", [])
    return str(error) + "".join(note if note.startswith(_KNOWN) else f": {note}" for note in notes)
