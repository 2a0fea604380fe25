"""Which tests run on which database, where a run has both.

A test of the database runs on SQLite, unless its subject is SQL of our own, locks, constraints or
transactions: then it runs on PostgreSQL. What has code for each database runs on both. A thorough run
(`make test-slow`) takes every test of the database on both, save what is in `ONCE`; tests that use no
database run on SQLite's side.
"""

from __future__ import annotations

import importlib

SQLITE, POSTGRESQL = "sqlite", "postgresql"

#: Files of which something runs on both by default: what is marked `on_both`, or `only_on` one of them. The
#: rest of such a file runs on SQLite.
BOTH = (
    "tests/api/v1/test_at_once.py",
    "tests/backups/test_house.py",
    "tests/backups/test_restoring.py",
    "tests/crowd/test_at_once.py",
    "tests/house/test_emptying.py",
    "tests/house/test_migrations.py",
    "tests/intake/test_import_interrupted.py",
    "tests/jobs/test_deliveries.py",
)
#: Folders and files that run on PostgreSQL alone.
ON_POSTGRESQL = (
    "tests/api/v1/test_lists_and_keys.py",
    "tests/campaigns/test_campaigns.py",
    "tests/crowd/test_joining.py",
    "tests/crowd/test_visit_bounds.py",
    "tests/derived/test_controls.py",
    "tests/derived/test_layers.py",
    "tests/evaluation/database/test_batch_jobs.py",
    "tests/evaluation/database/test_freezing.py",
    "tests/evaluation/rounds/test_full_round.py",
    "tests/evaluation/rounds/test_troubles.py",
    "tests/hostile/",
    "tests/intake/test_deleting.py",
    "tests/intake/test_import.py",
    "tests/intake/test_layers.py",
    "tests/intake/test_real_data.py",
    "tests/intake/test_statistics.py",
    "tests/jobs/test_commands.py",
    "tests/jobs/test_compose.py",
    "tests/jobs/test_kinds.py",
    "tests/jobs/test_model_in_browser.py",
    "tests/jobs/test_outage.py",
    "tests/jobs/test_periodic.py",
    "tests/notifications/test_delivering.py",
    "tests/queue/",
    "tests/review/",
    "tests/running/test_deleting.py",
    "tests/running/test_opening.py",
    "tests/running/test_payments.py",
    "tests/running/test_selectors.py",
    "tests/running/test_workers.py",
    "tests/trust/test_counted_items.py",
    "tests/trust/test_withdrawn_answers.py",
    "tests/trust/test_control_items",
    "tests/trust/test_replay.py",
    "tests/trust/test_suspension.py",
    "tests/web/test_dashboard.py",
    "tests/web/test_second_factor.py",
)
#: What a thorough run takes once too: thousands of calls and learners' studies, which take most of an hour
#: and ask nothing of the database that other tests do not ask of both.
ONCE = {"tests/api/v1/test_schemathesis.py": POSTGRESQL, "tests/apart/test_channels.py": SQLITE}


def databases_of(file: str, *, thorough: bool = False) -> tuple[str, ...]:
    """The databases on which something of a file runs, given by its path from the repository's root."""
    if thorough:
        return (ONCE[file],) if file in ONCE else (SQLITE, POSTGRESQL)
    if file.startswith(BOTH):
        return SQLITE, POSTGRESQL
    return (POSTGRESQL,) if file.startswith(ON_POSTGRESQL) else (SQLITE,)


def as_migrated() -> None:
    """Add to tables that were made of the models what migrations add besides, and note these as applied."""
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    if executor.loader.applied_migrations:
        return
    besides = importlib.import_module("annotation.migrations.0002_room_and_triggers")
    with connection.schema_editor() as editor:
        besides.leave_room(None, editor)
        besides.forbid(None, editor)
    for app, name in executor.loader.graph.nodes:
        executor.recorder.record_applied(app, name)
