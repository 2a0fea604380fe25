"""What a supervisor is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from tests.house.product import serving


def test_health_needs_no_database_and_no_sign_in(client: Client) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.django_db
def test_ready_where_every_migration_is_applied(client: Client) -> None:
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ready"})


@pytest.mark.django_db
def test_unready_says_how_many_migrations_are_missing(client: Client) -> None:
    MigrationRecorder.Migration.objects.filter(app="sessions", name="0001_initial").delete()
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert re.fullmatch(
        r"1 of \d+ migrations are not applied: run manage.py migrate", answer.json()["reason"]
    )


def test_unready_where_the_database_is_away_without_telling_strangers_where_it_was(tmp_path: Path) -> None:
    away = "postgresql://somebody:a-secret-word@127.0.0.1:9/phrasebox"
    with serving(tmp_path, DATABASE_URL=away) as server:
        answer = server.get("/readyz")
        assert (answer.status, answer.body) == (
            503,
            '{"status": "unready", "reason": "the database cannot be reached"}',
        )
        assert "a-secret-word" not in server.stop()
