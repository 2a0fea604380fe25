"""Back up, wipe and restore, on the tests' database."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tarfile
import threading
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.hashers import make_password
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from annotation.backups import BackupError, archive, contents, database, keys, making, restoring
from annotation.common import erasures
from annotation.common.locks import BEFORE, RESTORING, Busy, at_work, locked_folder
from annotation.datasets.exporting import export_dataset
from annotation.images import withdrawn
from annotation.images.pictures import picture_path
from annotation.models import Account, AuditEntry, Corpus, Identity, Image, PeriodicRun, Worker
from annotation.moderation.withdrawn_pictures import withdraw_picture
from annotation.workers import pseudonyms
from tests import emptying, launcher
from tests.backups.forging import about_member, forged, room_for
from tests.factories import some_images
from tests.house.product import PATIENCE, environment
from tests.intake.conftest import a_picture
from tests.jobs.workers import database_url
from tests.queue.world import World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A campaign with answers, and pictures; also a system, a report and a source."""
    listed = [
        replace(record, picture=a_picture(tmp_path / "shown" / f"{record.id}.png", colour, (500, 375)))
        for record, colour in zip(some_images(3), ("navy", "olive", "red"), strict=True)
    ]
    world = World(listed)
    for number in range(2):
        world.submit(number, world.held(number), then=False)
    for name in (
        "systems/s/weights.bin",
        "reports/r/index.html",
        "sources/recipes/own.toml",
        "kept/x",
        "what",
    ):
        write(name)
    return world


@pytest.fixture
def backup(world: World, tmp_path: Path) -> Path:
    making.backup(tmp_path / "b.tar")
    return tmp_path / "b.tar"


def write(name: str, content: str = "") -> Path:
    path = root() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content or name)
    return path


def root() -> Path:
    from django.conf import settings

    return Path(settings.DATA_DIR)


def tree(folder: Path) -> dict[str, bytes]:
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def taken() -> dict[str, bytes]:
    """Return the files of DATA_DIR that a backup must contain."""
    return {name: path.read_bytes() for name, path in contents.files()}


def rows() -> dict[str, Any]:
    """Return all rows of the product and of Django, except the audit entries that backup and restore add."""
    excluded = (AuditEntry, PeriodicRun)
    models = [model for model in apps.get_models(include_auto_created=True) if model not in excluded]
    return {model._meta.label: sorted(map(repr, model._default_manager.values())) for model in models}


def exports(folder: Path) -> dict[str, bytes]:
    """Return the exports: the dataset with its pictures, and every answer."""
    shutil.rmtree(folder, ignore_errors=True)
    export_dataset(corpus="quay", format="jsonl", out=folder / "dataset", layer="import", with_pictures=True)
    call_command("export_answers", "quay", "--out", str(folder / "answers.jsonl"), stdout=StringIO())
    return tree(folder)


def wipe() -> None:
    """Reset to a machine on which only `migrate` was run."""
    emptying.empty()
    shutil.rmtree(root())


def someone(name: str) -> tuple[Account, Worker]:
    account = Account.objects.create(username=name, password=make_password("x"))
    return account, pseudonyms.worker_of(account)


@pytest.mark.on_both
def test_after_a_wipe_exports_are_equal_byte_for_byte_and_somebody_who_was_erased_stays_so(
    world: World, tmp_path: Path
):
    anna, ben, cleo = (someone(name) for name in ("anna", "ben", "cleo"))
    Client().force_login(ben[0])
    pseudonyms.erase_worker(worker=anna[1])
    before, files, text = exports(tmp_path / "out"), taken(), rows()
    # Files that a killed process left incomplete.
    for name in ("pictures/ab/.a.jpg.part", "systems/.s.new/weights.bin"):
        write(name)
    done = making.backup(tmp_path / "b.tar")
    assert (done.files, done.missing, done.unknown) == (len(files), 0, ["what"])
    assert done.migrations[0] in database.applied() and done.database == connection.vendor
    # Erased after the backup was made: the list is kept, the rest is lost.
    pseudonyms.erase_worker(worker=ben[1])
    stored = erasures.erasures_file().read_bytes()
    wipe()
    write("erasures.txt").write_bytes(stored.splitlines(keepends=True)[1])

    restored = restoring.restore_backup(tmp_path / "b.tar")

    assert (restored.erased, restored.files, restored.missing) == ([ben[1].pseudonym], len(files), 0)
    assert (restored.broken, restored.migrated) == ([], [])
    assert files == taken() == {name: file for name, file in tree(root()).items() if "/" in name}
    assert exports(tmp_path / "out") == before
    assert list(Account.objects.values_list("username", flat=True)) == ["cleo"]
    assert not Session.objects.exists() and not Identity.objects.filter(worker=ben[1]).exists()
    assert sorted(erasures.erasures_file().read_bytes().splitlines()) == sorted(stored.splitlines())
    assert erasures.erasures_file().stat().st_mode & 0o077 == 0
    result = rows()
    changed = {label for label in text if text[label] != result[label]}
    assert changed == {"annotation.Account", "annotation.Identity", "annotation.Worker", "sessions.Session"}
    assert AuditEntry.objects.filter(act="restore").count() == 1
    assert not (root() / RESTORING).exists() and not (root() / "work").exists()
    # New rows get new numbers.
    assert someone("dora")[1].pk > cleo[1].pk
    world.submit(0, world.held(0), then=False)


