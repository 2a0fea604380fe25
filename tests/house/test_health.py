"""The health checks for supervisors."""

from __future__ import annotations

import json
import re
import resource
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from annotation.management.commands.serve import Server
from tests.house.product import NO_BROKER, serving
from tests.services import free_port


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


def test_while_the_database_is_away_everybody_is_told_so_and_nobody_where_it_was(tmp_path: Path) -> None:
    away = "postgresql://somebody:a-secret-word@127.0.0.1:9/phrasebox"
    with serving(tmp_path, DATABASE_URL=away, REDIS_URL=NO_BROKER) as server:
        answer = server.get("/readyz")
        assert (answer.status, answer.body) == (
            503,
            '{"status": "unready", "reason": "the database cannot be reached"}',
        )
        # A call that takes the short way, one that does not, and a page.
        for path in ("/api/tasks", "/api/campaigns/quay/consent"):
            answer = server.get(path, Authorization="Token abc")
            assert (answer.status, answer.headers["Content-Type"]) == (503, "application/problem+json")
            payload = json.loads(answer.body)
            assert (payload["title"], payload["code"]) == ("Service Unavailable", "database_away")
            assert int(answer.headers["Retry-After"]) > 0
        page = server.get("/campaigns/", Cookie="session=abcdefghijklmnopqrstuvwxyz012345")
        assert (page.status, page.headers["Retry-After"]) == (503, "5")
        assert "Nothing that was saved is lost" in page.body and 'href="/campaigns/">Try again' in page.body
        assert "session" not in str(page.headers["Set-Cookie"]), "nobody is signed out by it"
        errors = server.stop()
        assert "a-secret-word" not in errors and "Traceback" not in errors
        assert "GET api/tasks: 503, the database cannot be used: connection to server" in errors


NEWER = (
    "the database is newer than this version of the code, which does not know migration "
    "annotation.9999_more: run the version that applied it, or restore a backup from before"
)


@pytest.mark.django_db
def test_a_database_that_is_newer_than_the_code_is_refused(client: Client) -> None:
    call_command("migrate", "--check")
    MigrationRecorder.Migration.objects.create(app="annotation", name="9999_more")
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["reason"]) == (503, NEWER)
    with pytest.raises(CommandError) as refusal:
        call_command("migrate", verbosity=0)
    assert str(refusal.value) == NEWER
    call_command("migrate", "annotation", "--prune", verbosity=0)
    assert client.get("/readyz").status_code == 200


@pytest.mark.django_db
def test_a_database_that_is_newer_than_the_code_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    MigrationRecorder.Migration.objects.create(app="annotation", name="9999_more")
    monkeypatch.setattr(Server, "run", lambda server: None)  # otherwise a fault would serve for ever
    with pytest.raises(CommandError) as error:
        call_command("serve", port=free_port())
    assert str(error.value) == NEWER


def test_unready_where_the_disk_is_full_or_takes_no_files(
    client: Client, db: None, tmp_path: Path, settings: Any
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    assert client.get("/readyz").status_code == 200
    assert list(settings.DATA_DIR.iterdir()) == [], "the trial leaves nothing"
    # More than any disk has.
    settings.DISK_RESERVE = 10**24
    answer = client.get("/readyz")
    reason = f"less than {10**18} MB are free on the disk of DATA_DIR (DISK_RESERVE): free some space"
    assert (answer.status_code, answer.json()["reason"]) == (503, reason)
    error = (503, "DATA_DIR is not writable: free some space, or give the server permission to write")
    settings.DISK_RESERVE = 0
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))  # like a full disk: files cannot grow
    try:
        answer = client.get("/readyz")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (answer.status_code, answer.json()["reason"]) == error
    settings.DATA_DIR = tmp_path / "file"
    settings.DATA_DIR.write_text("")
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["reason"]) == error
