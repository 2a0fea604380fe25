"""What rows share that stand under a name: runs, systems, judgments, qrels, sets of predictions, reports."""

from django.db import models
from django.utils import timezone

from annotation.common.roles import Scope


class StoredRow(models.Model):
    """Something of a corpus that is stored under a name; no table.

    `digest` is over what it holds. Until it is `published` it is seen nowhere: it is being written.
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
        """What a role must be granted for to act on it."""
        return Scope(self.corpus_id)


class ArchivableRow(models.Model):
    """What lists leave out where somebody archived it; no table."""

    archived_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when lists leave it out, unless they are asked for it"
    )

    class Meta:
        abstract = True


class SystemOutput(StoredRow):
    """What a system made of the images of a split; no table.

    `made_by` is the system where it is registered, `system_digest` the state of it then. `remarks` are
    sentences on how it was made.
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
    """A set of captions, tags or localizations; no table. `input_digest` is that of what was asked about,
    empty where a file does not say it."""

    seed = models.PositiveBigIntegerField(default=0)
    input_digest = models.CharField(
        max_length=64, blank=True, help_text="Of the images and mentions that the system was given"
    )
    image_count = models.PositiveIntegerField(default=0)

    class Meta(SystemOutput.Meta):
        abstract = True