def test_it_is_made_while_others_write_and_holds_one_moment(world: World, tmp_path: Path):
    stop = threading.Event()

    def write_on() -> None:
        # Two rows in one transaction: a copy has both or neither.
        while not stop.wait(0.001):
            with pseudonyms.database.writing():
                worker = pseudonyms.new_worker()
                Identity.objects.create(worker=worker, account=None)
        connections.close_all()

    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        making.backup(tmp_path / "b.tar")
    finally:
        stop.set()
        writer.join(60)
    restoring.restore_backup(tmp_path / "b.tar", replace=True)
    assert Worker.objects.filter(pseudonym__startswith="w-").count() == Identity.objects.count() > 0


def test_what_stands_is_given_up_only_when_that_is_asked_for(backup: Path, tmp_path: Path):
    files = taken()
    wipe()
    write("systems/other/weights.bin")
    with pytest.raises(BackupError, match="not empty: systems; let the backup replace"):
        restoring.restore_backup(backup)
    Corpus.objects.create(name="other")
    with pytest.raises(BackupError, match="not empty: annotation_corpus, systems; let the backup"):
        restoring.restore_backup(backup)
    assert Corpus.objects.get().name == "other" and (root() / "systems/other/weights.bin").is_file()
    with connection.cursor() as cursor:
        # From a version of the product that is newer than the backup.
        cursor.execute(
            "CREATE TABLE annotation_newer (id integer, of bigint REFERENCES annotation_corpus (id))"
        )
        cursor.execute("CREATE TABLE somebody_elses (id integer)")
    try:
        restoring.restore_backup(backup, replace=True)
        assert [corpus.name for corpus in Corpus.objects.all()] == ["quay"] and taken() == files
        assert "annotation_newer" not in connection.introspection.table_names()
        # SQLite's copy is the whole file; in PostgreSQL other tables are not touched.
        others = connection.vendor == "postgresql"
        assert ("somebody_elses" in connection.introspection.table_names()) == others
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS annotation_newer")
            cursor.execute("DROP TABLE IF EXISTS somebody_elses")


def test_the_two_lists_of_erasures_become_one_in_the_order_of_time(world: World, tmp_path: Path):
    anna, ben = someone("anna")[1], someone("ben")[1]
    pseudonyms.erase_worker(worker=anna)
    making.backup(tmp_path / "older.tar")
    write(
        "erasures.txt",
        f"w-other 2001-01-01T00:00:00+00:00\n{ben.pseudonym} 2999-01-01T00:00:00+00:00 texts\n",
    )
    done = restoring.restore_backup(tmp_path / "older.tar", replace=True)
    assert done.erased == [ben.pseudonym]
    listed = [(erasure.pseudonym, erasure.texts) for erasure in erasures.all_erasures()]
    assert listed == [("w-other", False), (anna.pseudonym, False), (ben.pseudonym, True)]


def test_pictures_that_were_withdrawn_after_the_backup_go_again_and_both_lists_become_one(
    world: World, tmp_path: Path
):
    first, second = Image.objects.exclude(picture="").order_by("pk")[:2]
    withdraw_picture(image=first)
    making.backup(tmp_path / "b.tar")
    listed = withdrawn.withdrawn_file().read_bytes()
    withdraw_picture(image=second)
    stored = withdrawn.withdrawn_file().read_bytes()
    wipe()
    # The list was kept, and contains only the second name: the backup's contains the first.
    write("withdrawn.txt").write_bytes(stored.removeprefix(listed))
    restored = restoring.restore_backup(tmp_path / "b.tar")
    assert (restored.withdrawn, restored.missing) == (1, 0)
    assert withdrawn.withdrawn_pictures() == {first.picture, second.picture}
    for image in (first, second):
        assert Image.objects.get(key=image.key, corpus__name=image.corpus.name).picture == ""
        assert not picture_path(image.picture).exists()


