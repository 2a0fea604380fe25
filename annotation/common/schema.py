"""Whether the database's tables are those that the code expects."""

from __future__ import annotations

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.loader import MigrationLoader

#: Unknown migrations that are named; more are counted.
_NAMED = 3

#: Squashed migrations of earlier versions: today's replace the same single ones and those that came since.
#: A database that one of them made still has its name.
RETIRED = frozenset(
    {
        ("annotation", "0001_squashed_0021_what_layers_show"),
        ("evaluation", "0001_squashed_0008_imported_qrels_and_scales"),
    }
)


class NewerSchema(ValueError):
    """The database was migrated by a newer version of the code; one line with the remedy."""


def refuse_newer(database: str = DEFAULT_DB_ALIAS) -> None:
    """Raise NewerSchema where migrations were applied that the code does not have."""
    fault = newer(MigrationLoader(connections[database]))
    if fault:
        raise NewerSchema(fault)


def known_migrations(loader: MigrationLoader) -> set[tuple[str, str]]:
    """App and name of the migrations that the code has, or had under another name."""
    known = set(loader.disk_migrations or ()) | RETIRED
    for squashed in loader.replacements.values():
        known.update(squashed.replaces)
    return known


def newer(loader: MigrationLoader) -> str:
    """Which applied migrations the code does not have, and the remedy; "" where it has them all."""
    unknown = sorted(set(loader.applied_migrations or ()) - known_migrations(loader))
    if not unknown:
        return ""
    names = ", ".join(f"{app}.{name}" for app, name in unknown[:_NAMED])
    more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
    return (
        f"the database is newer than this version of the code, which does not know migration {names}{more}: "
        "run the version that applied it, or restore a backup from before"
    )
