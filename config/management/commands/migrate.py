"""`manage.py migrate`: Django's, but it refuses a database that is newer than the code."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.exceptions import AmbiguityError
from django.db.migrations.executor import MigrationExecutor

from annotation.common import schema


class Command(migrate.Command):
    """With `--check` Django tells only of migrations that are not applied yet."""

    def handle(self, *args: Any, **options: Any) -> None:
        # --prune is for whoever has taken migrations away.
        if not options["prune"]:
            try:
                schema.refuse_newer(options["database"])
            except schema.NewerSchema as error:
                raise CommandError(str(error)) from error
        if options["migration_name"] and not (options["plan"] or options["check_unapplied"]):
            self._take_single_ones(options)
        super().handle(*args, **options)

    def _take_single_ones(self, options: dict[str, Any]) -> None:
        """Prepare for a migration that is named and is part of a squashed one, of which Django knows less.

        Where an app has no migration yet, apply its first one: from there on Django takes the single ones.
        Where it was taken back to one of them, its squashed one no longer counts as applied.
        """
        executor = MigrationExecutor(connections[options["database"]])
        loader, app = executor.loader, options["app_label"]
        recorded = executor.recorder.applied_migrations()
        for key in loader.replacements:
            if key in recorded and key not in loader.applied_migrations:
                executor.recorder.record_unapplied(*key)
        try:
            named = (app, loader.get_migration_by_prefix(app, options["migration_name"]).name)
        except (AmbiguityError, KeyError):
            return  # Django says what is wrong with the name
        if named in loader.graph.nodes or named in loader.applied_migrations or named in loader.replacements:
            return
        loader.replace_migrations = False  # type: ignore[attr-defined]  # the stubs lack it
        loader.build_graph()
        first = next(key for key in loader.graph.forwards_plan(named) if key[0] == app)
        executor.migrate([first], fake=options["fake"])
