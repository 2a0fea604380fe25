"""Which tests run on which database, if a run has both.

A test with a database runs on SQLite, which takes half of the CPU, unless its subject is our own SQL, locks,
constraints or transactions: then it runs on PostgreSQL. Tests of database-specific code run on both. A
thorough run (`make test-slow`) runs every test with a database on both, except those in `ONCE`; tests without
a database run with SQLite's.
"""

from __future__ import annotations

import importlib

SQLITE, POSTGRESQL = "sqlite", "postgresql"

#: Files with tests that run on both by default: those marked `on_both`, or `only_on` one of them. The rest of
#: such a file runs on SQLite.
BOTH = (
    "tests/api/v1/test_at_once.py",
    "tests/backups/test_house.py",
    "tests/backups/test_restoring.py",
    "tests/crowd/test_at_once.py",
    "tests/house/test_emptying.py",
    "tests/house/test_migrations.py",
    "tests/intake/test_added_images.py",
    "tests/intake/test_import_interrupted.py",
    "tests/jobs/test_deliveries.py",
)
#: Folders and files that run only on PostgreSQL.
ON_POSTGRESQL = (
    "tests/api/v1/test_lists_and_keys.py",
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
    "tests/intake/test_statistics.py",
    "tests/jobs/test_commands.py",
    "tests/jobs/test_compose.py",
    "tests/jobs/test_kinds.py",
    "tests/jobs/test_model_at_an_address.py",
    "tests/jobs/test_model_in_browser.py",
    "tests/jobs/test_outage.py",
    "tests/jobs/test_periodic.py",
    "tests/notifications/test_delivering.py",
    "tests/queue/test_ahead.py",
    "tests/queue/test_check_first.py",
    "tests/queue/test_counted.py",
    "tests/queue/test_leases.py",
    "tests/queue/test_plans.py",
    "tests/queue/test_relevance_pages.py",
    "tests/queue/test_same_question.py",
    "tests/queue/test_submission.py",
    "tests/queue/test_whole.py",
    "tests/review/test_commands.py",
    "tests/review/test_outdated_copies.py",
    "tests/review/test_reopening.py",
    "tests/review/test_reviewing.py",
    "tests/review/test_selectors.py",
    "tests/review/test_withdrawing.py",
    "tests/running/test_deleting.py",
    "tests/running/test_opening.py",
    "tests/running/test_payments.py",
    "tests/running/test_selectors.py",
    "tests/running/test_workers.py",
    "tests/trust/test_control_items.py",
    "tests/trust/test_replay.py",
    "tests/trust/test_withdrawn_answers.py",
    "tests/web/test_dashboard.py",
    "tests/web/test_second_factor.py",
)
#: Tests that a thorough run also runs once: thousands of calls and learners' studies, which take most of an
#: hour and add no coverage on the other database.
ONCE = {"tests/api/v1/test_schemathesis.py": POSTGRESQL, "tests/apart/test_channels.py": SQLITE}


def databases_of(file: str, *, thorough: bool = False) -> tuple[str, ...]:
    """Return the databases on which tests of a file run, by its path from the repository's root."""
    if thorough:
        return (ONCE[file],) if file in ONCE else (SQLITE, POSTGRESQL)
    if file.startswith(BOTH):
        return SQLITE, POSTGRESQL
    return (POSTGRESQL,) if file.startswith(ON_POSTGRESQL) else (SQLITE,)


def as_migrated() -> None:
    """Add to tables created from the models what migrations add, and record these as applied."""
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
