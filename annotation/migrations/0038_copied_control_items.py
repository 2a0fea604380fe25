"""Promoted control items that a campaign got from the one it duplicates say that they are copies."""

from typing import Any

from django.db import migrations


def name_copies(apps: Any, schema_editor: Any) -> None:
    """Copies were written just before the line of the audit, while the campaign was a draft without answers:
    whatever is promoted and older than that line is a copy."""
    Control = apps.get_model("annotation", "Control")
    AuditEntry = apps.get_model("annotation", "AuditEntry")
    lines = AuditEntry.objects.filter(act="duplicate_campaign", campaign__isnull=False)
    for campaign, at in lines.values_list("campaign", "at"):
        items = Control.objects.filter(campaign=campaign, source="promoted", created_at__lte=at)
        items.update(source="copied")


class Migration(migrations.Migration):
    dependencies = [("annotation", "0037_planned_images")]

    operations = [migrations.RunPython(name_copies, migrations.RunPython.noop)]
