"""Rows of an older version, after the migrations: nobody loses what they could do, and nothing is lost.

A fresh database is made by one squashed migration of each app, and is as the single ones leave it.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import RunPython
from django.db.migrations.recorder import MigrationRecorder

from annotation.common import schema
from annotation.migrations import _by_hand
from tests import services
from tests.conftest import need
from tests.house.product import manage, migrated

SQUASHED = {
    "annotation": "0001_squashed_0030_archived_and_licences",
    "evaluation": "0001_squashed_0012_archived",
}

#: The newest migration before roles had a scope, campaigns were closed, and the audit kept names.
BEFORE = "0010"
SEED = """
import json
from django.db import connection
from django.db.migrations.loader import MigrationLoader
apps = MigrationLoader(connection).project_state(("annotation", "0010_counted")).apps
get = lambda name: apps.get_model("annotation", name).objects
corpus = get("Corpus").create(name="quay", format="f", source="s", published=True)
about = {"corpus": corpus, "tasks": "entities", "state": "open"}
made = {name: get("Campaign").create(name=name, **about) for name in ("one", "two")}
def person(name, role, provider="account"):
    account = get("Account").create(username=name)
    get("RoleGrant").create(account=account, role=role)
    worker = get("Worker").create(pseudonym="w-" + name)
    return get("Identity").create(worker=worker, account=account, provider=provider, external_id=name)
person("ada", "researcher"); person("ann", "annotator")
visitor = person("pro", "annotator", "prolific"); person("stray", "annotator", "prolific")
study = get("Study").create(campaign=made["one"], provider="prolific", external_id="s", wanted=3)
from django.utils import timezone
get("Visit").create(identity=visitor, study=study, external_id="v", begun_at=timezone.now())
get("AuditEntry").create(act="pause", actor=visitor.account, campaign=made["two"], about={})
by = {"actor": visitor.account, "campaign": made["two"]}
get("AuditEntry").create(act="change_answer", about={"worker": "w-pro"}, **by)
ids = {"submission": "v", "participant": "pro"}
get("AuditEntry").create(act="confirm_visit", campaign=made["one"], about=ids)
"""
SEEN = """
import json
from annotation.models import AuditEntry, Identity, RoleGrant
from annotation.selectors.scopes import campaigns_to_work_on
work = {i.external_id: campaigns_to_work_on(i.worker_id).order_by("name") for i in Identity.objects.all()}
held = RoleGrant.objects.order_by("account")
print(json.dumps({
    "grants": list(held.values_list("account__username", "role", "campaign__name")),
    "work": {who: list(found.values_list("name", flat=True)) for who, found in work.items()},
    "audit": [
        (line.act, line.actor_name, line.campaign_name, list(line.about))
        for line in AuditEntry.objects.order_by("pk")
    ],
}))
"""


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def database(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Where a database is that no migration has touched."""
    if request.param == "SQLite":
        yield {}
        return
    with services.postgres(need("postgresql")) as url:
        yield {"DATABASE_URL": url}


@pytest.mark.slow
def test_who_could_do_something_still_can_and_who_came_from_a_platform_sees_its_campaign(
    tmp_path: Path, database: dict[str, str]
) -> None:
    for arguments in (
        ("migrate", "annotation", BEFORE, "-v", "0"),
        ("shell", "--no-imports", "-c", SEED),
        ("migrate", "-v", "0"),
        ("shell", "--no-imports", "-c", SEEN),
    ):
        done = manage(tmp_path, *arguments, **database)
        assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["grants"] == [
        ["ada", "researcher", None],
        ["ann", "annotator", None],
        ["pro", "annotator", "one"],
    ]
    assert seen["work"] == {"ada": [], "ann": ["one", "two"], "pro": ["one"], "stray": []}
    assert seen["audit"] == [
        ["pause", "pro", "two", []],
        ["change_answer", "", "two", ["worker"]],
        ["confirm_visit", "", "one", ["visit"]],
    ]


def single(app: str) -> list[str]:
    """The migrations of an app that its squashed one replaces, by their numbers."""
    names = {name for label, name in MigrationLoader(None).disk_migrations if label == app}
    last = SQUASHED[app].removeprefix("0001_squashed_")
    return sorted(name for name in names - {SQUASHED[app]} if name[:4] <= last[:4])


@pytest.mark.parametrize("app", SQUASHED)
def test_a_squashed_migration_leads_to_the_models_to_which_those_lead_that_it_replaces(app: str) -> None:
    loader = MigrationLoader(None, replace_migrations=False)
    squashed = loader.disk_migrations[app, SQUASHED[app]]
    assert squashed.replaces == [(app, name) for name in single(app)]

    def models(name: str) -> dict[str, tuple[object, ...]]:
        found = loader.project_state((app, name)).models
        return {
            model: (
                {key: field.deconstruct()[1:] for key, field in state.fields.items()},
                {key: _unordered(value) for key, value in state.options.items()},
                state.bases,
                [(name, type(manager)) for name, manager in state.managers],
            )
            for (label, model), state in found.items()
            if label == app
        }

    before, at_once = models(single(app)[-1]), models(SQUASHED[app])
    assert at_once.keys() == before.keys()
    for model, state in before.items():
        assert at_once[model] == state, model


