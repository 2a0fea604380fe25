"""The images that a campaign is to open are rows; before, it was noted how they had been chosen."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models


def plan_images(apps: Any, schema_editor: Any) -> None:
    Campaign = apps.get_model("annotation", "Campaign")
    Image = apps.get_model("annotation", "Image")
    OpenImage = apps.get_model("annotation", "OpenImage")
    PlannedImage = apps.get_model("annotation", "PlannedImage")
    for campaign in Campaign.objects.exclude(still_to_open=[]):
        opened = set(OpenImage.objects.filter(campaign=campaign).values_list("image", flat=True))
        planned: dict[int, None] = {}
        for choice in campaign.still_to_open:
            if choice["tags"]:
                print(
                    f"\ncampaign {campaign.name!r} was still to open images chosen by tags; open it again by "
                    f"its name to have them: open_campaign {campaign.name} --tags {' '.join(choice['tags'])}"
                )
                continue
            images = Image.objects.filter(corpus=campaign.corpus).order_by("position")
            if choice["split"] is not None:
                images = images.filter(split=choice["split"])
            left = [pk for pk in images.values_list("pk", flat=True) if pk not in opened and pk not in planned]
            if choice["images"] is not None:
                left = left[: max(0, choice["images"] - len(opened) - len(planned))]
            planned |= dict.fromkeys(left)
        rows = (PlannedImage(campaign=campaign, image_id=pk) for pk in planned)
        PlannedImage.objects.bulk_create(rows, batch_size=500)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0036_images_in_portions")]

    operations = [
        migrations.CreateModel(
            name="PlannedImage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "campaign",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="planned_images",
                        to="annotation.campaign",
                    ),
                ),
                (
                    "image",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.image"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("campaign", "image"), name="image_planned_once_per_campaign"
                    )
                ],
            },
        ),
        migrations.RunPython(plan_images, migrations.RunPython.noop),
        migrations.RemoveField(model_name="campaign", name="still_to_open"),
    ]