def test_a_new_secret_key_is_noticed_and_what_it_breaks_is_named(backup: Path, settings, tmp_path: Path):
    anna, _ = someone("anna")
    Client().force_login(anna)
    making.backup(tmp_path / "with_session.tar")
    assert settings.SECRET_KEY.encode() not in (tmp_path / "with_session.tar").read_bytes()
    settings.SECRET_KEY = "another"
    restored = restoring.restore_backup(tmp_path / "with_session.tar", replace=True)
    assert restored.broken == list(keys.BROKEN.values()) and not Session.objects.exists()
    out = StringIO()
    call_command("restore", str(backup), "--replace", stdout=out)
    assert (
        "SECRET_KEY is not the one of the backup; this stops working:\n- sessions: everybody"
        in out.getvalue()
    )


def test_an_older_backup_is_migrated_on(world: World, tmp_path: Path, monkeypatch):
    name = ("sessions", "0001_initial")
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied(*name)
    with connection.schema_editor() as editor:
        editor.delete_model(Session)
    try:
        making.backup(tmp_path / "older.tar")
    finally:
        call_command("migrate", verbosity=0)
    done = restoring.restore_backup(tmp_path / "older.tar", replace=True)
    assert done.migrated == [".".join(name)] and not Session.objects.exists()


@pytest.mark.parametrize(
    ("about", "why"),
    [
        ({"database": "oracle"}, "holds a database of oracle, and the one in use is"),
        ({"migrations": ["annotation.9999_later"]}, "newer version .* no migration annotation.9999_later"),
        ({"secret_key": "?"}, "its description is damaged"),
        ({}, "it has no database"),
    ],
)
def test_a_backup_of_another_kind_changes_nothing(world: World, tmp_path: Path, about: Any, why: str):
    unchanged(forged(tmp_path / "b.tar", about_member(**about)), why)


def test_a_database_that_is_none_changes_nothing(world: World, tmp_path: Path):
    members = [(database.database().member, b"no database"), ("erasures.txt", b"")]
    unchanged(
        forged(tmp_path / "b.tar", about_member(), members), "its database is damaged|pg_restore failed"
    )


def test_a_damaged_backup_changes_nothing(backup: Path):
    whole = backup.read_bytes()
    at = whole.index(b"systems/s/weights.bin", whole.index(b"systems/s/weights.bin") + 1)
    backup.write_bytes(whole[:at] + b"X" + whole[at + 1 :])
    unchanged(backup, "'systems/s/weights.bin' differs from what was written: the file is damaged")


def unchanged(backup: Path, why: str) -> None:
    """Check that the backup is refused, in one line, and that nothing has changed."""
    before, files = rows(), tree(root())
    with pytest.raises(CommandError, match=why) as error:
        call_command("restore", str(backup), "--replace")
    assert str(error.value).startswith(f"{backup}: ") and "\n" not in str(error.value)
    assert rows() == before and tree(root()) == files and not (root() / RESTORING).exists()
    with at_work():
        pass


def test_where_the_database_cannot_be_replaced_the_folders_come_back(backup: Path, monkeypatch):
    write("systems/s/weights.bin", "newer")
    write("sources/added.txt")
    shutil.rmtree(root() / "reports")
    before, files = rows(), tree(root())
    kind = type(database.database())
    whole = kind.replace

    def damaged(self: database.Database, file: Path) -> None:
        # The real way, with a truncated copy.
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        whole(self, file)

    monkeypatch.setattr(kind, "replace", damaged)
    with pytest.raises(BackupError, match="cannot be replaced: ") as error:
        restoring.restore_backup(backup, replace=True)
    assert "\n" not in str(error.value)
    assert rows() == before and tree(root()) == files and not (root() / RESTORING).exists()


def test_a_disk_that_is_full_while_it_is_unpacked_changes_nothing(backup: Path):
    write("pictures/large.bin", "x" * 3_000_000)
    larger = backup.with_name("larger.tar")
    making.backup(larger)
    before, files = rows(), tree(root())
    with (
        room_for(2_000_000),
        pytest.raises(BackupError, match="cannot be unpacked into .*: File too large"),
    ):
        restoring.restore_backup(larger, replace=True)
    assert rows() == before and tree(root()) == files and not (root() / RESTORING).exists()


