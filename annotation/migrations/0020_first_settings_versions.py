"""What campaigns are run under becomes version 1 of their settings, in a step of its own."""

from typing import Any

from django.db import migrations

PAGE = 200


def keep_what_is_in_force(apps: Any, schema_editor: Any) -> None:
    campaigns = apps.get_model('annotation', 'Campaign')
    versions = apps.get_model('annotation', 'SettingsVersion')
    after = 0
    while page := list(campaigns.objects.filter(pk__gt=after).order_by('pk')[:PAGE]):
        after = page[-1].pk
        rows = versions.objects.bulk_create(
            versions(campaign=campaign, number=1, settings=campaign.settings, created_by_id=campaign.created_by_id)
            for campaign in page
        )
        for row, campaign in zip(rows, page, strict=True):
            versions.objects.filter(pk=row.pk).update(created_at=campaign.created_at)


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0019_settings_versions'),
    ]

    operations = [
        migrations.RunPython(keep_what_is_in_force, migrations.RunPython.noop),
    ]
