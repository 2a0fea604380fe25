"""Where systems find phrases: regions of an image for each mention, and detections of each phrase."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from annotation.common.roles import Scope
from evaluation.models.ranked import System


class LocalizationSet(models.Model):
    """The regions in which one system finds the mentions of a layer, in the images of a split.

    `layer` is the name of the layer whose mentions were looked for, `regions` the feature set whose regions
    were ranked; both are empty for a set that was read from a file, `source`, with `source_digest`.
    `unknown_count` mentions had no word that the system knows, `clipped` regions reached out of their
    picture. `system_digest` is that of the system then, `digest` that of the predictions.
    """

    corpus = models.ForeignKey(
        "annotation.Corpus", on_delete=models.PROTECT, related_name="localization_sets"
    )
    name = models.SlugField(max_length=100, unique=True)
    made_by = models.ForeignKey(
        System, on_delete=models.PROTECT, null=True, blank=True, related_name="localization_sets"
    )
    split = models.TextField(blank=True)
    seed = models.PositiveBigIntegerField(default=0)
    layer = models.TextField(blank=True)
    regions = models.TextField(blank=True)
    limit = models.PositiveIntegerField(default=100, help_text="Regions kept of each mention, at most")
    source = models.TextField(blank=True)
    source_digest = models.CharField(max_length=64, blank=True)
    system_digest = models.CharField(max_length=64, blank=True)
    digest = models.CharField(max_length=64, blank=True)
    image_count = models.PositiveIntegerField(default=0)
    mention_count = models.PositiveIntegerField(default=0)
    unknown_count = models.PositiveIntegerField(default=0)
    clipped = models.PositiveIntegerField(default=0)
    scores = models.JSONField(default=dict, blank=True, help_text="Figures by the layer they are against")
    published = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = "localization set"
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> Scope:
        """What a role must be granted for to act on it."""
        return Scope(self.corpus_id)


class PhraseLocalization(models.Model):
    """The regions for one mention, best first: rows of xmin, ymin, xmax, ymax and score as float32.

    Packed, since 14,500 mentions of 100 regions are 1.5 million rows. The mention is that of the words
    `start` to `end` (exclusive) of caption number `caption`, counted from 0; `phrase` is its text.
    """

    localization_set = models.ForeignKey(
        LocalizationSet, on_delete=models.CASCADE, related_name="mentions", db_index=False
    )
    position = models.PositiveIntegerField(help_text="Order of images, captions and words, from 0")
    image = models.ForeignKey("annotation.Image", on_delete=models.PROTECT, related_name="+")
    caption = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    phrase = models.TextField()
    regions = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["localization_set", "position"], name="localization_position_once_per_set"
            ),
            models.UniqueConstraint(
                fields=["localization_set", "image", "caption", "start", "end"],
                name="mention_localized_once_per_set",
            ),
        ]

    def __str__(self) -> str:
        return self.phrase


class PhraseDetections(models.Model):
    """Where one phrase is found among all images of the set, best first, after non-maximum suppression.

    `images` are ids of rows as little-endian int64, `regions` as those of a mention. `phrase` is in lower
    case without articles.
    """

    localization_set = models.ForeignKey(
        LocalizationSet, on_delete=models.CASCADE, related_name="detections", db_index=False
    )
    position = models.PositiveIntegerField(help_text="Order in which the phrases first stand, from 0")
    phrase = models.TextField()
    images = models.BinaryField()
    regions = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["localization_set", "position"], name="detections_position_once_per_set"
            ),
        ]

    def __str__(self) -> str:
        return self.phrase