@pytest.mark.only_on("sqlite")
def test_a_disk_that_is_full_while_the_database_is_written_leaves_the_old_one(backup: Path):
    Corpus.objects.update(source="newer")
    write("systems/s/weights.bin", "newer")
    before, files = rows(), tree(root())
    with tarfile.open(backup) as tar:
        size = tar.getmember(database.Sqlite.member).size
    # There is room to unpack, but not for SQLite's log of the same pages, which is slightly larger.
    with room_for(size), pytest.raises(BackupError, match="the database .* cannot be replaced: "):
        restoring.restore_backup(backup, replace=True)
    assert rows() == before and tree(root()) == files and not (root() / RESTORING).exists()


def test_where_something_fails_afterwards_nothing_starts_until_it_is_run_again(backup: Path, monkeypatch):
    ben = someone("ben")[1]
    making.backup(backup.with_name("newer.tar"))
    pseudonyms.erase_worker(worker=ben)
    with monkeypatch.context() as patch:

        def fails(**message: Any) -> None:
            raise OSError("No space left on device")

        patch.setattr(pseudonyms, "erase_again", fails)
        unfinished = "the restore is not finished: No space left .* restore the backup again"
        with pytest.raises(BackupError, match=unfinished):
            restoring.restore_backup(backup.with_name("newer.tar"), replace=True)
    with pytest.raises(Busy, match="was cut short; restore the backup again"):
        with locked_folder("import.x", busy=""):
            pass
    with pytest.raises(Busy, match="was cut short"):
        making.backup(backup.with_name("third.tar"))
    done = restoring.restore_backup(backup.with_name("newer.tar"), replace=True)
    assert done.erased == [ben.pseudonym] and not (root() / RESTORING).exists()
    with at_work():
        pass


#: Restores, and dies at the n-th rename, as in a power cut: without any cleanup.
CUT = """
import os, sys
import django
django.setup()
from pathlib import Path
from annotation.backups import restoring
whole, left = os.rename, ["whole"] * int(sys.argv[2])
os.rename = lambda path, to: whole(path, to) if left and left.pop() else os._exit(9)
restoring.restore_backup(Path(sys.argv[1]), replace=True)
"""


