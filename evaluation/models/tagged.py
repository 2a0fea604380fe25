"""What systems tagged images with."""

from django.db import models

from evaluation.models.stored import StoredPredictions


class TagSet(StoredPredictions):
    """Ranked tags of images of a corpus: of one system, or of the collection that is its `source`.

    `settings` say how they were found. `vocabulary` are the tags among which the system chose; it is empty
    where a list is all that is known. `figures` are the scores that a job found last, as plain data.
    """

    source = models.TextField(blank=True)
    settings = models.JSONField(default=dict)
    features = models.TextField(blank=True)
    vocabulary = models.JSONField(default=list, blank=True)
    figures = models.JSONField(default=dict, blank=True)

    class Meta(StoredPredictions.Meta):
        verbose_name = "tag set"


class TaggedImage(models.Model):
    """The tags of an image: pairs of tag and score, the best first. `scores` are those of the whole
    vocabulary in its order, as float32; empty where a list is all that is known."""

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
