"""Names of the commands made from operations, beside Django's; each is loaded when it is requested."""

import functools
from collections.abc import Iterator
from typing import Any

from django.core import management

from annotation.common.operations import all_operations, operation_named
from phrasebox.registry import UnknownName


class _Commands(dict[str, Any]):
    """Django's table of commands, followed by those of operations. Their declarations import many services:
    one is loaded when its command is requested, all when the whole table is."""

    def __missing__(self, name: str) -> Any:
        from annotation.management.operations import OperationCommand

        try:
            operation = operation_named(name)
        except UnknownName:
            raise KeyError(name) from None
        if operation.command is None:
            raise KeyError(name)
        return OperationCommand(operation)

    def items(self) -> Any:
        """Return every command with the name of its app."""
        declared = {
            operation.name: operation.app for operation in all_operations() if operation.command is not None
        }
        return {**dict(super().items()), **declared}.items()

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.items())


def offer_operations() -> None:
    """Make operations available as commands, besides those with a module of their own."""
    modules = management.get_commands

    @functools.cache
    def get_commands() -> dict[str, Any]:
        return _Commands(modules())

    management.get_commands = get_commands
