"""`manage.py migrate`: Django's, but it refuses a database that is newer than the code."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate

from annotation import schema


class Command(migrate.Command):
    """With `--check` Django tells only of migrations that are not applied yet."""

    def handle(self, *args: Any, **options: Any) -> None:
        # --prune is for whoever has taken migrations away.
        if not options["prune"]:
            try:
                schema.refuse_newer(options["database"])
            except schema.NewerSchema as error:
                raise CommandError(str(error)) from error
        super().handle(*args, **options)
