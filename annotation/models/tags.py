"""Ranked tags of a corpus's images, kept so that images can be found, filtered and drawn by them."""

from django.db import models
from django.db.models import Q

from annotation.models.corpus import Corpus, Image

#: A tag has no more characters than this.
LONGEST_KEPT_TAG = 200


class TagList(models.Model):
    """The tags of all images of a corpus, as they were ranked once. The published one is in force.

    `unit` is what became a tag, `alpha` the weight of frequency, and `place` by what tags were placed in a
    caption: its words, or the tree of its parse.
    """

    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="tag_lists")
    unit = models.CharField(max_length=40)
    alpha = models.FloatField()
    place = models.CharField(max_length=40, default="words")
    published = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["corpus"], condition=Q(published=True), name="one_published_tag_list_per_corpus"
            ),
        ]

    def __str__(self) -> str:
        return f"tags of corpus {self.corpus_id}"


class CorpusTag(models.Model):
    """A tag of a list, and how many images have it."""

    tag_list = models.ForeignKey(TagList, on_delete=models.CASCADE, related_name="tags", db_index=False)
    text = models.CharField(max_length=LONGEST_KEPT_TAG)
    images = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tag_list", "text"], name="tag_once_per_list"),
        ]
        indexes = [models.Index(fields=["tag_list", "-images", "text"], name="tags_by_frequency")]

    def __str__(self) -> str:
        return self.text


class ImageTag(models.Model):
    """A tag of an image: its place among the image's tags, from 0, and its score."""

    tag = models.ForeignKey(CorpusTag, on_delete=models.CASCADE, related_name="of_images", db_index=False)
    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="tags")
    place = models.PositiveSmallIntegerField()
    score = models.FloatField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tag", "image"], name="tag_once_per_image"),
        ]

    def __str__(self) -> str:
        return f"tag {self.tag_id} of image {self.image_id}"
