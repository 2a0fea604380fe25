"""How a box came about is kept with its judgment."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0006_hot_rows")]

    operations = [
        migrations.AddField(
            "judgment",
            "way",
            models.CharField(
                blank=True, db_default="", default="", help_text="How the box came about, where known", max_length=20
            ),
        ),
    ]