def _unordered(value: object) -> object:
    """Of indexes and constraints, what they are, whichever came first."""
    if isinstance(value, list) and all(hasattr(one, "deconstruct") for one in value):
        return {one.name: one.deconstruct() for one in value}
    return value


def test_a_fresh_database_gets_the_room_and_the_triggers_that_no_model_tells_of() -> None:
    loader = MigrationLoader(None)
    operations = loader.disk_migrations["annotation", SQUASHED["annotation"]].operations
    done = [(one.code, one.reverse_code) for one in operations if isinstance(one, RunPython)]
    assert done == [(_by_hand.leave_room, _by_hand.leave_none), (_by_hand.forbid, _by_hand.allow)]


@pytest.mark.django_db
def test_a_database_that_an_earlier_squashed_migration_made_is_not_taken_for_a_newer_one() -> None:
    recorder = MigrationRecorder(connection)
    for app, name in schema.RETIRED:
        recorder.record_applied(app, name)
    schema.refuse_newer()
    recorder.record_applied("annotation", "0999_of_a_newer_version")
    with pytest.raises(schema.NewerSchema, match="annotation.0999_of_a_newer_version:"):
        schema.refuse_newer()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "why"),
    [("0999", "Cannot find a migration matching"), ("0001", "More than one migration matches")],
)
def test_a_name_of_no_migration_or_of_two_is_refused(name: str, why: str) -> None:
    with pytest.raises(CommandError, match=f"{why} '{name}'"):
        call_command("migrate", "annotation", name, verbosity=0)


def test_a_database_begins_with_the_single_migrations_where_one_of_them_is_named(tmp_path: Path) -> None:
    done = manage(tmp_path, "migrate", "annotation", "0001_initial", "-v", "0")
    assert done.returncode == 0, done.stderr
    with contextlib.closing(sqlite3.connect(tmp_path / "data" / "phrasebox.sqlite3")) as link:
        applied = link.execute("SELECT name FROM django_migrations WHERE app = 'annotation'").fetchall()
        found = link.execute("SELECT count(*) FROM sqlite_master WHERE name = 'annotation_worker'").fetchone()
    assert applied == [("0001_initial",)] and found == (0,)


@pytest.mark.slow
@pytest.mark.parametrize(
    "stops",
    [
        pytest.param([("annotation", "0010_counted")], id="annotation 0010"),
        pytest.param([("annotation", "0020_first_settings_versions")], id="annotation 0020"),
        pytest.param([("evaluation", "0003_batch")], id="evaluation 0003"),
        pytest.param([(app, single(app)[-1]) for app in SQUASHED], id="the end"),
    ],
)
def test_a_database_is_the_same_whether_it_was_made_step_by_step_or_at_once(
    tmp_path: Path, database: dict[str, str], stops: list[tuple[str, str]]
) -> None:
    """Dear, as it goes the whole way that a fresh database is spared; the cheap tests need no database."""
    for app, name in stops:
        done = manage(tmp_path, "migrate", app, name, **database)
        assert done.returncode == 0, done.stderr
        assert f"Applying {app}.{name}" in done.stdout and "squashed" not in done.stdout
    done = manage(tmp_path, "migrate", **database)
    assert done.returncode == 0, done.stderr
    assert f"Applying {stops[0][0]}.{SQUASHED[stops[0][0]]}" not in done.stdout
    assert manage(tmp_path, "migrate", "--check", **database).returncode == 0
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    if not database:
        migrated(fresh)
        assert _sqlite_schema(tmp_path) == _sqlite_schema(fresh)
        return
    with services.postgres(need("postgresql")) as url:
        done = manage(fresh, "migrate", DATABASE_URL=url)
        assert done.returncode == 0 and f"Applying annotation.{SQUASHED['annotation']}" in done.stdout
        assert _postgres_schema(database["DATABASE_URL"]) == _postgres_schema(url)


@pytest.mark.slow
def test_a_database_that_was_made_at_once_goes_back_step_by_step_and_forward_again(tmp_path: Path) -> None:
    migrated(tmp_path)
    made = _sqlite_schema(tmp_path)
    for arguments in (("evaluation", "0003"), ("annotation", "0016"), ("annotation", "0010"), ()):
        done = manage(tmp_path, "migrate", "-v", "0", *arguments)
        assert done.returncode == 0, done.stderr
        assert (_sqlite_schema(tmp_path) == made) == (not arguments)


def _sqlite_schema(folder: Path) -> dict[tuple[str, str], list[str]]:
    """Kind and name of all that there is -> how it was made. Columns and constraints of a table are sorted:
    a column that is changed goes to the end."""
    with contextlib.closing(sqlite3.connect(folder / "data" / "phrasebox.sqlite3")) as link:
        rows = link.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return {(kind, name): _parts(sql or "") if kind == "table" else [sql] for kind, name, sql in rows}


def _parts(sql: str) -> list[str]:
    """The columns and constraints of a CREATE TABLE, sorted: what commas part in the outer parentheses."""
    head, _, body = sql.partition("(")
    parts, depth = [""], 0
    for sign in body.removesuffix(")"):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [head, *sorted(part.strip() for part in parts)]


def _postgres_schema(url: str) -> list[str]:
    """What makes all that there is, as pg_dump says it, without the key that it draws anew each time."""
    command = [str(need("postgresql") / "pg_dump"), "--schema-only", "--no-owner", url]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if not re.match(r"\\(un)?restrict ", line)]
