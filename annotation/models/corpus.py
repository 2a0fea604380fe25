"""Corpora: images and their captions, written by `intake` and never edited; phrases that a person marked in
captions; and ranked tags of images.

A foreign key at the start of a unique constraint has no index of its own: it uses the constraint's.
"""

from django.db import models
from django.db.models import Q

from annotation.common.roles import Scope


class Corpus(models.Model):
    """A named set of images with captions. Invisible until `published` is set, by one UPDATE.

    `deliveries` are the images and captions that were added later: of each the position of its `first` image,
    the numbers of `images`, of `captions`, and of images that were there and got some (`captioned`), the name
    of the `source`, and the `digest` of all records of that.
    """

    #: The `format` of captions that people wrote in a campaign.
    WRITTEN = "written"

    name = models.SlugField(max_length=100, unique=True)
    format = models.CharField(max_length=40)
    source = models.TextField(help_text="Where it was read from")
    digest = models.CharField(max_length=64, blank=True, help_text="SHA-256 over all records read")
    deliveries = models.JSONField(default=list, blank=True)
    licence = models.CharField(
        max_length=200, blank=True, default="", db_default="", help_text="As its owner says; empty: unknown"
    )
    pictures_may_leave = models.BooleanField(
        default=False, db_default=False, help_text="Whether models at addresses may be shown its pictures"
    )
    image_count = models.PositiveIntegerField(default=0)
    caption_count = models.PositiveIntegerField(default=0)
    published = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "corpora"
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> Scope:
        """The scope of roles for all of it."""
        return Scope(self.pk)


class Image(models.Model):
    """One picture of a corpus. `picture` is the content-hash name under DATA_DIR, or empty."""

    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="images", db_index=False)
    position = models.PositiveIntegerField(help_text="Order in the source, from 0")
    key = models.CharField(max_length=255, help_text="The id by which its corpus knows it")
    filename = models.CharField(max_length=255)
    external_id = models.CharField(max_length=100, blank=True)
    split = models.CharField(max_length=40, blank=True)
    width = models.PositiveIntegerField(default=0)
    height = models.PositiveIntegerField(default=0)
    picture = models.CharField(max_length=80, blank=True)
    orientation = models.PositiveSmallIntegerField(
        default=1, db_default=1, help_text="By EXIF, of the picture as it came; it was turned upright"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["corpus", "key"], name="image_key_once_per_corpus"),
            models.UniqueConstraint(fields=["corpus", "position"], name="image_position_once_per_corpus"),
        ]

    def __str__(self) -> str:
        return self.filename


class Caption(models.Model):
    """One sentence about one image. `tokens` is set only if words are not split at white space."""

    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="captions", db_index=False)
    number = models.PositiveSmallIntegerField(help_text="From 0")
    text = models.TextField()
    tokens = models.TextField(blank=True, help_text="Words separated by single spaces")
    external_id = models.CharField(max_length=100, blank=True)
    unrelated = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["image", "number"], name="caption_number_once_per_image"),
        ]

    def __str__(self) -> str:
        return self.text

    @property
    def words(self) -> list[str]:
        """The caption's words, as split by its source or our tokeniser."""
        return (self.tokens or self.text).split()


class PhraseMarks(models.Model):
    """The phrases of an image's captions, marked by hand. Without a row, the chunker finds them."""

    image = models.OneToOneField(Image, on_delete=models.CASCADE, related_name="phrase_marks")
    spans = models.JSONField(default=list, help_text="[caption, first word, word after the last], from 0")
    marked_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "phrase marks"

    def __str__(self) -> str:
        return f"phrases of image {self.image_id}"


#: Maximum number of characters of a tag.
LONGEST_STORED_TAG = 200


class TagList(models.Model):
    """The tags of all images of a corpus, ranked at one time. The published one is active.

    `unit` is the kind of tags, `alpha` the weight of frequency, and `placed_by` the basis of a tag's
    location: the caption's words, or the tree of its parse.
    """

    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="tag_lists")
    unit = models.CharField(max_length=40)
    alpha = models.FloatField()
    placed_by = models.CharField(max_length=40, default="words")
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
    """A tag of a list, and the number of its images."""

    tag_list = models.ForeignKey(TagList, on_delete=models.CASCADE, related_name="tags", db_index=False)
    text = models.CharField(max_length=LONGEST_STORED_TAG)
    images = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tag_list", "text"], name="tag_once_per_list"),
        ]
        indexes = [models.Index(fields=["tag_list", "-images", "text"], name="tags_by_frequency")]

    def __str__(self) -> str:
        return self.text


class ImageTag(models.Model):
    """A tag of an image: its position among the image's tags, from 0, and its score."""

    tag = models.ForeignKey(CorpusTag, on_delete=models.CASCADE, related_name="of_images", db_index=False)
    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="tags")
    position = models.PositiveSmallIntegerField()
    score = models.FloatField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tag", "image"], name="tag_once_per_image"),
        ]

    def __str__(self) -> str:
        return f"tag {self.tag_id} of image {self.image_id}"
