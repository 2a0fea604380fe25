"""Where systems find phrases: regions of an image for each mention, and detections of each phrase."""

from django.db import models

from evaluation.models.stored import StoredPredictions


class LocalizationSet(StoredPredictions):
    """The regions in which one system finds the mentions of a layer, in the images of a split.

    `layer` is the name of the layer whose mentions were looked for, `regions` the feature set whose regions
    were ranked; both are empty for a set that was read from a file, `source`, with `source_digest`.
    `unknown_count` mentions had no word that the system knows, `clipped` regions reached out of their
    picture. `image_ids` are the images that were looked at, ids of rows as little-endian int64; None where
    that is not known: for files for which nobody said it (`split`).
    """

    layer = models.TextField(blank=True)
    regions = models.TextField(blank=True)
    limit = models.PositiveIntegerField(default=100, help_text="Regions kept of each mention, at most")
    source = models.TextField(blank=True)
    source_digest = models.CharField(max_length=64, blank=True)
    image_ids = models.BinaryField(null=True)
    mention_count = models.PositiveIntegerField(default=0)
    unknown_count = models.PositiveIntegerField(default=0)
    clipped = models.PositiveIntegerField(default=0)
    scores = models.JSONField(default=dict, blank=True, help_text="Figures by the layer they are against")

    class Meta(StoredPredictions.Meta):
        verbose_name = "localization set"


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
