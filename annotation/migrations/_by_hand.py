"""What migrations need beside Django's operations.

Tables have what no field, index or constraint says: room in PostgreSQL's pages, and the audit's triggers. The
migrations that brought them (0006, 0013) and the squashed one, which makes a fresh database, take them from here.

The triggers are on the table: a later migration that makes SQLite build it anew (any change of a column) has to
make them again (`forbid`).
"""

from collections.abc import Sequence
from typing import Any

from django.db.migrations.operations import CreateModel
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

#: Percent of a page that is filled at first; the rest is for newer versions of its rows.
ROOM = {"annotation_openimage": 80, "annotation_task": 80, "annotation_standing": 60}

TABLE = "annotation_auditentry"
FIXED = ("id", "act", "about", "at", "actor_name", "campaign_name")
#: What may become null, when what it names is deleted, and nothing else.
LEAVING = ("actor_id", "campaign_id")

_SQLITE = f"""
    CREATE TRIGGER {TABLE}_fixed BEFORE UPDATE ON {TABLE}
    WHEN {" OR ".join(f"NEW.{name} IS NOT OLD.{name}" for name in FIXED)}
        OR {" OR ".join(f"(NEW.{name} IS NOT NULL AND NEW.{name} IS NOT OLD.{name})" for name in LEAVING)}
    BEGIN SELECT RAISE(ABORT, 'a line of the audit cannot be edited'); END"""

_FUNCTION = f"""
    CREATE OR REPLACE FUNCTION {TABLE}_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF {" OR ".join(f"NEW.{name} IS DISTINCT FROM OLD.{name}" for name in FIXED)}
            OR {
    " OR ".join(f"(NEW.{name} IS NOT NULL AND NEW.{name} IS DISTINCT FROM OLD.{name})" for name in LEAVING)
}
        THEN RAISE EXCEPTION 'a line of the audit cannot be edited' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NEW;
    END $$"""
_POSTGRESQL = f"""
    CREATE TRIGGER {TABLE}_fixed BEFORE UPDATE ON {TABLE}
    FOR EACH ROW EXECUTE FUNCTION {TABLE}_fixed()"""


def leave_room(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for table, percent in ROOM.items():
            schema_editor.execute(f"ALTER TABLE {table} SET (fillfactor = {percent})")


def leave_none(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for table in ROOM:
            schema_editor.execute(f"ALTER TABLE {table} RESET (fillfactor)")


def forbid(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(_FUNCTION)
        schema_editor.execute(_POSTGRESQL)
    else:
        schema_editor.execute(_SQLITE)


def allow(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP TRIGGER {TABLE}_fixed ON {TABLE}")
        schema_editor.execute(f"DROP FUNCTION {TABLE}_fixed()")
    else:
        schema_editor.execute(f"DROP TRIGGER {TABLE}_fixed")


class CreateModels(Operation):
    """Many models at once, each after those that it refers to.

    One by one, Django would build the classes of all related models anew with each.
    """

    def __init__(self, models: Sequence[CreateModel]) -> None:
        self.models = models

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        # Built when they are next asked for.
        state.__dict__.pop("apps", None)
        for model in self.models:
            model.state_forwards(app_label, state)

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        for model in self.models:
            model.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        for model in reversed(self.models):
            model.database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        return f"Create models {', '.join(model.name for model in self.models)}"


class RunSQLByVendor(Operation):
    """A statement of SQL for each vendor of a database; going back does nothing.

    As `RunSQL`, which knows one vendor, and unlike `RunPython`, for which Django builds the classes of all models.
    """

    reduces_to_sql = True
    reversible = True

    def __init__(self, **statements: str) -> None:
        self.statements = statements

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        pass

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        schema_editor.execute(self.statements[schema_editor.connection.vendor])

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        pass

    def describe(self) -> str:
        return "SQL by the database's vendor"
