from typing import Any

from django.db import migrations, models
from django.db.models import F


def to_the_newest_version(apps: Any, schema_editor: Any) -> None:
    """Boxes of an earlier version that no later lesson replaced still counted: they are the machine's now."""
    proposals = apps.get_model("annotation", "MachineProposals").objects
    for machine in apps.get_model("annotation", "Machine").objects.all():
        proposals.filter(machine=machine, version__lt=machine.version).update(version=machine.version)


def the_newest_alone(apps: Any, schema_editor: Any) -> None:
    """Remove what lessons stored that did not come to their end."""
    apps.get_model("annotation", "MachineProposals").objects.exclude(version=F("machine__version")).delete()


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0031_machine_from_file'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='machineproposals',
            name='proposals_once_per_machine_and_image',
        ),
        migrations.AddConstraint(
            model_name='machineproposals',
            constraint=models.UniqueConstraint(fields=('machine', 'image', 'version'), name='proposals_once_per_machine_image_and_version'),
        ),
        migrations.RunPython(to_the_newest_version, the_newest_alone),
    ]
