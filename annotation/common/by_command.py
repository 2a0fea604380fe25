"""Refusals whose remedy is a command: pages show the reason alone, a terminal the command too."""

from __future__ import annotations

from typing import TypeVar

E = TypeVar("E", bound=Exception)


def by_command(error: E, command: str) -> E:
    """`error`, which will name `command` where a command is refused; its own text does not."""
    error.add_note(command)
    return error


def for_terminal(error: Exception) -> str:
    """What `error` says, with the commands that help."""
    return ": ".join([str(error), *getattr(error, "__notes__", [])])
