from typing import Any

from django.db import migrations, models


def mark_simulated(apps: Any, schema_editor: Any) -> None:
    """Judgments collected from batches whose campaigns are marked by now."""
    judgments = apps.get_model("evaluation", "JudgmentSet").objects
    batches = apps.get_model("evaluation", "Batch").objects.filter(campaign__simulated=True)
    for corpus, name in batches.values_list("corpus", "name"):
        judgments.filter(corpus=corpus, source=f"batch {name}", format__startswith="batch-").update(simulated=True)


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0030_archived_and_licences'),
        ('evaluation', '0012_archived'),
    ]

    operations = [
        migrations.AddField(
            model_name='judgmentset',
            name='simulated',
            field=models.BooleanField(default=False, help_text='Whether simulated workers gave the answers'),
        ),
        migrations.RunPython(mark_simulated, migrations.RunPython.noop),
    ]
