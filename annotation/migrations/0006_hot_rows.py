"""Rows that every answer changes: no index reads what changes, and PostgreSQL's pages have room for it."""

from typing import Any

from django.db import migrations, models
from django.db.models import F

from annotation.migrations._by_hand import leave_none, leave_room


def mark_behind(apps: Any, schema_editor: Any) -> None:
    rows = apps.get_model("annotation", "OpenImage").objects.using(schema_editor.connection.alias)
    rows.exclude(version=F("layer_version")).update(layer_behind=True)


def mark_versions(apps: Any, schema_editor: Any) -> None:
    rows = apps.get_model("annotation", "OpenImage").objects.using(schema_editor.connection.alias)
    rows.filter(layer_behind=False).update(layer_version=F("version"))


class Migration(migrations.Migration):
    dependencies = [("annotation", "0005_task_unjudged")]

    operations = [
        migrations.AddField(
            "openimage", "layer_behind", models.BooleanField(db_default=False, default=False)
        ),
        migrations.RunPython(mark_behind, mark_versions),
        migrations.RemoveIndex("openimage", "openimage_layer_behind"),
        migrations.RemoveIndex("openimage", "openimage_in_review"),
        migrations.RemoveIndex("task", "task_to_hand_out"),
        migrations.RemoveIndex("task", "task_open"),
        migrations.RemoveField("openimage", "layer_version"),
        migrations.AddIndex(
            "openimage",
            models.Index(
                fields=["campaign"], name="openimage_layer_behind", condition=models.Q(layer_behind=True)
            ),
        ),
        migrations.AddIndex(
            "openimage",
            models.Index(
                fields=["campaign"], name="openimage_in_review", condition=models.Q(in_review__gt=0)
            ),
        ),
        migrations.AddIndex(
            "task",
            models.Index(
                fields=["campaign", "kind", "rank", "id"],
                name="task_to_hand_out",
                condition=models.Q(state="open"),
            ),
        ),
        migrations.RunPython(leave_room, leave_none),
    ]
