"""Rows of an older version, after the migrations: nobody loses what they could do, and nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import services
from tests.conftest import need
from tests.house.product import manage

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
    "audit": list(AuditEntry.objects.values_list("act", "actor_name", "campaign_name")),
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
    assert seen["audit"] == [["pause", "pro", "two"]]
