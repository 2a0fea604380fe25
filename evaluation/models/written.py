"""What systems wrote: captions of images, or of regions of images."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from annotation.common.roles import Scope
from evaluation.models.ranked import System


class CaptionSet(models.Model):
    """The captions that one system wrote of the images of a corpus, or of their regions.

    `settings` say how sentences were found, `regions` is the feature set whose regions were described, and
    empty where whole images were. `system_digest` is that of the system then, `digest` that of the captions.
    `in_training` of them stand word for word among the training captions.
    """

    corpus = models.ForeignKey("annotation.Corpus", on_delete=models.PROTECT, related_name="caption_sets")
    name = models.SlugField(max_length=100, unique=True)
    made_by = models.ForeignKey(System, on_delete=models.PROTECT, related_name="caption_sets")
    split = models.TextField(blank=True)
    seed = models.PositiveBigIntegerField(default=0)
    settings = models.JSONField(default=dict)
    features = models.TextField(blank=True)
    regions = models.TextField(blank=True)
    system_digest = models.CharField(max_length=64)
    digest = models.CharField(max_length=64, blank=True)
    image_count = models.PositiveIntegerField(default=0)
    caption_count = models.PositiveIntegerField(default=0)
    distinct = models.PositiveIntegerField(default=0)
    in_training = models.PositiveIntegerField(default=0)
    published = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = "caption set"
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> Scope:
        """What a role must be granted for to act on it."""
        return Scope(self.corpus_id)


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
