from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0013_audit_kept'),
    ]

    operations = [
        migrations.AddField(
            model_name='pagecontrol',
            name='captions',
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
    ]
