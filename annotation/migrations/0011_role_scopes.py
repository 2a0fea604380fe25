"""Roles for one corpus or campaign; campaigns that are not open to every annotator.

What stands stays as it was: roles hold for the whole server, and campaigns are open to every annotator. Who
came from a crowd platform is an annotator of the campaigns of their studies alone, as docs/entry.md promised.
"""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

#: Where people come from who were promised to see one campaign alone.
PLATFORMS = ("prolific", "mturk")


def keep_what_was_open(apps: Any, schema_editor: Any) -> None:
    apps.get_model("annotation", "Campaign").objects.update(open_to_all=True)
    grants = apps.get_model("annotation", "RoleGrant").objects
    visits = apps.get_model("annotation", "Visit").objects
    came = grants.filter(role="annotator", account__identity__provider__in=PLATFORMS)
    for grant in list(came.select_related("account__identity")):
        campaigns = visits.filter(identity=grant.account.identity).values_list("study__campaign", flat=True)
        for campaign in sorted(set(campaigns)):
            grants.create(account=grant.account, role=grant.role, campaign_id=campaign)
        grant.delete()


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0010_counted'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='rolegrant',
            name='role_once_per_account',
        ),
        migrations.AddField(
            model_name='campaign',
            name='open_to_all',
            field=models.BooleanField(db_default=False, default=False, help_text='Whether every annotator of the server may work on it, not only who came for it'),
        ),
        migrations.AddField(
            model_name='job',
            name='corpus',
            field=models.ForeignKey(blank=True, help_text='If it is of one, and of no campaign', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.corpus'),
        ),
        migrations.AddField(
            model_name='rolegrant',
            name='campaign',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='role_grants', to='annotation.campaign'),
        ),
        migrations.AddField(
            model_name='rolegrant',
            name='corpus',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='role_grants', to='annotation.corpus'),
        ),
        migrations.AddConstraint(
            model_name='rolegrant',
            constraint=models.CheckConstraint(condition=models.Q(('corpus', None), ('campaign', None), _connector='OR'), name='role_for_one_thing'),
        ),
        migrations.AddConstraint(
            model_name='rolegrant',
            constraint=models.UniqueConstraint(condition=models.Q(('campaign', None), ('corpus', None)), fields=('account', 'role'), name='role_once_per_account'),
        ),
        migrations.AddConstraint(
            model_name='rolegrant',
            constraint=models.UniqueConstraint(condition=models.Q(('corpus__isnull', False)), fields=('account', 'role', 'corpus'), name='role_once_per_corpus'),
        ),
        migrations.AddConstraint(
            model_name='rolegrant',
            constraint=models.UniqueConstraint(condition=models.Q(('campaign__isnull', False)), fields=('account', 'role', 'campaign'), name='role_once_per_campaign'),
        ),
        migrations.RunPython(keep_what_was_open, migrations.RunPython.noop),
    ]
