"""Lines of the audit keep the names of who did what to which campaign, and cannot be edited.

The triggers are on the table: a later migration that makes SQLite build it anew (any change of a column) has to
make them again (`forbid`).
"""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

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


def write_names(apps: Any, schema_editor: Any) -> None:
    rows = apps.get_model("annotation", "AuditEntry").objects.using(schema_editor.connection.alias)
    accounts = apps.get_model("annotation", "Account").objects.using(schema_editor.connection.alias)
    campaigns = apps.get_model("annotation", "Campaign").objects.using(schema_editor.connection.alias)
    for account in accounts.filter(pk__in=rows.values("actor")):
        rows.filter(actor=account).update(actor_name=account.username)
    for campaign in campaigns.filter(pk__in=rows.values("campaign")):
        rows.filter(campaign=campaign).update(campaign_name=campaign.name)


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
    dependencies = [("annotation", "0012_staff_invitation")]

    operations = [
        migrations.AddField(
            "auditentry", "actor_name", models.CharField(blank=True, db_default="", default="", max_length=150)
        ),
        migrations.AddField(
            "auditentry", "campaign_name", models.CharField(blank=True, db_default="", default="", max_length=100)
        ),
        migrations.AlterField(
            "auditentry",
            "campaign",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="audit",
                to="annotation.campaign",
            ),
        ),
        migrations.RunPython(write_names, migrations.RunPython.noop),
        migrations.RunPython(forbid, allow),
    ]
