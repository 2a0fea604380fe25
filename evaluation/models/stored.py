"""Base classes of rows with names: runs, systems, judgments, qrels, sets of predictions, reports."""

from django.db import models
from django.utils import timezone

from annotation.common.roles import Scope


class StoredRow(models.Model):
    """Something of a corpus that is stored under a name; abstract.

    `digest` covers its content. While it is not `published` it is being written, and invisible.
    """

    corpus = models.ForeignKey("annotation.Corpus", on_delete=models.PROTECT, related_name="%(class)ss")
    name = models.SlugField(max_length=100, unique=True)
    digest = models.CharField(max_length=64, blank=True)
    published = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    corpus_id: int

    class Meta:
        abstract = True
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> Scope:
        """The scope for which a role must be granted to act on it."""
        return Scope(self.corpus_id)


class ArchivableRow(models.Model):
    """A row that lists omit once somebody archived it; abstract."""

    archived_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when lists leave it out, unless they are asked for it"
    )

    class Meta:
        abstract = True


class SystemOutput(StoredRow):
    """Output of a system for the images of a split; abstract.

    `made_by` is the system where it is registered, `system_digest` its state at that time. `remarks` are
    sentences on how the output was made.
    """

    made_by = models.ForeignKey(
        "evaluation.System", on_delete=models.PROTECT, null=True, blank=True, related_name="%(class)ss"
    )
    split = models.TextField(blank=True)
    system_digest = models.CharField(max_length=64, blank=True)
    remarks = models.JSONField(default=list, blank=True)

    class Meta(StoredRow.Meta):
        abstract = True


class StoredPredictions(SystemOutput):
    """A set of captions, tags or localizations; abstract. `input_digest` covers the inputs of the
    predictions, and is empty where a file does not determine them. A set from elsewhere has its `source`, a
    file with `source_digest` or a collection, and its `licence`, where that is known. `image_ids` are the row
    ids of the images that a system from elsewhere looked at, as little-endian int64; None where these are
    those of `split`, or unknown."""

    seed = models.PositiveBigIntegerField(default=0)
    input_digest = models.CharField(
        max_length=64, blank=True, help_text="Of the images and mentions that the system was given"
    )
    image_count = models.PositiveIntegerField(default=0)
    source = models.TextField(blank=True)
    source_digest = models.CharField(max_length=64, blank=True)
    licence = models.CharField(max_length=200, blank=True)
    image_ids = models.BinaryField(null=True)

    class Meta(SystemOutput.Meta):
        abstract = True
