"""What backups require of the rest of the product: they know every folder and every signature."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from pathlib import Path

import pytest
from django.db import connection

from annotation.backups import BackupError, contents, keys
from annotation.backups import database as databases
from annotation.common.locks import BEFORE, RESTORING, Busy, nobody_at_work
from config import celery
from tests.house.product import REPOSITORY, manage, migrated, serving

CODE = [path for room in ("annotation", "config", "evaluation") for path in (REPOSITORY / room).rglob("*.py")]


def test_every_folder_of_the_data_is_taken_or_left_out_for_a_reason():
    named = re.compile(r'DATA_DIR\)? / "([^"]+)"')
    text = {name.split("/")[0] for path in CODE for name in named.findall(path.read_text())}
    assert {"pictures", "systems", "reports", "sources", "exports", "work", "static"} <= text
    known = {*contents.FOLDERS_BACKED_UP, *contents.FOLDERS_LEFT_OUT}
    files = {"phrasebox.sqlite3"}
    assert text - known - files == set(), "annotation/backups/contents.py must take these, or say why not"


def test_every_signature_is_named_among_what_a_new_key_breaks():
    salted = re.compile(r'(?:Signer\(\s*salt=f?|salted_hmac\(\s*|_SALT\s*=\s*)"([\w.]+)')
    text = {salt.rstrip(".") for path in CODE for salt in salted.findall(path.read_text())}
    signers = [path for path in CODE if re.search(r"Signer\(|salted_hmac\(|signing\.dumps", path.read_text())]
    assert len(text) >= len(signers) > 3
    assert text - set(keys.BROKEN) == set(), "annotation/backups/keys.py must say what becomes of these"


def test_a_fingerprint_knows_its_key_and_tells_nothing_of_it(settings):
    settings.SECRET_KEY = "the first key"
    message = keys.fingerprint()
    assert keys.in_use(message) and keys.fingerprint() != message and "the first key" not in str(message)
    settings.SECRET_KEY = "the second key"
    assert not keys.in_use(message)


def test_the_image_has_the_programs_of_the_servers_version():
    compose = (REPOSITORY / "docker-compose.yml").read_text()
    server = re.search(r"image: postgres:(\d+)", compose)
    client = re.search(r"postgresql-client-(\d+)", (REPOSITORY / "Dockerfile").read_text())
    assert server and client and server[1] == client[1]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pg_dump of two versions, neither on PATH."""
    for version in (15, 17):
        program = tmp_path / str(version) / "pg_dump"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho 'pg_dump (PostgreSQL) {version}.4'\n")
        program.chmod(0o755)
    monkeypatch.setattr(databases, "PROGRAM_FOLDERS", (f"{tmp_path.relative_to('/')}/*",))
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize(("server", "chosen"), [(14, 15), (15, 15), (16, 17), (17, 17)])
def test_the_program_of_the_servers_own_version_is_used_else_the_next_newer_one(programs, server, chosen):
    assert Path(databases.tool("pg_dump", server=server)).parent.name == str(chosen)


def test_a_program_that_is_missing_or_too_old_is_named_with_its_package(programs):
    with pytest.raises(BackupError, match="pg_dump of PostgreSQL 18 is needed, and version 17 is too old"):
        databases.tool("pg_dump", server=18)
    with pytest.raises(BackupError, match="there is none; install Debian's package postgresql-client-15"):
        databases.tool("pg_restore", server=15)


@pytest.mark.only_on("postgresql")
@pytest.mark.django_db
def test_the_password_of_the_database_is_no_argument():
    secret = str(connection.settings_dict["PASSWORD"])
    command, environment = databases.Postgres()._connected(["pg_dump"])
    assert secret and not any(secret in part for part in command) and environment["PGPASSWORD"] == secret


def test_nothing_starts_after_a_restore_that_was_cut_short(tmp_path: Path, data_dir: Path):
    (data_dir / RESTORING / BEFORE).mkdir(parents=True)
    done = manage(tmp_path, "serve")
    text = (
        f"a restore into {data_dir} was cut short; restore the backup again, and let it replace what is there"
    )
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, f"CommandError: {text}")
    with pytest.raises(SystemExit, match="was cut short; restore the backup again"):
        celery.refuse_while_restoring()


def test_a_worker_of_celery_is_at_work_until_it_ends(data_dir: Path):
    with contextlib.ExitStack() as until:
        celery.refuse_while_restoring()
        until.callback(celery._held.close)
        with pytest.raises(Busy, match="in the way"), nobody_at_work(busy="in the way"):
            pass
    with nobody_at_work(busy="in the way"):
        pass


def test_beside_a_server_a_backup_is_made_and_none_restored(tmp_path: Path):
    migrated(tmp_path)
    file = tmp_path / "b.tar"
    with serving(tmp_path, REDIS_URL="redis://127.0.0.1:1/0"):
        created = manage(tmp_path, "backup", str(file))
        assert (created.returncode, created.stderr) == (0, "")
        assert created.stdout.startswith(f"{file}: ") and "keep SECRET_KEY apart" in created.stdout
        response = manage(tmp_path, "restore", str(file), "--replace")
    assert (response.returncode, response.stderr.splitlines()) == (
        1,
        [f"CommandError: something is using {tmp_path / 'data'}; stop the server and its workers first"],
    )


def test_a_backup_is_restored_where_there_was_nothing(tmp_path: Path):
    migrated(tmp_path)
    file = tmp_path / "b.tar"
    assert manage(tmp_path, "backup", str(file)).returncode == 0
    (tmp_path / "new").mkdir()
    done = manage(tmp_path / "new", "restore", str(file), SECRET_KEY="another")
    assert (done.returncode, done.stderr) == (0, "")
    assert "is in place, with 0 files" in done.stdout and "- invitation links: " in done.stdout
    with contextlib.closing(sqlite3.connect(tmp_path / "new" / "data" / "phrasebox.sqlite3")) as result:
        assert result.execute("SELECT count(*) FROM django_migrations").fetchone() > (3,)
        assert result.execute("PRAGMA journal_mode").fetchone() == ("wal",)
