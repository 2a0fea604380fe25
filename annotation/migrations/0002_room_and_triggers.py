"""What tables have that no field, index or constraint says: room in PostgreSQL's pages, and triggers that forbid
to edit the audit. The triggers are on the table: a later migration that makes SQLite build it again (any change of a
column) has to make them again (`forbid`).
"""

from typing import Any

from django.db import migrations

#: Percent of a page that is filled at first; the rest is for newer versions of its rows.
ROOM = {"annotation_openimage": 80, "annotation_task": 80, "annotation_truststate": 60}

TABLE = "annotation_auditentry"
FIXED = ("id", "act", "at", "actor_name", "campaign_name")
#: All that an act says of itself is fixed as well, but that its reason may become this, once somebody is erased.
ERASED_REASON = "erased"
#: What may become null, when what it names is deleted, and nothing else.
LEAVING = ("actor_id", "campaign_id")

_SQLITE = f"""
    CREATE TRIGGER {TABLE}_fixed BEFORE UPDATE ON {TABLE}
    WHEN {" OR ".join(f"NEW.{name} IS NOT OLD.{name}" for name in FIXED)}
        OR json_remove(NEW.about, '$.reason') IS NOT json_remove(OLD.about, '$.reason')
        OR (json_extract(NEW.about, '$.reason') IS NOT json_extract(OLD.about, '$.reason')
            AND json_extract(NEW.about, '$.reason') IS NOT '{ERASED_REASON}')
        OR {" OR ".join(f"(NEW.{name} IS NOT NULL AND NEW.{name} IS NOT OLD.{name})" for name in LEAVING)}
    BEGIN SELECT RAISE(ABORT, 'a line of the audit cannot be edited'); END"""

_FUNCTION = f"""
    CREATE OR REPLACE FUNCTION {TABLE}_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF {" OR ".join(f"NEW.{name} IS DISTINCT FROM OLD.{name}" for name in FIXED)}
            OR NEW.about - 'reason' IS DISTINCT FROM OLD.about - 'reason'
            OR (NEW.about -> 'reason' IS DISTINCT FROM OLD.about -> 'reason'
                AND NEW.about ->> 'reason' IS DISTINCT FROM '{ERASED_REASON}')
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


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial")]

    operations = [
        migrations.RunPython(leave_room, leave_none),
        migrations.RunPython(forbid, allow),
    ]
