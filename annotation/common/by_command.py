"""Refusals that say more in a terminal: the names that there are.

Pages, the API and jobs show the reason alone: their readers may not see all rows of a kind.
"""

from collections.abc import Iterable
from typing import TypeVar

E = TypeVar("E", bound=Exception)


def with_known(error: E, names: Iterable[str]) -> E:
    """`error`, which will list the `names` that there are where a command is refused."""
    error.add_note("; known: " + (", ".join(names) or "none"))
    return error


def for_terminal(error: Exception) -> str:
    """What `error` says, with the names that there are."""
    return "".join([str(error), *getattr(error, "__notes__", [])])
