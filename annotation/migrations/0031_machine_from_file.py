from typing import Any

from django.db import migrations, models


def know_files(apps: Any, schema_editor: Any) -> None:
    """Mark the machines whose boxes `import_proposals` brought: they had learnt from no image, of a file."""
    machines = apps.get_model("annotation", "Machine").objects
    machines.filter(learnt=0, source__startswith="file ").update(from_file=True, learnt=None)


def forget_files(apps: Any, schema_editor: Any) -> None:
    machines = apps.get_model("annotation", "Machine").objects
    machines.filter(from_file=True).update(learnt=0)


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0030_archived_and_licences'),
    ]

    operations = [
        migrations.AddField(
            model_name='machine',
            name='from_file',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunPython(know_files, forget_files),
    ]
