"""Whether the database's tables are those that the code expects."""

from typing import Any

from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.loader import MigrationLoader

#: Unknown migrations that are named; more are counted.
_NAMED = 3


class NewerSchema(ValueError):
    """The database was migrated by a newer version of the code; one line with the remedy."""


def refuse_newer(database: str = DEFAULT_DB_ALIAS) -> None:
    """Raise NewerSchema where migrations were applied that the code does not have."""
    fault = newer(MigrationLoader(connections[database]))
    if fault:
        raise NewerSchema(fault)


def refuse_to_migrate(using: str, **signal: Any) -> None:
    """Before migrations are applied: refuse a database that is newer; raises CommandError."""
    try:
        refuse_newer(using)
    except NewerSchema as error:
        raise CommandError(str(error)) from error


def newer(loader: MigrationLoader) -> str:
    """Which applied migrations the code does not have, and the remedy; "" where it has them all."""
    unknown = sorted(set(loader.applied_migrations or ()) - set(loader.disk_migrations or ()))
    if not unknown:
        return ""
    names = ", ".join(f"{app}.{name}" for app, name in unknown[:_NAMED])
    more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
    return (
        f"the database is newer than this version of the code, which does not know migration {names}{more}: "
        "run the version that applied it, or restore a backup from before"
    )
