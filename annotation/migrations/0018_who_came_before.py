"""Visits that were made before anybody asked: as whom they came is who their worker is. They stay unverified, and
bring their codes as before.

By itself: PostgreSQL changes no table on which the same transaction has changed rows.
"""

from typing import Any

from django.db import migrations
from django.db.models import OuterRef, Subquery


def name_participants(apps: Any, schema_editor: Any) -> None:
    who = apps.get_model("annotation", "Identity").objects.filter(pk=OuterRef("identity"))
    visits = apps.get_model("annotation", "Visit").objects
    visits.filter(participant="").update(participant=Subquery(who.values("external_id")[:1]))


class Migration(migrations.Migration):
    dependencies = [("annotation", "0017_who_they_are")]

    operations = [migrations.RunPython(name_participants, migrations.RunPython.noop)]
