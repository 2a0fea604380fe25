"""Model annotators of campaigns, and the boxes that they propose."""

from django.db import models

from annotation.models.crowd import Account, Worker
from annotation.models.queue import OpenImage
from annotation.models.work import Campaign


class ModelAnnotator(models.Model):
    """A model annotator of a campaign. It answers as its worker; the campaign's settings limit its work
    (`model_annotator`).

    `version` is the number of trainings; `learned` is the number of finished images of the last one, None
    before the first and if its boxes come from a file. `source` describes the last training data in words.
    `from_file`: its boxes come from a file, so it is never trained.
    """

    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="model_annotators", db_index=False
    )
    worker = models.OneToOneField(Worker, on_delete=models.PROTECT, related_name="model_annotator")
    name = models.SlugField(max_length=30)
    version = models.PositiveIntegerField(default=0, db_default=0)
    learned = models.PositiveIntegerField(null=True, blank=True)
    source = models.CharField(max_length=200, blank=True, default="", db_default="")
    from_file = models.BooleanField(default=False, db_default=False)
    created_by = models.ForeignKey(
        Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "name"], name="model_annotator_once_per_campaign"),
        ]

    def __str__(self) -> str:
        return f"{self.campaign_id}: {self.name}"


class ModelProposals(models.Model):
    """A model annotator's proposals in an image: {phrase: [[xmin, ymin, xmax, ymax, chance], ...]}, best
    first.

    A phrase is a mention's id; `chance` is the estimated probability of being accepted (0..1). Those of the
    model annotator's version count; a running training stores its own beside them, as the next version.
    """

    model_annotator = models.ForeignKey(
        ModelAnnotator, on_delete=models.CASCADE, related_name="proposals", db_index=False
    )
    image = models.ForeignKey(OpenImage, on_delete=models.CASCADE, related_name="proposals")
    version = models.PositiveIntegerField(help_text="Of the model annotator, when it proposed them")
    boxes = models.JSONField(default=dict)

    class Meta:
        verbose_name_plural = "proposals of model annotators"
        constraints = [
            models.UniqueConstraint(
                fields=["model_annotator", "image", "version"],
                name="proposals_once_per_model_image_and_version",
            ),
        ]

    def __str__(self) -> str:
        return f"model annotator {self.model_annotator_id}, image {self.image_id}"
