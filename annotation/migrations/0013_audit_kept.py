"""Lines of the audit keep the names of who did what to which campaign, and cannot be edited."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

from annotation.migrations._by_hand import allow, forbid


def write_names(apps: Any, schema_editor: Any) -> None:
    rows = apps.get_model("annotation", "AuditEntry").objects.using(schema_editor.connection.alias)
    accounts = apps.get_model("annotation", "Account").objects.using(schema_editor.connection.alias)
    campaigns = apps.get_model("annotation", "Campaign").objects.using(schema_editor.connection.alias)
    for account in accounts.filter(pk__in=rows.values("actor")):
        rows.filter(actor=account).update(actor_name=account.username)
    for campaign in campaigns.filter(pk__in=rows.values("campaign")):
        rows.filter(campaign=campaign).update(campaign_name=campaign.name)


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
