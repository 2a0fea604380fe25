"""What stands stays as it was: roles hold for the whole server, and campaigns are open to every annotator. Who
came from a crowd platform is an annotator of the campaigns of their studies alone, as docs/entry.md promised.

By itself: PostgreSQL changes no table on which the same transaction has changed rows.
"""

from typing import Any

from django.db import migrations

#: Where people come from who were promised to see one campaign alone.
PLATFORMS = ("prolific", "mturk")


def keep_what_was_open(apps: Any, schema_editor: Any) -> None:
    apps.get_model("annotation", "Campaign").objects.update(open_to_all=True)
    grants = apps.get_model("annotation", "RoleGrant").objects
    visits = apps.get_model("annotation", "Visit").objects
    came = grants.filter(
        role="annotator", corpus=None, campaign=None, account__identity__provider__in=PLATFORMS
    )
    for grant in list(came.select_related("account__identity")):
        campaigns = visits.filter(identity=grant.account.identity).values_list("study__campaign", flat=True)
        for campaign in sorted(set(campaigns)):
            grants.get_or_create(account=grant.account, role=grant.role, campaign_id=campaign)
        grant.delete()


class Migration(migrations.Migration):
    dependencies = [("annotation", "0014_captions_of_known")]

    operations = [migrations.RunPython(keep_what_was_open, migrations.RunPython.noop)]
