"""What systems wrote: captions of images, or of regions of images."""

from django.db import models

from evaluation.models.stored import StoredPredictions


class CaptionSet(StoredPredictions):
    """The captions that one system wrote of the images of a corpus, or of their regions.

    `settings` say how sentences were found, `regions` is the feature set whose regions were described, and
    empty where whole images were. `in_training` of them stand word for word among the training captions.
    """

    made_by = models.ForeignKey("evaluation.System", on_delete=models.PROTECT, related_name="captionsets")
    settings = models.JSONField(default=dict)
    features = models.TextField(blank=True)
    regions = models.TextField(blank=True)
    caption_count = models.PositiveIntegerField(default=0)
    distinct = models.PositiveIntegerField(default=0)
    in_training = models.PositiveIntegerField(default=0)

    class Meta(StoredPredictions.Meta):
        verbose_name = "caption set"


class WrittenCaption(models.Model):
    """A caption of a set. `box` has the corners of its region in pixels, and is empty for a whole image;
    `log_probability` is 0 where its system has none."""

    caption_set = models.ForeignKey(
        CaptionSet, on_delete=models.CASCADE, related_name="captions", db_index=False
    )
    position = models.PositiveIntegerField(help_text="Order of images, and of the regions of each, from 0")
    image = models.ForeignKey("annotation.Image", on_delete=models.PROTECT, related_name="+")
    box = models.JSONField(default=list, blank=True)
    text = models.TextField(blank=True)
    log_probability = models.FloatField(default=0.0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["caption_set", "position"], name="written_caption_position_once_per_set"
            ),
        ]

    def __str__(self) -> str:
        return self.text
