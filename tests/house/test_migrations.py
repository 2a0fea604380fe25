"""Migrations: one for each app's tables, and one for what models cannot express."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder


@pytest.mark.django_db
def test_the_models_are_as_the_migrations_make_them() -> None:
    call_command("makemigrations", "annotation", "evaluation", check=True, dry_run=True, verbosity=0)


@pytest.mark.django_db
@pytest.mark.only_on("postgresql")
def test_rows_that_change_often_have_room_in_their_pages() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE reloptions::text LIKE '%fillfactor%' ORDER BY 1")
        assert cursor.fetchall() == [
            ("annotation_openimage",),
            ("annotation_task",),
            ("annotation_truststate",),
        ]


@pytest.mark.django_db
def test_a_database_that_is_newer_is_not_migrated() -> None:
    MigrationRecorder(connection).record_applied("annotation", "0999_of_a_newer_version")
    with pytest.raises(CommandError, match=r"does not know migration annotation\.0999_of_a_newer_version:"):
        call_command("migrate", verbosity=0)
