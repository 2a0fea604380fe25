"""Tables of what systems predicted for images besides rankings: boxes of phrases, tags, and captions."""

from django.db import models

from evaluation.models.stored import StoredPredictions


class LocalizationSet(StoredPredictions):
    """The regions in which one system localizes the mentions of a layer, in the images of a split.

    `layer` is the name of the layer with the mentions, `regions` the feature set whose regions were ranked;
    both are empty for a set that was read from a file. `unknown_count` mentions had no word in the system's
    vocabulary, `clipped` regions extended beyond their picture. `image_ids` are the images that any system
    looked at; None if they are unknown: for a file without a declaration (`split`).
    """

    layer = models.TextField(blank=True)
    regions = models.TextField(blank=True)
    limit = models.PositiveIntegerField(default=100, help_text="Regions kept of each mention, at most")
    mention_count = models.PositiveIntegerField(default=0)
    unknown_count = models.PositiveIntegerField(default=0)
    clipped = models.PositiveIntegerField(default=0)
    scores = models.JSONField(default=dict, blank=True, help_text="Figures by the layer they are against")

    class Meta(StoredPredictions.Meta):
        verbose_name = "localization set"


class PhraseLocalization(models.Model):
    """The regions for one mention, best first: rows of xmin, ymin, xmax, ymax and score as float32.

    Packed, since 14,500 mentions of 100 regions would be 1.5 million rows. The mention is the words `start`
    to `end` (exclusive) of caption number `caption`, counted from 0; `phrase` is its text.
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
    """The detections of one phrase among all images of the set, best first, after non-maximum suppression.

    `images` are row ids as little-endian int64, `regions` as those of a mention. `phrase` is lower-cased and
    without articles.
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


class TagSet(StoredPredictions):
    """Ranked tags of images of a corpus: from one system, a file, or a weak collection.

    `settings` say how they were chosen. `vocabulary` are the tags among which the system chose; it is empty
    where only the lists are known. `figures` are the latest scores, as plain data.
    """

    settings = models.JSONField(default=dict)
    features = models.TextField(blank=True)
    vocabulary = models.JSONField(default=list, blank=True)
    figures = models.JSONField(default=dict, blank=True)

    class Meta(StoredPredictions.Meta):
        verbose_name = "tag set"


class TaggedImage(models.Model):
    """The tags of an image: pairs of tag and score, best first. `scores` are those of the whole vocabulary in
    its order, as float32; empty where only the lists are known."""

    tag_set = models.ForeignKey(TagSet, on_delete=models.CASCADE, related_name="images", db_index=False)
    position = models.PositiveIntegerField(help_text="Order of images, from 0")
    image = models.ForeignKey("annotation.Image", on_delete=models.PROTECT, related_name="+")
    tags = models.JSONField(default=list)
    scores = models.BinaryField(default=bytes, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tag_set", "position"], name="tagged_image_position_once_per_set"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tag_set} {self.position}"


class CaptionSet(StoredPredictions):
    """The captions that one system wrote for the images of a corpus, or for their regions; or those of a
    file.

    `settings` say how sentences were generated, `regions` is the feature set whose regions were described,
    empty for whole images. `in_training` captions occur word for word among the training captions; None
    where these are unknown.
    """

    settings = models.JSONField(default=dict)
    features = models.TextField(blank=True)
    regions = models.TextField(blank=True)
    caption_count = models.PositiveIntegerField(default=0)
    distinct = models.PositiveIntegerField(default=0)
    in_training = models.PositiveIntegerField(null=True)

    class Meta(StoredPredictions.Meta):
        verbose_name = "caption set"


class WrittenCaption(models.Model):
    """A caption of a set. `box` has the corners of its region in pixels, and is empty for a whole image;
    `log_probability` is 0 if its system has none."""

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
