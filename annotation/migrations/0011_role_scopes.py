"""Roles for one corpus or campaign; campaigns that are not open to every annotator."""

import django.db.models.deletion
from django.db import migrations, models


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
    ]