@pytest.mark.parametrize("renames", [5, 8])
def test_after_a_power_cut_the_same_restore_is_run_to_its_end(backup: Path, tmp_path: Path, renames: int):
    files, text = taken(), rows()
    write("systems/s/weights.bin", "newer")
    write("sources/added.txt")
    Corpus.objects.update(source="newer")
    connection.close()
    done = launcher.run(
        [sys.executable, "-c", CUT, str(backup), str(renames)],
        env=environment(
            tmp_path, {"DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "config.settings"}
        ),
        timeout=PATIENCE,
    )
    assert done.returncode == 9, done.stderr
    assert (root() / RESTORING / BEFORE).exists()
    # The last rename comes when everything except the cleanup is done.
    assert (Corpus.objects.get().source == "newer") == (renames < 8)
    with pytest.raises(Busy, match="was cut short"), at_work():
        pass
    with pytest.raises(BackupError, match="not empty: "):
        restoring.restore_backup(backup)
    restoring.restore_backup(backup, replace=True)
    assert taken() == files and rows() == text and not (root() / RESTORING).exists()


def cut_short_then_run_again(backup: Path, files: dict[str, bytes]) -> None:
    """Check that nothing starts until the restore has been completed."""
    with pytest.raises(Busy, match="was cut short"), at_work():
        pass
    restoring.restore_backup(backup, replace=True)
    assert taken() == files and not (root() / RESTORING).exists()


def test_somebody_who_interrupts_a_restore_has_to_run_it_again(backup: Path, monkeypatch):
    files = taken()
    write("systems/s/weights.bin", "newer")

    def interrupted(self: database.Database, file: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(database.database()), "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            restoring.restore_backup(backup, replace=True)
    cut_short_then_run_again(backup, files)


@pytest.mark.only_on("postgresql")
def test_where_the_last_word_of_the_database_is_missing_nothing_goes_back(
    backup: Path, tmp_path: Path, monkeypatch
):
    files = taken()
    write("systems/s/weights.bin", "newer")
    Corpus.objects.update(source="newer")
    real = database.Postgres()._tool("psql")
    lost = tmp_path / "bin" / "psql"
    lost.parent.mkdir()
    lost.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exec {real} --version\n{real} "$@"\nexit 2\n')
    lost.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{lost.parent}:{os.environ['PATH']}")
        with pytest.raises(database.Unsure, match="PostgreSQL was lost .*; restore the backup again"):
            restoring.restore_backup(backup, replace=True)
    assert Corpus.objects.get().source != "newer"
    cut_short_then_run_again(backup, files)


def test_nothing_is_restored_beside_somebody_at_work_and_nobody_works_beside_a_restore(
    backup: Path, monkeypatch
):
    with locked_folder("import.x", busy=""):
        with pytest.raises(Busy, match="something is using .*; stop the server and its workers first"):
            restoring.restore_backup(backup, replace=True)
    whole = restoring._check_target
    met = []

    def meanwhile(*args: Any) -> None:
        for work in (at_work(), locked_folder("import.x", busy="")):
            with pytest.raises(Busy, match="a backup is being restored"), work:
                pass
            met.append(work)
        whole(*args)

    monkeypatch.setattr(restoring, "_check_target", meanwhile)
    restoring.restore_backup(backup, replace=True)
    assert len(met) == 2


@pytest.mark.only_on("sqlite")
def test_who_writes_all_the_time_is_not_waited_for_without_end(backup: Path, monkeypatch):
    monkeypatch.setattr(database, "LOCK_PATIENCE", 0.1)
    before, files = rows(), tree(root())
    writing = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None, check_same_thread=False)
    writing.execute("BEGIN IMMEDIATE")
    # Unblocks a process that would wait for ever.
    later = threading.Timer(5, writing.rollback)
    later.start()
    try:
        with pytest.raises(BackupError, match="cannot be replaced: database is locked"):
            restoring.restore_backup(backup, replace=True)
    finally:
        later.cancel()
        later.join()
        writing.close()
    assert rows() == before and tree(root()) == files


@pytest.mark.only_on("postgresql")
def test_nothing_is_restored_under_somebody_who_is_connected_from_elsewhere(backup: Path):
    event, open_, close = threading.Event(), threading.Event(), threading.Event()

    def connected() -> None:
        connection.ensure_connection()
        open_.set()
        close.wait(60)
        connection.close()
        event.set()

    thread = threading.Thread(target=connected)
    thread.start()
    open_.wait(60)
    with pytest.raises(BackupError, match="the database has 1 other connections; stop the server"):
        restoring.restore_backup(backup, replace=True)
    close.set()
    thread.join(60)


def test_links_in_the_data_folder(world: World, tmp_path: Path):
    (tmp_path / "far").write_text("vectors")
    (root() / "sources" / "near").symlink_to(tmp_path / "far")
    making.backup(tmp_path / "b.tar")
    (root() / "sources" / "folder").symlink_to(tmp_path)
    with pytest.raises(
        BackupError, match="sources/folder is a link to a folder; put the folder itself there"
    ):
        making.backup(tmp_path / "c.tar")
    (root() / "sources" / "folder").unlink()
    shutil.move(root() / "systems", tmp_path / "systems")
    (root() / "systems").symlink_to(tmp_path / "systems")
    with pytest.raises(BackupError, match="systems is a link, and what is put in its place"):
        restoring.restore_backup(tmp_path / "b.tar", replace=True)
    (root() / "systems").unlink()
    restoring.restore_backup(tmp_path / "b.tar", replace=True)
    assert (root() / "sources" / "near").read_text() == "vectors" and not (
        root() / "sources/near"
    ).is_symlink()


def test_a_backup_is_no_part_of_itself_and_two_are_not_made_at_once(world: World, tmp_path: Path):
    with pytest.raises(BackupError, match="would be part of itself; choose a place outside systems"):
        making.backup(root() / "systems" / "b.tar")
    with locked_folder("backup", busy=""), pytest.raises(Busy, match="another backup .* is running"):
        making.backup(tmp_path / "b.tar")
    assert not (tmp_path / "b.tar").exists()


def test_a_picture_that_is_gone_is_told(world: World, tmp_path: Path):
    next((root() / "pictures").rglob("*.png")).unlink()
    out = StringIO()
    call_command("backup", str(tmp_path / "b.tar"), stdout=out)
    assert "1 pictures are named by the database and were not there\nleft out, as no part" in out.getvalue()
    assert archive.SUMS.encode() in (tmp_path / "b.tar").read_bytes()
